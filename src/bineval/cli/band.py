"""`bineval band`: learn which questions of a cascade should go to the strong judge."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.label_options import labels_option, split_seed_option, test_share_option
from bineval.cli.options import Number, existing_store, json_option, store_option
from bineval.cli.output import console, emit_json, say, visible

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
    help="Most questions that may go to the strong judge.",
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
    say(f"wrote {output}" if output is not None else "no band was written: give -o FILE")


def _print_report(report: "BandReport", screen: "Console") -> None:
    """Prints the band, what it does on the held-out pairs, and what must be known about it."""
    from bineval.cli.estimate_cells import estimate_cell, missing_parts

    figures = report.figures
    lines = [
        f"cheap {report.cheap_judge} (run {report.cheap_run}), strong {report.strong_judge} (run {report.strong_run})",
        f"band: P(yes) from {report.band.low:.4f} to {report.band.high:.4f} goes to the strong judge",
        f"chosen on {report.n_choosing} verdicts for at most {100 * report.share:g} % strong calls, reported on "
        f"{figures.n} others, split by group; right is what the {report.reference} "
        f"{'say' if report.reference == 'labels' else 'says'}",
        f"strong calls: {estimate_cell(figures.escalated)} of the verdicts; both judges wrong: "
        f"{estimate_cell(figures.both_wrong)}",
    ]
    for line in lines:
        screen.print(visible(line), markup=False, soft_wrap=True)
    screen.print()
    screen.print(_table(figures, report.costs))
    screen.print()
    lines = [
        f"accuracy of the cascade less the cheap judge: {estimate_cell(figures.cascade_less_cheap)}; "
        f"less the strong judge: {estimate_cell(figures.cascade_less_strong)}",
        "95 % intervals in brackets; a band never sees confident errors: have some of the kept answers checked",
        *report.notes,
        *missing_parts((name, getattr(figures, name)) for name in _ESTIMATES),
    ]
    for line in lines:
        screen.print(visible(line), markup=False, soft_wrap=True)


_ESTIMATES = (
    "escalated", "cheap", "strong", "cascade", "cascade_less_cheap", "cascade_less_strong", "kept_cheap", "kept_strong",
    "deferred_cheap", "deferred_strong", "both_wrong",
)  # fmt: skip


def _table(figures: "BandFigures", costs: "Costs") -> "Table":
    from rich.table import Table

    from bineval.cli.estimate_cells import estimate_cell

    table = Table("judge", box=None, pad_edge=False)
    for title in ("accuracy", "on the kept", "on the deferred", "$ for 1,000"):
        table.add_column(title, justify="right")
    rows = (
        ("cheap alone", (figures.cheap, figures.kept_cheap, figures.deferred_cheap), costs.cheap),
        ("strong alone", (figures.strong, figures.kept_strong, figures.deferred_strong), costs.strong),
        ("cascade", (figures.cascade, figures.kept_cheap, figures.deferred_strong), costs.cascade),
    )
    for name, estimates, cost in rows:
        cells = [estimate_cell(estimate) for estimate in estimates]
        table.add_row(name, *cells, "unknown" if cost is None else f"{cost:.4f}")
    return table
