"""Runs as tables for people and as JSON for programs; shared by `run`, `show` and `demo`."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bineval.cli.output import visible

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.diagnose import QuestionFacts
    from bineval.judging.runs import Run
    from bineval.judging.summary import SummaryRow

_MOST_QUESTIONS = 10


def print_run(run: "Run", rows: "list[SummaryRow]", facts: "list[QuestionFacts]", console: "Console") -> None:
    """Prints what the run is, its scores, and the questions that fail most."""
    _print_header(run, facts, console)
    console.print()
    print_scores(rows, console)
    console.print()
    _print_questions(run, facts, console)


def print_scores(rows: "list[SummaryRow]", console: "Console") -> None:
    """Prints the scores by dimension, and by system where there are several."""
    from rich.table import Table

    by_system = any(row.system is not None for row in rows)
    table = Table(*(["system"] if by_system else []), "dimension", box=None, pad_edge=False)
    for title in ("score", "95 % interval", "scaled", "examples", "answered"):
        table.add_column(title, justify="right")
    for previous, row in zip([None, *rows], rows, strict=False):
        if previous is not None and row.system != previous.system:
            table.add_row()
        table.add_row(*([_plain(row.system or "all")] if by_system else []), *_score_cells(row))
    console.print(table)


def _score_cells(row: "SummaryRow") -> list[str]:
    estimate = row.estimate
    return [
        _plain(row.dimension),
        number(estimate.value),
        "none" if estimate.low is None else f"{number(estimate.low)} to {number(estimate.high)}",
        number(row.scaled, digits=2),
        f"{estimate.n}" if estimate.n == row.n_examples else f"{estimate.n} of {row.n_examples}",
        f"{row.n_answered} of {row.n_asked}",
    ]


def _print_header(run: "Run", facts: "list[QuestionFacts]", console: "Console") -> None:
    from bineval.judging.runner import is_unanswered

    status, usage, cost = run.status(), run.usage(), run.cost_usd()
    console.print(f"run [bold]{_plain(run.name)}[/bold] · judge {_plain(run.judge)}", soft_wrap=True)
    console.print(
        f"{status.n_done} of {status.n_planned} verdicts · {status.n_unanswered} unanswered"
        f" · {status.n_not_applicable} not applicable · {status.n_cached} from the reply cache",
        soft_wrap=True,
    )
    console.print(
        f"{usage.calls} calls · {usage.input_tokens} tokens read, {usage.output_tokens} written · "
        + ("cost unknown (no --price given)" if cost is None else f"cost ${cost:.4f}"),
        soft_wrap=True,
    )
    if not status.finished:
        console.print("[bold]The run is unfinished:[/bold] scores rest on what is there.")
    if status.n_unanswered:
        console.print(
            f"[bold]{status.unanswered_share:.1%} of the questions have no answer[/bold] ({_reasons(facts)}); "
            "they count neither as yes nor as no."
        )
        row = next(row for row in run.verdicts() if is_unanswered(row.verdict))
        console.print(
            f"for example {_plain(row.example_id)}, {_plain(row.question_id)}: {_plain(row.verdict.explanation or '')}"
        )


def _reasons(facts: "list[QuestionFacts]") -> str:
    counts: Counter[str] = Counter()
    for item in facts:
        counts.update({reason: n for reason, n in item.reasons.items() if reason != "not_applicable"})
    return ", ".join(f"{n} {reason}" for reason, n in counts.most_common())


def _print_questions(run: "Run", facts: "list[QuestionFacts]", console: "Console") -> None:
    from rich.table import Table

    texts = {question.id: question.text for question in run.checklist.questions}
    repeated = any(item.n_repeated for item in facts)
    table = Table("question", "", box=None, pad_edge=False)
    for title in ("no", "of", "unanswered", *(["flips"] if repeated else [])):
        table.add_column(title, justify="right")
    for item in worst_first(facts)[:_MOST_QUESTIONS]:
        flips = [_share(item.flip_rate)] if repeated else []
        table.add_row(
            _plain(item.question_id), _plain(texts[item.question_id]),
            str(item.n_no), str(item.n_no + item.n_yes), str(item.n_unanswered), *flips,
        )  # fmt: skip
    part = f" ({_MOST_QUESTIONS} of {len(facts)})" if len(facts) > _MOST_QUESTIONS else ""
    console.print(f"[bold]Questions that fail most[/bold]{part}")
    console.print(table)


def worst_first(facts: "list[QuestionFacts]") -> "list[QuestionFacts]":
    """Questions by fail rate, highest first; those without answers last."""
    return sorted(facts, key=lambda item: -1.0 if item.fail_rate is None else item.fail_rate, reverse=True)


def summary_json(run: "Run", rows: "list[SummaryRow]", facts: "list[QuestionFacts]") -> dict[str, Any]:
    """Everything that the tables show and the run's manifest, for a program; undefined is null."""
    status = run.status()
    return {
        "run": run.name,
        "judge": run.judge,
        "status": {**asdict(status), "finished": status.finished, "unanswered_share": status.unanswered_share},
        "usage": asdict(run.usage()),
        "cost_usd": run.cost_usd(),
        "scores": [asdict(row) for row in rows],
        "questions": [
            {
                **asdict(item),
                "n_unanswered": item.n_unanswered,
                "fail_rate": item.fail_rate,
                "flip_rate": item.flip_rate,
            }
            for item in worst_first(facts)
        ],
        "manifest": run.manifest,
    }


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(visible(text))


def number(value: float | None, *, digits: int = 3) -> str:
    """A number as tables show it; a dash for what is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
