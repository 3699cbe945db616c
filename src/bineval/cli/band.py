"""`bineval band`: learn which questions of a cascade should go to the strong judge."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.label_options import labels_option, split_seed_option, test_share_option
from bineval.cli.options import Number, existing_store, json_option, store_option
from bineval.cli.output import console, counted, emit_json, print_line, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bineval.methods.band import BandReport, Costs
    from bineval.stats.bands import BandFigures


@click.command()
@click.argument("cheap", metavar="CHEAP_RUN")
@click.argument("strong", metavar="STRONG_RUN")
@labels_option
@click.option(
    "--share",
    type=Number(min=0, max=1, min_open=True),
    default=0.2,
    show_default=True,
    help="Largest share of the questions that may go to the strong judge.",
)
@test_share_option
@split_seed_option
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the band.")
@json_option
@store_option
def band(
    cheap: str,
    strong: str,
    labels: Path | None,
    share: float,
    test_share: float,
    seed: int,
    output: Path | None,
    as_json: bool,
    store: str | None,
) -> None:
    """Learn the band of a cascade by replaying two runs over the same data.

    The band says for which P(yes) of the judge of CHEAP_RUN the judge of STRONG_RUN is asked. It is chosen on one part
    of the labels, and reported once on the other part. Without any labels the strong judge is taken for right.
    """
    from bineval.io.bands import band_json, save_band
    from bineval.judging.runs import Run
    from bineval.methods.band import BandOptions
    from bineval.methods.band import band as learn
    from bineval.store.database import Store

    options = BandOptions(share=share, test_share=test_share, seed=seed)
    with Store(existing_store(store)) as database:
        report = learn(Run.open(database, cheap), Run.open(database, strong), labels, options=options)
    if output is not None:
        save_band(report.band, output, learned=report.to_json())
    if as_json:
        emit_json(band_json(report.band, learned=report.to_json()))
    else:
        _print_report(report, console())
    if output is None:
        say("no band was written: give -o FILE")
    else:
        say(f"wrote {output}: judge with it by bineval run … --strong MODEL --band {output}")


def _print_report(report: "BandReport", screen: "Console") -> None:
    """Prints the band, what it does on the held-out pairs, and what must be known about it."""
    from bineval.cli.estimate_cells import estimate_cell, missing_parts

    figures = report.figures
    right = "labels say" if report.reference == "labels" else "strong judge says"
    lines = [
        f"cheap: {report.cheap_judge} (run {report.cheap_run})",
        f"strong: {report.strong_judge} (run {report.strong_run})",
        f"band: P(yes) from {report.band.low:.4f} to {report.band.high:.4f} goes to the strong judge",
        f"chosen on {counted(report.n_choosing, 'verdict')} for at most {100 * report.share:g} % strong calls,"
        f" reported on {figures.n} others, split by group",
        f"right is what the {right}",
    ]
    for line in lines:
        print_line(screen, line)
    screen.print()
    screen.print(_table(figures))
    screen.print()
    lines = [
        f"share of strong calls: {estimate_cell(figures.escalated)}",
        f"both judges wrong: {estimate_cell(figures.both_wrong)}",
        f"cascade less cheap judge, accuracy: {estimate_cell(figures.cascade_less_cheap)}",
        f"cascade less strong judge, accuracy: {estimate_cell(figures.cascade_less_strong)}",
        f"cost of 1,000 verdicts: {_costs(report.costs)}",
        "95 % intervals in brackets; a band never sees errors of which the cheap judge",
        "is sure: have some of its answers checked (run --audit)",
        *report.notes,
        *missing_parts((words, getattr(figures, name)) for name, words in _ESTIMATES.items()),
    ]
    for line in lines:
        print_line(screen, line)


_ESTIMATES = {
    "escalated": "share of strong calls",
    "cheap": "cheap alone",
    "strong": "strong alone",
    "cascade": "cascade",
    "cascade_less_cheap": "cascade less cheap judge",
    "cascade_less_strong": "cascade less strong judge",
    "kept_cheap": "cheap, outside the band",
    "kept_strong": "strong, outside the band",
    "deferred_cheap": "cheap, in the band",
    "deferred_strong": "strong, in the band",
    "both_wrong": "both judges wrong",
}


def _table(figures: "BandFigures") -> "Table":
    from rich.table import Table

    from bineval.cli.estimate_cells import estimate_cell

    table = Table("accuracy of", box=None, pad_edge=False)
    for title in ("all", "outside the band", "in the band"):
        table.add_column(title, justify="right")
    rows = (
        ("cheap alone", (figures.cheap, figures.kept_cheap, figures.deferred_cheap)),
        ("strong alone", (figures.strong, figures.kept_strong, figures.deferred_strong)),
        ("cascade", (figures.cascade, figures.kept_cheap, figures.deferred_strong)),
    )
    for name, estimates in rows:
        table.add_row(name, *(estimate_cell(estimate) for estimate in estimates))
    return table


def _costs(costs: "Costs") -> str:
    parts = (("cheap", costs.cheap), ("strong", costs.strong), ("cascade", costs.cascade))
    return ", ".join(f"{name} {'unknown' if cost is None else f'${cost:.4f}'}" for name, cost in parts)
