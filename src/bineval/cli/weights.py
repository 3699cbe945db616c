"""`bineval weights`: learn from human ratings how much each question should count."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.options import existing_store, json_option, store_option
from bineval.cli.output import console, counted, emit_json, plain, print_line, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from bineval.methods.weights import DimensionWeights, WeightsReport
    from bineval.types import Estimate

_EFFECTS = {
    "helped": "learned weights helped",
    "hurt": "learned weights hurt",
    "unclear": "learned weights did not clearly help",
}


@click.command()
@click.argument("name", metavar="RUN")
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Human ratings: example_id, dimension, value.  [default: the examples' own]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the folds and of the intervals."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the checklist.")
@json_option
@store_option
def weights(name: str, labels: Path | None, seed: int, output: Path | None, as_json: bool, store: str | None) -> None:
    """Learn the weights of the questions of RUN from human ratings of their dimensions.

    What the weights do is reported beside the checklist's own weights, on examples that they were not fitted on,
    whether they help or not. A question whose weight is 0 is left out of the checklist.
    """
    from bineval.io.checklists import save_checklist
    from bineval.judging.runs import Run
    from bineval.methods.weights import learn_weights
    from bineval.store.database import Store

    with Store(existing_store(store)) as database:
        report = learn_weights(Run.open(database, name), labels, seed=seed)
    if output is not None:
        save_checklist(report.checklist, output)
    if as_json:
        emit_json(_json(report))
    else:
        _print_report(report, console())
    if output is None:
        say("no checklist was written: give -o FILE")
    else:
        say(f"wrote {output}: {counted(len(report.checklist.questions), 'question')}")


def _print_report(report: "WeightsReport", screen: "Console") -> None:
    from bineval.cli.estimate_cells import missing_parts

    print_line(screen, f"judge {report.judge}, run {report.run}")
    for item in report.dimensions:
        screen.print()
        screen.print(_weights_table(item))
        for key in item.dropped:
            print_line(screen, f"{key}: its weight is 0, which leaves it out of a checklist with these weights")
        screen.print()
        screen.print(_figures_table(item))
        print_line(screen, f"{item.dimension}: {_EFFECTS[item.effect]}{_why(item)}")
    screen.print()
    lines = [
        f"scores are of {report.of}; figures are of examples whose group was not fitted on, all together;",
        "own weights: those of the run's checklist; change: learned less own;",
        "95 % intervals in brackets; mae (mean absolute error) and brier: the lower, the better",
        *report.notes,
        *missing_parts(_estimates(report)),
    ]
    for line in lines:
        print_line(screen, line)


def _weights_table(item: "DimensionWeights") -> "Table":
    from rich.table import Table

    table = Table(plain(item.dimension), box=None, pad_edge=False)
    title = f"weight by {item.fit}, {counted(item.n, 'rated example')}, {counted(item.n_groups, 'group')}"
    table.add_column(title, justify="right")
    for key, weight in item.weights.items():
        table.add_row(plain(key), f"{weight:.2f}")
    return table


def _figures_table(item: "DimensionWeights") -> "Table":
    from rich.table import Table

    from bineval.cli.estimate_cells import estimate_cell

    table = Table(f"held out, {item.n_folds} folds", box=None, pad_edge=False)
    for title in ("own weights", "learned weights", "change"):
        table.add_column(title, justify="right", no_wrap=True)
    for part in item.comparisons:
        table.add_row(part.figure, *(estimate_cell(value) for value in (part.own, part.learned, part.change)))
    return table


def _why(item: "DimensionWeights") -> str:
    change = item.deciding.change
    return f" ({change.method})" if change.low is None else ": the change of Pearson's r decides"


def _estimates(report: "WeightsReport") -> "Iterator[tuple[str, Estimate]]":
    for item in report.dimensions:
        for part in item.comparisons:
            yield f"{item.dimension} {part.figure}, own", part.own
            yield f"{item.dimension} {part.figure}, learned", part.learned
            yield f"{item.dimension} {part.figure}, change", part.change


def _json(report: "WeightsReport") -> dict[str, Any]:
    """All of the report for a program; undefined is null, with the reason as the method of the estimate."""
    from dataclasses import asdict

    dimensions = [{**asdict(item), "effect": item.effect} for item in report.dimensions]
    return {**asdict(report), "dimensions": dimensions, "checklist": report.checklist.to_json()}
