"""`bineval calibrate`: learn from labels what a judge's probabilities are worth."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.figure_files import figures_option, write_figures
from bineval.cli.label_options import labels_option, split_seed_option, test_share_option
from bineval.cli.options import existing_store, json_option, store_option
from bineval.cli.output import console, counted, emit_json, print_line, say, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from bineval.methods.calibrate import CalibrationReport, CalibrationRow
    from bineval.stats.calibration import Calibration

_FIGURES = {"brier": "Brier", "log_loss": "log loss", "ece": "ECE", "tpr": "TPR", "tnr": "TNR", "accuracy": "accuracy"}


@click.command()
@click.argument("name", metavar="RUN")
@labels_option
@click.option(
    "--method",
    type=click.Choice(["platt", "isotonic", "auto"]),
    default="auto",
    show_default=True,
    help="Kind of map; auto is isotonic from 1,000 labels on, else Platt.",
)
@test_share_option
@split_seed_option
@click.option(
    "--min-labels",
    type=click.IntRange(min=2),
    default=40,
    show_default=True,
    help="A dimension with fewer labels to fit on shares the map of all.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for `bineval run --calibration`."
)
@figures_option
@json_option
@store_option
def calibrate(
    name: str,
    labels: Path | None,
    method: str,
    test_share: float,
    seed: int,
    min_labels: int,
    output: Path | None,
    figures: Path | None,
    as_json: bool,
    store: str | None,
) -> None:
    """Fit the probabilities and thresholds of the judge of RUN to human labels.

    Maps and thresholds are fitted on one part of the labels. What they do is reported on the other part, raw and
    calibrated side by side, whether they help or not.
    """
    from bineval.io.calibrations import calibration_json, save_calibration
    from bineval.judging.runs import Run
    from bineval.methods.calibrate import CalibrateOptions
    from bineval.methods.calibrate import calibrate as fit
    from bineval.store.database import Store

    options = CalibrateOptions(method=method, test_share=test_share, seed=seed, min_labels=min_labels)  # type: ignore[arg-type]
    with Store(existing_store(store)) as database:
        report = fit(Run.open(database, name), labels, options=options)
    if output is not None:
        save_calibration(report.calibration, output)
    if as_json:
        emit_json(calibration_json(report.calibration))
    else:
        _print_report(report, console())
    if figures is not None:
        _draw(report, figures)
    if output is None:
        say("no calibration was written: give -o FILE")
    else:
        say(f"wrote {output}: judge with it by bineval run … --calibration {output}")


def _draw(report: "CalibrationReport", folder: Path) -> None:
    """Writes the reliability diagram of the labels reported on, raw and calibrated."""
    from bineval.figures import ReliabilityCurve, reliability

    curves = [ReliabilityCurve(name=name, bins=bins) for name, bins in report.curves.items()]
    write_figures({"reliability": reliability(curves)}, folder)


def _print_report(report: "CalibrationReport", screen: "Console") -> None:
    """Prints the maps, the figures on the test part, and what must be known about them."""
    from bineval.cli.estimate_cells import missing_parts

    calibration = report.calibration
    print_line(screen, f"judge {calibration.judge}, run {calibration.run}")
    print_line(
        screen, f"fitted on {report.n_train} labeled verdicts, reported on {report.n_test} others, split by group"
    )
    screen.print()
    screen.print(_maps_table(calibration))
    screen.print()
    screen.print(_figures_table(report.rows))
    print_line(screen, "95 % intervals in brackets; Brier score, log loss and calibration error (ECE):")
    print_line(screen, "the lower, the better; TPR, TNR: share right of the labels yes, of the labels no")
    screen.print()
    for row in report.rows:
        print_line(screen, f"{row.dimension}: {_effect(row)}")
    estimates = [
        (f"{row.dimension} {words}", getattr(figures, name))
        for row in report.rows
        for figures in (row.raw, row.calibrated)
        for name, words in _FIGURES.items()
    ]
    for line in [*report.notes, *missing_parts(estimates)]:
        print_line(screen, line)


def _maps_table(calibration: "Calibration") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("map", "method", box=None, pad_edge=False)
    for title in ("labels", "yes above"):
        table.add_column(title, justify="right")
    for name, fitted in calibration.maps.items():
        table.add_row(
            Text(visible("* (all dimensions)" if name == "*" else name)),
            fitted.map.method,
            str(fitted.n_train),
            f"{fitted.threshold:.3f}",
        )
    return table


def _figures_table(rows: "Sequence[CalibrationRow]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from bineval.cli.estimate_cells import estimate_cell

    table = Table("dimension", "", box=None, pad_edge=False)
    for title in ("raw", "calibrated"):
        table.add_column(title, justify="right")
    for row in rows:
        # The labels are the same on both sides.
        titles = [row.dimension, counted(row.raw.n, "verdict"), f"{row.raw.n_yes} labeled yes", "", "", ""]
        for title, (name, words) in zip(titles, _FIGURES.items(), strict=True):
            cells = [estimate_cell(getattr(figures, name)) for figures in (row.raw, row.calibrated)]
            table.add_row(Text(visible(title)), words, *cells)
        table.add_row("", "bins of ECE", str(row.raw.n_bins), str(row.calibrated.n_bins))
    return table


def _effect(row: "CalibrationRow") -> str:
    from bineval.cli.estimate_cells import estimate_cell

    words = {
        "better": "calibration helped",
        "worse": "calibration made it worse",
        "unclear": "calibration did not clearly help",
    }
    why = "" if row.brier_change.low is not None else f" ({row.brier_change.method})"
    return f"{words[row.effect]}: Brier score changed by {estimate_cell(row.brier_change)}{why}"
