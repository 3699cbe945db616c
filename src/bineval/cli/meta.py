"""`bineval meta`: how far the scores of runs agree with people."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.figure_files import figures_option, write_figures
from bineval.cli.options import Number, existing_store, json_option, store_option
from bineval.cli.output import console, emit_json, say

if TYPE_CHECKING:
    from bineval.methods.meta import MetaReport


@click.command()
@click.argument("names", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Ratings: example_id, dimension, value; or answers: example_id, question_id, answer.  [default: the"
    " examples' own human ratings]",
)
@click.option(
    "--level",
    type=click.Choice(["pooled", "group", "system"]),
    default="pooled",
    show_default=True,
    help="Correlate all outputs together, those of each group (then the mean), or the means of the systems.",
)
@click.option(
    "--constant",
    type=click.Choice(["skip", "zero"]),
    default="skip",
    show_default=True,
    help="At level group: skip a group whose ratings or scores are all equal, or count it as 0.",
)
@click.option(
    "--labeled-share",
    type=Number(min=0, max=1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Estimate people's mean from the ratings of this share of the groups and all scores.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the intervals and of the choice of labeled groups.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the data of plots.")
@figures_option
@json_option
@store_option
def meta(
    names: tuple[str, ...],
    labels: Path | None,
    level: str,
    constant: str,
    labeled_share: float | None,
    seed: int,
    output: Path | None,
    figures: Path | None,
    as_json: bool,
    store: str | None,
) -> None:
    """Compare the scores of each RUN with people's ratings of the same outputs.

    Correlations by dimension, with intervals; for several runs, their differences from the first; distributions, order
    of systems, and the agreement of yes/no answers where people gave some.
    """
    from bineval.judging.runs import Run
    from bineval.metaeval.rows import MetaOptions
    from bineval.methods.meta import meta as evaluate
    from bineval.store.database import Store

    options = MetaOptions(level=level, constant=constant, labeled_share=labeled_share, seed=seed)  # type: ignore[arg-type]
    with Store(existing_store(store)) as database:
        report = evaluate([Run.open(database, name) for name in names], labels, options=options)
    if as_json:
        emit_json(report.to_json())
        _say_notes(report)
    else:
        from bineval.cli.meta_tables import print_meta

        print_meta(report, console())
    if output is not None:
        from bineval.io.json_files import write_json_file

        write_json_file(output, report.plots.to_json())
        say(f"wrote {output}")
    if figures is not None:
        _draw(report, figures)


def _say_notes(report: "MetaReport") -> None:
    from bineval.cli.meta_tables import counts_in_words

    for line in (*counts_in_words(report.rows), *report.notes):
        say(line)


def _draw(report: "MetaReport", folder: Path) -> None:
    """Writes a figure of the distributions, and one of the systems for each dimension that has several."""
    from bineval.figures import Distribution, SystemMean, systems, violins

    plots = report.plots
    drawings = {}
    if plots.distributions:
        drawings["violins"] = violins(
            [Distribution(name=item.name, dimension=item.dimension, values=item.values) for item in plots.distributions]
        )
    for dimension in dict.fromkeys(item.dimension for item in plots.systems):
        means = [item for item in plots.systems if item.dimension == dimension]
        if len({item.system for item in means}) > 1:
            drawings[f"systems-{dimension}"] = systems(
                [SystemMean(system=item.system, name=item.name, estimate=item.estimate) for item in means]
            )
    if not drawings:
        say("no figure: no dimension has scores and ratings that can be mapped to [0, 1]")
        return
    write_figures(drawings, folder)
