"""Runs as tables for people and as JSON for programs; shared by `run`, `show` and `demo`."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bineval.cli.composition_tables import composition_json, print_composition
from bineval.cli.output import number, plain

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.diagnose import QuestionFacts
    from bineval.judging.runs import Run
    from bineval.judging.summary import SummaryRow
    from bineval.types import Estimate

_MOST_QUESTIONS = 10


def print_run(run: "Run", rows: "list[SummaryRow]", facts: "list[QuestionFacts]", console: "Console") -> None:
    """Prints what the run is, its scores, and the questions that fail most."""
    _print_header(run, facts, console)
    console.print()
    print_scores(rows, console)
    console.print()
    if (parts := run.composition()) is not None:
        print_composition(parts, console)
        console.print()
    _print_questions(run, facts, console)


def print_scores(rows: "list[SummaryRow]", console: "Console") -> None:
    """Prints the scores by dimension, and by system where there are several."""
    from rich.table import Table

    by_system = any(row.system is not None for row in rows)
    with_soft = any(row.soft is not None for row in rows)
    table = Table(*(["system"] if by_system else []), "dimension", box=None, pad_edge=False)
    soft_titles = ["soft", "95 % interval"] if with_soft else []
    for title in ("score", "95 % interval", *soft_titles, "scaled", "examples", "answered"):
        table.add_column(title, justify="right")
    for previous, row in zip([None, *rows], rows, strict=False):
        if previous is not None and row.system != previous.system:
            table.add_row()
        table.add_row(*([plain(row.system or "all")] if by_system else []), *_score_cells(row, with_soft))
    console.print(table)


def _score_cells(row: "SummaryRow", with_soft: bool) -> list[str]:
    estimate = row.estimate
    return [
        plain(row.dimension),
        *_estimate_cells(estimate),
        *(_estimate_cells(row.soft) if with_soft else []),
        number(row.scaled, digits=2),
        f"{estimate.n}" if estimate.n == row.n_examples else f"{estimate.n} of {row.n_examples}",
        f"{row.n_answered} of {row.n_asked}",
    ]


def _estimate_cells(estimate: "Estimate | None") -> list[str]:
    if estimate is None:
        return [number(None), "none"]
    interval = "none" if estimate.low is None else f"{number(estimate.low)} to {number(estimate.high)}"
    return [number(estimate.value), interval]


def _print_header(run: "Run", facts: "list[QuestionFacts]", console: "Console") -> None:
    status, usage = run.status(), run.usage()
    console.print(f"run [bold]{plain(run.name)}[/bold] · judge {plain(run.judge)}", soft_wrap=True)
    console.print(
        f"{status.n_done} of {status.n_planned} verdicts · {status.n_unanswered} unanswered"
        f" · {status.n_not_applicable} not applicable · {status.n_cached} from the reply cache",
        soft_wrap=True,
    )
    console.print(
        f"{usage.calls} calls · {usage.input_tokens} tokens read ({usage.cached_input_tokens} of them from a prefix"
        f" cache), {usage.output_tokens} written · "
        + ("cost unknown (no --price given)" if usage.cost_usd is None else f"cost ${usage.cost_usd:.4f}"),
        soft_wrap=True,
    )
    if not status.finished:
        console.print("[bold]The run is unfinished:[/bold] scores rest on what is there.")
    if (row := run.first_unanswered()) is not None:
        console.print(
            f"[bold]{status.unanswered_share:.1%} of the questions have no answer[/bold] ({_reasons(facts)}); "
            "they count neither as yes nor as no."
        )
        console.print(
            f"for example {plain(row.example_id)}, {plain(row.question_id)}: {plain(row.verdict.explanation or '')}"
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
            plain(item.question_id), plain(texts[item.question_id]),
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
    status, usage, parts = run.status(), asdict(run.usage()), run.composition()
    return {
        "run": run.name,
        "judge": run.judge,
        "status": {**asdict(status), "finished": status.finished, "unanswered_share": status.unanswered_share},
        "usage": usage,
        "cost_usd": usage.pop("cost_usd"),
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
        "composition": None if parts is None else composition_json(parts),
        "manifest": run.manifest,
    }


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
