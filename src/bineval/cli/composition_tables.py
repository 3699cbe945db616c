"""What cascades and panels are made of, as tables for people and as JSON for programs."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bineval.cli.output import counted, number, plain, visible

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.judging.composition import Agreement, CascadeFacts, PanelFacts
    from bineval.types import Usage

_MOST_QUESTIONS = 10


def print_composition(facts: "CascadeFacts | PanelFacts", console: "Console") -> None:
    """Prints who answered, who agreed and what it took."""
    from bineval.judging.composition import CascadeFacts

    if isinstance(facts, CascadeFacts):
        _print_cascade(facts, console)
    else:
        _print_panel(facts, console)


def composition_json(facts: "CascadeFacts | PanelFacts") -> dict[str, Any]:
    """Everything that the tables show, for a program; undefined is null."""
    from bineval.judging.composition import CascadeFacts

    if isinstance(facts, CascadeFacts):
        return {
            "kind": "cascade",
            **asdict(facts),
            "n": facts.n,
            "share_kept": facts.share_kept,
            "share_escalated": facts.share_escalated,
            "on_escalated": _agreement_json(facts.on_escalated),
            "on_audited": _agreement_json(facts.on_audited),
        }
    return {
        "kind": "panel",
        **asdict(facts),
        "questions": [{**asdict(item), "share": item.share} for item in facts.questions],
        "pairs": [
            {"first": pair.first, "second": pair.second, **_agreement_json(pair.agreement)} for pair in facts.pairs
        ],
    }


def _agreement_json(agreement: "Agreement") -> dict[str, Any]:
    return {**asdict(agreement), "share": agreement.share}


def _print_cascade(facts: "CascadeFacts", console: "Console") -> None:
    from rich.table import Table

    table = Table("answered by", box=None, pad_edge=False)
    for title in ("verdicts", "share", "calls", "tokens read", "written", "cost"):
        table.add_column(title, justify="right")
    rows = [
        ("cheap", facts.n_kept, facts.share_kept, facts.cheap_usage),
        ("strong", facts.n_escalated, facts.share_escalated, facts.strong_usage),
    ]
    for title, n, share, usage in rows:
        table.add_row(title, str(n), number(share), *_usage_cells(usage))
    _print_line(f"cascade: cheap {facts.cheap}, strong {facts.strong}", console)
    console.print(table)
    _print_line(f"agreement where the strong judge took over: {_agreement(facts.on_escalated)}", console)
    if facts.n_audited:
        _print_line(f"agreement on the audited answers of the cheap judge: {_agreement(facts.on_audited)}", console)
    _print_unreached(facts.n_unreached, console)


def _print_panel(facts: "PanelFacts", console: "Console") -> None:
    from rich.table import Table

    _print_line(f"panel of {len(facts.judges)} judges, {counted(facts.n, 'verdict')}", console)
    if facts.n_ties:
        _print_line(f"without an answer because of a tie: {facts.n_ties}", console)
    if facts.n_below_quorum:
        _print_line(f"without an answer because too few judges had one (quorum): {facts.n_below_quorum}", console)
    _print_unreached(facts.n_unreached, console)
    table = Table(box=None, pad_edge=False)
    for title in ("judge", "and judge"):
        table.add_column(title, overflow="fold")
    for title in ("agree on", "of", "share"):
        table.add_column(title, justify="right")
    for pair in facts.pairs:
        agreement = pair.agreement
        cells = (str(agreement.n_equal), str(agreement.n), number(agreement.share))
        table.add_row(plain(pair.first), plain(pair.second), *cells)
    console.print(table)
    console.print()
    table = Table("question", box=None, pad_edge=False)
    for title in ("disagree on", "of", "share"):
        table.add_column(title, justify="right")
    worst = sorted(facts.questions, key=lambda item: -1.0 if item.share is None else item.share, reverse=True)
    for item in worst[:_MOST_QUESTIONS]:
        table.add_row(plain(item.question_id), str(item.n_split), str(item.n), number(item.share))
    part = f" ({_MOST_QUESTIONS} of {len(worst)})" if len(worst) > _MOST_QUESTIONS else ""
    console.print(f"[bold]Questions that the judges disagree about most[/bold]{part}")
    console.print(table)


def _print_unreached(n: int, console: "Console") -> None:
    if n:
        _print_line(f"missing because a judge could not be reached: {n}; the same command asks again", console)


def _print_line(text: str, console: "Console") -> None:
    console.print(visible(text), markup=False, soft_wrap=True)


def _agreement(agreement: "Agreement") -> str:
    """Such as "5 of 8 (0.625)"; pairs without two answers are not among them."""
    return f"{agreement.n_equal} of {agreement.n} ({number(agreement.share)})"


def _usage_cells(usage: "Usage") -> list[str]:
    cost = "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return [str(usage.calls), str(usage.input_tokens), str(usage.output_tokens), cost]
