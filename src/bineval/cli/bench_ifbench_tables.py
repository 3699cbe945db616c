"""The tables of `bineval bench ifbench`: how often constraints are satisfied, and a judge beside the verifiers."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bineval.cli.estimate_cells import estimate_cell, missing_parts
from bineval.cli.output import counted, plain, print_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bineval.judging.runs import Run
    from bineval.suites.ifbench.accuracy import Accuracy, AccuracyReport
    from bineval.suites.ifbench.judged import JudgedRow
    from bineval.types import Estimate

_ALL = "all constraints"
_BY_CATEGORY = {"raw": "raw", "kappa": "Cohen's kappa", "tpr": "TPR", "tnr": "TNR"}


def print_accuracy(report: "AccuracyReport", screen: "Console") -> None:
    """Prints a table for each system, and what could not be verified."""
    title = f"{counted(len(report.verified), 'output')}, {counted(report.n_constraints, 'constraint')}"
    left_out = f" · {counted(report.n_without_output, 'prompt')} without an output left out"
    screen.print(
        f"[bold]IFBench[/bold] · {title}{left_out if report.n_without_output else ''} · {report.version}",
        soft_wrap=True,
    )
    for line in (
        "share satisfied, with 95 % intervals over prompts; a whole prompt is satisfied when all its constraints are",
        "strict: by the output as it is; loose: or without its first line, its last line, or its asterisks",
    ):
        screen.print(line, style="dim", soft_wrap=True)
    rows = [row for row in report.rows if row.instruction_id is None]
    systems = dict.fromkeys(row.system for row in rows)
    for system in systems:
        if len(systems) > 1:
            screen.print(f"\n[bold]{plain(system or 'system not given')}[/bold]")
        screen.print(_accuracies([row for row in rows if row.system == system]))
    _missing(((_title(row), estimate) for row in rows for estimate in (row.strict, row.loose)), screen)
    if report.undefined:
        n = sum(item.n for item in report.undefined)
        print_line(screen, f"not verified: {counted(n, 'constraint')}; they and their prompts are in no figure")
    for item in report.undefined:
        print_line(screen, f"  {item.instruction_id} ({item.n}): {item.problem}")
    for note in report.notes:
        print_line(screen, note)


def print_agreement(run: "Run", rows: "Sequence[JudgedRow]", screen: "Console") -> None:
    """Prints how far a judge agrees with the verifiers: every figure for all constraints, some by category."""
    every, *categories = rows
    figures = every.figures
    screen.print(f"\n[bold]Judge against verifiers[/bold] · {plain(run.judge)}", soft_wrap=True)
    compared = f"{counted(figures.n, 'constraint')} with an answer of the judge and a strict verdict of the verifiers"
    unanswered = f"; {every.n_unanswered} without an answer left out" if every.n_unanswered else ""
    screen.print(f"{compared}{unanswered}", style="dim", soft_wrap=True)
    shown = {
        "satisfied, says the judge": every.judge_yes,
        "satisfied, say the verifiers": every.verifiers_yes,
        "raw agreement": figures.raw,
        "Cohen's kappa": figures.kappa,
        "Krippendorff's alpha": figures.alpha,
        "Gwet's AC1": figures.ac1,
        "TPR": figures.tpr,
        "TNR": figures.tnr,
    }
    table = _table("", _ALL, "n")
    for name, estimate in shown.items():
        table.add_row(name, estimate_cell(estimate), str(estimate.n))
    screen.print(table)
    for line in (
        "kappa, alpha, AC1: agreement beyond chance, 1 is perfect, 0 is chance",
        "TPR, TNR: share right of what the verifiers (the labels) call satisfied, not satisfied",
    ):
        screen.print(line, style="dim", soft_wrap=True)
    _missing(shown.items(), screen)
    if figures.caution is not None:
        print_line(screen, figures.caution)
    if len(categories) > 1:
        screen.print(_agreements(categories))
        _missing(
            (
                (f"{row.category}: {title}", getattr(row.figures, name))
                for row in categories
                for name, title in _BY_CATEGORY.items()
            ),
            screen,
        )
    print_line(screen, f"its answers: bineval show {run.name}")


def _accuracies(rows: "Iterable[Accuracy]") -> "Table":
    table = _table("", "strict", "loose", "n")
    for row in rows:
        table.add_row(plain(_title(row)), estimate_cell(row.strict), estimate_cell(row.loose), str(row.strict.n))
    return table


def _title(row: "Accuracy") -> str:
    if row.level == "prompt":
        return "whole prompts"
    return _ALL if row.category is None else f"  {row.category}"


def _agreements(rows: "Iterable[JudgedRow]") -> "Table":
    table = _table("", *_BY_CATEGORY.values(), "n")
    for row in rows:
        cells = (estimate_cell(getattr(row.figures, figure)) for figure in _BY_CATEGORY)
        table.add_row(plain(str(row.category)), *cells, str(row.figures.n))
    return table


def _missing(estimates: "Iterable[tuple[str, Estimate]]", screen: "Console") -> None:
    """Says why values or intervals are missing."""
    for line in missing_parts((name.strip(), estimate) for name, estimate in estimates):
        print_line(screen, line)


def _table(first: str, *others: str) -> "Table":
    from rich.table import Table

    table = Table(first, box=None, pad_edge=False)
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    return table
