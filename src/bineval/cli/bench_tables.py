"""The tables of `bineval bench`: own rows with intervals, published rows beside them, and what decomposition did."""

from typing import TYPE_CHECKING

from bineval.cli.correlation_words import COEFFICIENT_TITLES, LEVEL_WORDS
from bineval.cli.estimate_cells import estimate_cell, missing_parts
from bineval.cli.output import counted, number, p_words, plain
from bineval.metaeval.series import AVERAGE
from bineval.stats.coefficients import COEFFICIENTS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bineval.suites.published import PublishedRow
    from bineval.suites.report import BenchReport, Effect


def print_bench(report: "BenchReport", screen: "Console") -> None:
    """Prints a table for each dimension, then the average, and whether decomposition helped."""
    from bineval.suites.published import PUBLISHED

    published = PUBLISHED.get(report.suite.name, ())
    outputs = f"{counted(report.n_examples, 'output')} of {counted(report.n_groups, 'document')}"
    judge = f" · judge {plain(report.judge)}" if report.judge else ""
    screen.print(f"[bold]{report.suite.title}[/bold] · {outputs}{judge}", soft_wrap=True)
    screen.print(f"correlations with people {LEVEL_WORDS[report.suite.level]}; 95 % intervals in brackets", style="dim")
    for dimension in dict.fromkeys(row.figures.dimension for row in report.rows):
        screen.print(f"\n[bold]{plain(dimension)}[/bold]")
        screen.print(_table(report, dimension, published))
    _print_effects(report, screen)
    without = (
        (f"{row.method} {row.figures.dimension}", getattr(row.figures.correlations, name))
        for row in report.rows
        for name in COEFFICIENTS
    )
    for note in (*report.notes, *missing_parts(without)):
        screen.print(note, markup=False, soft_wrap=True)


def _table(report: "BenchReport", dimension: str, published: "tuple[PublishedRow, ...]") -> "Table":
    from rich.table import Table

    grouped = report.suite.level == "group"
    table = Table("method", "score", box=None, pad_edge=False)
    for title in (*COEFFICIENT_TITLES.values(), "n", *(["groups used"] if grouped else [])):
        table.add_column(title, justify="right", no_wrap=True)
    for row in report.rows:
        figures = row.figures.correlations
        if row.figures.dimension == dimension:
            table.add_row(
                plain(row.method),
                _kind(row.method, row.figures.score),
                *(estimate_cell(getattr(figures, name)) for name in COEFFICIENTS),
                str(figures.n),
                *([f"{figures.groups_used} of {figures.groups_used + figures.groups_skipped}"] if grouped else []),
            )
    for paper in published:
        if dimension == AVERAGE:
            values = {name: paper.average(name) for name in next(iter(paper.values.values()))}
        else:
            values = dict(paper.values.get(dimension, {}))
        if values:
            cells = [number(values.get(name)) for name in COEFFICIENTS]
            table.add_row(plain(paper.method), "published", *cells, "", *([""] if grouped else []), style="dim")
    return table


def _print_effects(report: "BenchReport", screen: "Console") -> None:
    """Says for each method that asks about the whole what decomposition did, on the average where there is one."""
    if not report.effects:
        return
    averaged = [effect for effect in report.effects if effect.dimension == AVERAGE]
    screen.print("\n[bold]Did decomposing into questions help?[/bold] (Spearman, paired on the same outputs)")
    for effect in averaged or report.effects:
        screen.print(_sentence(effect), markup=False, soft_wrap=True)
    screen.print("p is adjusted (Holm) for the comparisons of this kind", style="dim")
    if averaged:
        clear = [e for e in report.effects if e.dimension != AVERAGE and e.verdict in ("helped", "hurt")]
        for effect in clear:
            screen.print(f"  {_sentence(effect)}", markup=False, soft_wrap=True)


def _kind(method: str, score: str) -> str:
    """Whether a score is from answers or from probabilities, for the methods that have both."""
    from bineval.suites.report import ANSWERING

    return score if method in ANSWERING else ""


def _sentence(effect: "Effect") -> str:
    against = f"{effect.against} {_kind(effect.against, effect.against_score)}".strip()
    why = "" if effect.difference.low is not None else f" ({effect.difference.method})"
    what = f"{effect.dimension}: binary {effect.score} against {against}"
    p = "" if effect.p_adjusted is None else f", {p_words(effect.p_adjusted)}"
    if effect.verdict == "cannot be told":
        return f"{what}: whether decomposition helped cannot be told, {estimate_cell(effect.difference)}{why}"
    return f"{what}: decomposition {effect.verdict}, {estimate_cell(effect.difference)}{p}{why}"
