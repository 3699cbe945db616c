"""`bineval import-scores`: make a run of scores that another tool made."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.options import json_option, store_option, store_place
from bineval.cli.output import console, counted, emit_json, say

if TYPE_CHECKING:
    from bineval.judging.job import Job
    from bineval.judging.runs import Run
    from bineval.types import Scale


@click.command("import-scores")
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--scores",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Rows of example_id, dimension, value; and repeat where an example has several samples.",
)
@click.option("--name", required=True, help="Name of the run.")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="DIM=A,B",
    help="Lowest and highest score of a dimension, such as style=1,5.  [default: scores stay as they are]",
)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of both files.")
@json_option
@store_option
def import_scores(
    data: Path,
    scores: Path,
    name: str,
    scales: tuple[str, ...],
    encoding: str,
    as_json: bool,
    store: str | None,
) -> None:
    """Make a run of scores that are there already, for the examples of DATA.

    It can be shown, exported and compared like any other, and `bineval meta` says how far it agrees with people. An
    example without a score stays unanswered.
    """
    from bineval.cli.run import execute_with_progress
    from bineval.store.database import Store

    job = _job(data, scores, _scales_of(scales), encoding)
    with Store(store_place(store)) as database:
        _report(execute_with_progress(job, database, name), as_json=as_json)


def _report(run: "Run", *, as_json: bool) -> None:
    """Shows the mean scores and how many are missing: words on stderr, JSON on stdout when asked for."""
    from bineval.cli.run_tables import print_scores, summary_json
    from bineval.judging.summary import summarize

    rows, status = summarize(run), run.status()
    if as_json:
        emit_json(summary_json(run, rows, run.question_facts()))
    missing = f", {status.n_unanswered} missing" if status.n_unanswered else ""
    say(f"run {run.name}: {counted(status.n_answered, 'score')} imported{missing}\n")
    print_scores(rows, console(stderr=True))


def _job(data: Path, scores: Path, scales: "dict[str, Scale]", encoding: str) -> "Job":
    from bineval.io.examples import read_examples
    from bineval.io.score_rows import read_scores
    from bineval.methods.recorded import recorded_job, score_rules

    def warn(text: str) -> None:
        say(f"warning: {text}")

    examples = read_examples(data, encoding=encoding, warn=warn)
    found = read_scores(scores, score_rules(examples, scales), encoding=encoding, warn=warn)
    return recorded_job(str(data), examples, found, scales)


def _scales_of(pairs: tuple[str, ...]) -> "dict[str, Scale]":
    scales: dict[str, Any] = {}
    for pair in pairs:
        name, _, ends = pair.rpartition("=")
        try:
            low, high = (float(end) for end in ends.split(","))
        except ValueError:
            low = high = 0.0
        if not name or not low < high:
            raise click.BadParameter(
                f"{pair!r} must be a dimension and two numbers, the lower one first, such as style=1,5",
                param_hint="--scale",
            )
        scales[name] = (low, high)
    return scales
