"""`bineval show`: the scores of a run, the questions that fail most, and one example opened."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.options import existing_store, json_option, store_option
from bineval.cli.output import console, counted, emit_json, number, visible
from bineval.types import USUAL_THRESHOLD

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.judging.runs import Run
    from bineval.types import Example, Question, Score, Verdict, VerdictRow

_MOST_CHARS = 1500
_MUCH_OUTSIDE = 0.05


@click.command()
@click.argument("name", required=False)
@click.option(
    "--example", "example_id", metavar="ID", help="Open this example.  [default: the one with the lowest score]"
)
@store_option
@json_option
def show(name: str | None, example_id: str | None, store: str | None, as_json: bool) -> None:
    """Show the run NAME, or the latest one.

    Scores by dimension and system, the questions that fail most, and one example opened.
    """
    from bineval.cli.run_tables import print_run, summary_json
    from bineval.judging.runs import Run
    from bineval.judging.summary import summarize
    from bineval.store.database import Store

    with Store(existing_store(store)) as database:
        run = Run.open(database, name or _latest_run(database))
        rows, facts = summarize(run), run.question_facts()
        example, scores = _choose(run, example_id)
        verdicts = [row for row in run.verdicts() if row.example_id == example.id]
        if as_json:
            emit_json({**summary_json(run, rows, facts), "example": _example_json(example, scores, verdicts)})
            return
        screen = console()
        print_run(run, rows, facts, screen)
        screen.print()
        _print_example(run, example, scores, verdicts, screen)


def _latest_run(database: Any) -> str:
    """Name of the run worked on last.

    Raises:
        StoreError: There is none.
    """
    from bineval.errors import StoreError
    from bineval.store.runs import run_names

    names = run_names(database)
    if not names:
        raise StoreError(f"{database.place}: there is no run in this store yet; make one with bineval run")
    return names[0]


def _choose(run: "Run", example_id: str | None) -> "tuple[Example, dict[str, Score]]":
    from bineval.errors import StoreError, UnknownNameError
    from bineval.types import OVERALL

    if example_id is not None:
        for pair in run.scores():
            if pair[0].id == example_id:
                return pair
        ids = [example.id for example in run.examples()]
        raise UnknownNameError("example", example_id, ids, where=f"run {run.name}")
    lowest = min(run.scores(), key=lambda pair: _lowest_first(pair[1][OVERALL].value), default=None)
    if lowest is None:
        raise StoreError(f"run {run.name} was stopped before it had an example; run the same command again")
    return lowest


def _lowest_first(value: float | None) -> float:
    # An example without a score has nothing to show: it comes last.
    return float("inf") if value is None else value


def _print_example(
    run: "Run", example: "Example", scores: "dict[str, Score]", verdicts: "list[VerdictRow]", screen: "Console"
) -> None:
    """Prints one example with its scores and every question, answer, explanation and quote."""
    system = f" · system {example.system}" if example.system else ""
    _print(screen, f"Example {example.id}{system}", style="bold")
    _print(screen, " · ".join(f"{name} {number(score.value)}" for name, score in scores.items()))
    for title in ("input", "context", "reference", "output"):
        text = getattr(example, title)
        if text is not None:
            shown = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} … ({len(text)} characters in all)"
            _print(screen, f"{title}: {shown or '(empty)'}")
    n_not_asked = 0
    for question in run.checklist.questions:
        rows = [row for row in verdicts if row.question_id == question.id]
        if rows and all(row.verdict.reason == "not_applicable" and not row.verdict.replies for row in rows):
            n_not_asked += 1  # settled without a judge: what it says is the same for all of them
        elif rows:
            _print_question(question, rows, screen, run)
    if n_not_asked:
        _print(screen, f"\n{counted(n_not_asked, 'question')} of the checklist not asked: not applicable here")


def _print_question(question: "Question", rows: "list[VerdictRow]", screen: "Console", run: "Run") -> None:
    """Prints a question with its verdicts, sentence by sentence, and marks the sentences that decide its value."""
    from bineval.scoring import by_unit, deciding_units

    screen.print()
    over = {"min": "lowest", "mean": "mean"}[question.over_sentences]
    per = f" (of each sentence; the {over} counts)" if question.per == "sentence" else ""
    _print(screen, f"{question.id}{per}: {question.text}")
    deciding = deciding_units(question, by_unit(rows))
    repeated = any(row.repeat for row in rows)
    for row in rows:
        if row.unit is not None and row.repeat == 0:
            mark = "  ← lowest" if row.unit in deciding else ""
            _print(screen, f"{row.unit + 1}. {row.sentence or '(empty)'}{mark}", style="bold" if mark else "", indent=2)
        verdict = row.verdict
        # A cascade's verdict is that of one of its judges; a single judge stands in the first line of all.
        by = "" if verdict.judge in ("", run.judge) else f" by {verdict.judge}"
        repeat = f" (repeat {row.repeat})" if repeated else ""
        style = {"yes": "green", "no": "bold red"}.get(verdict.answer or "", "" if verdict.reason is None else "yellow")
        indent = 2 if row.unit is None else 5
        _print(screen, f"{_answer(verdict)}{by}{repeat}", style=style, indent=indent)
        _print_grounds(verdict, screen, indent)


def _print_grounds(verdict: "Verdict", screen: "Console", indent: int) -> None:
    """Prints what an answer rests on: probabilities, words, quotes, and the verdicts that it was made from."""
    if verdict.raw_probability is not None:
        _print(screen, f"before calibration: P(yes) {_probability(verdict.raw_probability)}", indent=indent)
    if verdict.outside_mass is not None and verdict.outside_mass >= _MUCH_OUTSIDE:
        other = "neither yes nor no" if verdict.rating is None else "no number of the scale"
        words = f"{other}: {_probability(verdict.outside_mass)} of the probability"
        _print(screen, words, indent=indent)
    if verdict.disputed:
        _print(screen, "disputed: the explanation, asked for afterwards, disagrees", style="yellow", indent=indent)
    # A panel speaks with the words of a member, which stand below with its name.
    if not any(under.explanation == verdict.explanation for under in verdict.under):
        if verdict.explanation:
            _print(screen, verdict.explanation, indent=indent)
        for quote in verdict.evidence:
            place = f"in the {quote.field}" if quote.verified else "NOT FOUND in what the judge read"
            _print(screen, f"“{quote.quote}” ({place})", indent=indent)
    for name, under in _named(verdict.under):
        _print(screen, f"{name}: {_answer(under)}", indent=indent + 2)
        _print_grounds(under, screen, indent + 4)


def _named(verdicts: "Sequence[Verdict]") -> "Iterator[tuple[str, Verdict]]":
    """The verdicts under another one, each with a name that tells it from the others."""
    names = [verdict.judge for verdict in verdicts]
    for i, verdict in enumerate(verdicts):
        # Judges that judge together have different names; only a contrast asks one judge twice.
        twice = names.count(verdict.judge) > 1
        how = "" if not twice else ", source withheld" if verdict.judge in names[:i] else ", with the source"
        yield f"{verdict.judge}{how}", verdict


def _answer(verdict: "Verdict") -> str:
    """The answer, or why there is none, with its probability where there is one, and what decides if not one half."""
    if verdict.rating is not None:
        return f"rated {number(verdict.rating)}"
    answer = verdict.answer or f"no answer ({verdict.reason})"
    if verdict.probability is None:
        return answer
    above = ""
    if verdict.threshold is not None and verdict.threshold != USUAL_THRESHOLD:
        above = f" (yes above {_probability(verdict.threshold)})"
    return f"{answer} · P(yes) {_probability(verdict.probability)}{above}"


def _probability(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def _print(screen: "Console", text: str, *, style: str = "", indent: int = 0) -> None:
    from rich.padding import Padding
    from rich.text import Text

    shown = Text(visible(text), style=style)
    screen.print(Padding.indent(shown, indent) if indent else shown)


def _example_json(example: "Example", scores: "dict[str, Score]", verdicts: "list[VerdictRow]") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        **example.to_json(),
        "scores": {name: asdict(score) for name, score in scores.items()},
        "verdicts": [asdict(row) for row in verdicts],
    }
