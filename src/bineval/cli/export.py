"""`bineval export`: the verdicts or scores of a run as a table for other programs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.options import existing_store, store_option

if TYPE_CHECKING:
    from bineval.hashing import Json
    from bineval.judging.runs import Run


@click.command()
@click.argument("name")
@click.option(
    "--what",
    type=click.Choice(["verdicts", "scores"]),
    default="verdicts",
    show_default=True,
    help="Every answer, or the scores of every example.",
)
@click.option("--format", "format_", type=click.Choice(["jsonl", "csv", "parquet"]), default="jsonl", show_default=True)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write.  [default: stdout]"
)
@click.option("--soft", is_flag=True, help="With --what scores: write soft scores, from P(yes), as value and scaled.")
@store_option
def export(name: str, what: str, format_: str, output: Path | None, soft: bool, store: str | None) -> None:
    """Write verdicts or scores of the run NAME as a table.

    Missing is null (an empty cell in CSV). Verdicts are those asked so far; scores are of every example.
    """
    if soft and what != "scores":
        raise click.UsageError("--soft goes with --what scores")
    from bineval.io.export import SCORE_COLUMNS, VERDICT_COLUMNS, write_rows
    from bineval.judging.runs import Run
    from bineval.store.database import Store

    with Store(existing_store(store)) as database:
        run = Run.open(database, name)
        if what == "verdicts":
            rows, columns = verdict_rows(run), VERDICT_COLUMNS
        else:
            rows, columns = score_rows(run, soft=soft), SCORE_COLUMNS
        write_rows(rows, columns=columns, format=format_, path=output)  # type: ignore[arg-type]


def verdict_rows(run: "Run") -> "Iterator[dict[str, Json]]":
    """Yields each verdict with exactly the exported fields."""
    for row in run.verdicts():
        verdict = row.verdict
        yield {
            "run": run.name,
            "example_id": row.example_id,
            "question_id": row.question_id,
            "dimension": row.dimension,
            "unit": row.unit,
            "repeat": row.repeat,
            # A rating stands where the answer of a yes/no question does.
            "answer": verdict.answer if verdict.rating is None else repr(verdict.rating),
            "reason": verdict.reason,
            "probability": verdict.probability,
            "explanation": verdict.explanation,
            "evidence": [{"quote": e.quote, "field": e.field, "verified": e.verified} for e in verdict.evidence],
            "judge": verdict.judge,
            "cached": verdict.cached,
            "input_tokens": verdict.usage.input_tokens,
            "output_tokens": verdict.usage.output_tokens,
        }


def score_rows(run: "Run", *, soft: bool = False) -> "Iterator[dict[str, Json]]":
    """Yields the scores of each example and dimension, and overall, with exactly the exported fields."""
    from bineval.scoring import scales_of, to_scale

    scales = scales_of(run.checklist)
    for example, scores in run.scores():
        for dimension, score in scores.items():
            yield {
                "run": run.name,
                "example_id": example.id,
                "group": example.group,
                "system": example.system,
                "dimension": dimension,
                "value": score.soft if soft else score.value,
                "scaled": to_scale(score.soft, scales[dimension]) if soft else score.scaled,
                "n_answered": score.n_answered,
                "n_asked": score.n_asked,
            }
