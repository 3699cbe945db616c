"""Options of the commands that learn from labels."""

from pathlib import Path

import click

from bineval.cli.options import Number

labels_option = click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Human answers: example_id, question_id, answer (yes or no).  [default: the examples' own 0/1 ratings]",
)
test_share_option = click.option(
    "--test-share",
    type=Number(min=0, max=1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of the groups that is kept for the figures.",
)
split_seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the split and of the intervals."
)
