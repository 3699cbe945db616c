"""Runs as tables for people and as JSON for programs; shared by `run`, `show` and `demo`."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bineval.cli.composition_tables import composition_json, print_composition
from bineval.cli.estimate_cells import estimate_cell
from bineval.cli.output import counted, number, plain

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.diagnose import QuestionFacts
    from bineval.judging.runs import Run
    from bineval.judging.summary import SummaryRow
    from bineval.types import Checklist, Usage

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
    if any(question.asks == "answer" for question in run.checklist.questions):
        _print_questions(run, facts, console)


def print_scores(rows: "list[SummaryRow]", console: "Console") -> None:
    """Prints the scores by dimension, and by system where there are several, and what stands in the table."""
    from rich.table import Table

    by_system = any(row.system is not None for row in rows)
    with_soft = any(row.soft is not None for row in rows)
    with_scaled = any(row.scaled is not None for row in rows)
    table = Table(box=None, pad_edge=False)
    for title in (*(["system"] if by_system else []), "dimension"):
        table.add_column(title, no_wrap=True)
    for title in ("score", *(["soft"] if with_soft else []), *(["scaled"] if with_scaled else [])):
        table.add_column(title, justify="right")
    for title in ("examples", "answered"):
        table.add_column(title, justify="right", no_wrap=True)
    for previous, row in zip([None, *rows], rows, strict=False):
        if previous is not None and row.system != previous.system:
            table.add_row()
        estimate = row.estimate
        table.add_row(
            *([plain(row.system or "all")] if by_system else []),
            plain(row.dimension),
            estimate_cell(estimate),
            *([_soft_cell(row)] if with_soft else []),
            *([number(row.scaled, digits=2)] if with_scaled else []),
            f"{estimate.n}" if estimate.n == row.n_examples else f"{estimate.n} of {row.n_examples}",
            f"{row.n_answered} of {row.n_asked}",
        )
    console.print(table)
    for line in _legend(rows, with_soft=with_soft):
        console.print(line, markup=False, style="dim")


def _soft_cell(row: "SummaryRow") -> str:
    """The soft score, with its own number of examples where that is not the score's."""
    if row.soft is None:
        return number(None)
    fewer = "" if row.soft.n == row.estimate.n else f" (n = {row.soft.n})"
    return f"{estimate_cell(row.soft)}{fewer}"


def _legend(rows: "list[SummaryRow]", *, with_soft: bool) -> list[str]:
    """What stands in the table, a line for each thing."""
    estimates = [row.estimate for row in rows if row.estimate.value is not None]
    lines = []
    if any(estimate.low is not None for estimate in estimates):
        lines.append("95 % intervals in brackets")
    elif estimates:
        lines.append(estimates[0].method)
    if with_soft:
        lines.append("soft: from P(yes), the judge's probability that the answer is yes")
    return lines


def _print_header(run: "Run", facts: "list[QuestionFacts]", console: "Console") -> None:
    status, usage = run.status(), run.usage()
    console.print(f"run [bold]{plain(run.name)}[/bold] · judge {plain(run.judge)}", soft_wrap=True)
    console.print(
        f"{status.n_done} of {status.n_planned} verdicts · {status.n_unanswered} unanswered"
        f" · {status.n_not_applicable} not applicable · {status.n_cached} from the reply cache",
        soft_wrap=True,
    )
    console.print(_usage(usage), soft_wrap=True)
    if not status.finished:
        console.print("[bold]The run is unfinished:[/bold] scores rest on what is there.")
    if (row := run.first_unanswered()) is not None:
        console.print(
            f"[bold]{status.unanswered_share:.1%} of the questions have no answer[/bold] ({_reasons(facts)}); "
            f"{_not_counted(run.checklist)}."
        )
        console.print(
            f"for example {plain(row.example_id)}, {plain(row.question_id)}: {plain(row.verdict.explanation or '')}"
        )


def _not_counted(checklist: "Checklist") -> str:
    """What a question without an answer is not taken for."""
    if all(question.asks == "rating" for question in checklist.questions):
        return "they count as no rating, and not as a low one"
    return "they count neither as yes nor as no"


def _usage(usage: "Usage") -> str:
    """Calls, tokens and cost in words."""
    tokens = f"{usage.input_tokens} tokens read"
    if usage.cached_input_tokens:
        tokens += f" ({usage.cached_input_tokens} from a prefix cache)"
    tokens += f", {usage.output_tokens} written"
    if usage.calls and not usage.input_tokens:
        tokens = "tokens unknown (the server does not say)"
    cost = "cost unknown (no --price given)" if usage.cost_usd is None else f"cost ${usage.cost_usd:.4f}"
    return f"{counted(usage.calls, 'call')} · {tokens} · {cost}"


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
