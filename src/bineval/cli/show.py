"""`bineval show`: the scores of a run, the questions that fail most, and one example opened."""

from typing import TYPE_CHECKING, Any

import click

from bineval.cli.options import json_option, store_option
from bineval.cli.output import console, emit_json

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.judging.runs import Run
    from bineval.types import Example, Score, VerdictRow

_MOST_CHARS = 1500


@click.command()
@click.argument("name", required=False)
@click.option(
    "--example", "example_id", metavar="ID", help="Open this example.  [default: the one with the lowest score]"
)
@store_option
@json_option
def show(name: str | None, example_id: str | None, store: str | None, as_json: bool) -> None:
    """Show the run NAME (the latest one without NAME): scores, failing questions, one example opened."""
    from bineval.cli.run_tables import print_header, print_questions, print_scores, summary_json
    from bineval.environment import default_store
    from bineval.judging.runs import Run
    from bineval.judging.summary import summarize
    from bineval.store.database import Store

    with Store(existing_store(store or default_store())) as database:
        run = Run.open(database, name or latest_run(database))
        rows, facts = summarize(run), run.question_facts()
        example, scores = _choose(run, example_id)
        verdicts = [row for row in run.verdicts() if row.example_id == example.id]
        if as_json:
            emit_json({**summary_json(run, rows, facts), "example": _example_json(example, scores, verdicts)})
            return
        screen = console()
        print_header(run, screen)
        screen.print()
        print_scores(rows, screen)
        screen.print()
        print_questions(run, facts, screen)
        screen.print()
        print_example(run, example, verdicts, screen)


def existing_store(place: str) -> str:
    """Returns `place` if there is a store.

    Raises:
        StoreError: There is no such file.
    """
    from pathlib import Path

    from bineval.errors import StoreError

    if "://" not in place and not Path(place).exists():
        raise StoreError(f"{place}: there is no such store; name it with --store, or make a run first")
    return place


def latest_run(database: Any) -> str:
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


def print_example(run: "Run", example: "Example", verdicts: "list[VerdictRow]", screen: "Console") -> None:
    """Prints one example with every question, answer, explanation and quote."""
    texts = {question.id: question.text for question in run.checklist.questions}
    screen.print(
        f"Example {example.id}" + (f" · system {example.system}" if example.system else ""), style="bold", markup=False
    )
    for title, text in (("input", example.input), ("context", example.context), ("output", example.output)):
        if text is not None:
            shown = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} … ({len(text)} characters in all)"
            screen.print(f"{title}: {shown or '(empty)'}", markup=False)
    for row in verdicts:
        _print_verdict(row, texts[row.question_id], screen)


def _print_verdict(row: "VerdictRow", text: str, screen: "Console") -> None:
    verdict = row.verdict
    answer = verdict.answer or f"no answer ({verdict.reason})"
    style = {"yes": "green", "no": "bold red"}.get(verdict.answer or "", "yellow")
    repeat = f" (repeat {row.repeat})" if row.repeat else ""
    screen.print()
    screen.print(f"{row.question_id}{repeat}: {text}", markup=False)
    screen.print(f"  {answer}", style=style, markup=False)
    if verdict.explanation:
        screen.print(f"  {verdict.explanation}", markup=False)
    for quote in verdict.evidence:
        place = f"in the {quote.field}" if quote.verified else "NOT FOUND in what the judge read"
        screen.print(f"  “{quote.quote}” ({place})", markup=False)


def _choose(run: "Run", example_id: str | None) -> "tuple[Example, dict[str, Score]]":
    from bineval.errors import UnknownNameError
    from bineval.types import OVERALL

    pairs = list(run.scores())
    if example_id is None:
        return min(pairs, key=lambda pair: _lowest_first(pair[1][OVERALL].value))
    for pair in pairs:
        if pair[0].id == example_id:
            return pair
    raise UnknownNameError(f"example in run {run.name}", example_id, [example.id for example, _ in pairs])


def _lowest_first(value: float | None) -> float:
    # An example without a score has nothing to show: it comes last.
    return 2.0 if value is None else value


def _example_json(example: "Example", scores: "dict[str, Score]", verdicts: "list[VerdictRow]") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        **example.to_json(),
        "scores": {name: asdict(score) for name, score in scores.items()},
        "verdicts": [asdict(row) for row in verdicts],
    }
