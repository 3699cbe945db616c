"""`bineval diagnose`: what is wrong with the questions of a run, and a smaller checklist."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.figure_files import figures_option, write_figures
from bineval.cli.label_options import labels_option, split_seed_option, test_share_option
from bineval.cli.options import existing_store, json_option, store_option
from bineval.cli.output import console, counted, emit_json, say

if TYPE_CHECKING:
    from bineval.methods.diagnose import Diagnosis


@click.command()
@click.argument("name", metavar="RUN")
@labels_option
@click.option("--prune", "with_pruning", is_flag=True, help="Propose a smaller checklist, with what each drop loses.")
@test_share_option
@split_seed_option
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the smaller checklist (--prune)."
)
@figures_option
@json_option
@store_option
def diagnose(
    name: str,
    labels: Path | None,
    with_pruning: bool,
    test_share: float,
    seed: int,
    output: Path | None,
    figures: Path | None,
    as_json: bool,
    store: str | None,
) -> None:
    """Look into the questions of RUN: which tell nothing, repeat others, or disagree with people.

    Everything comes from the saved verdicts; no model is asked. A smaller checklist is chosen on one part of the
    examples, and what it loses is reported on the other.
    """
    if output is not None and not with_pruning:
        raise click.UsageError("-o is for the smaller checklist: give --prune too")
    from bineval.cli.diagnose_tables import diagnosis_json, print_diagnosis, print_pruning
    from bineval.io.checklists import save_checklist
    from bineval.judging.runs import Run
    from bineval.methods.diagnose import diagnose as look_into
    from bineval.methods.diagnose import prune
    from bineval.store.database import Store

    with Store(existing_store(store)) as database:
        run = Run.open(database, name)
        diagnosis = look_into(run, labels, seed=seed)
        pruning = prune(run, test_share=test_share, seed=seed) if with_pruning else None
    if pruning is not None and output is not None:
        save_checklist(pruning.checklist, output)
    if as_json:
        emit_json(diagnosis_json(diagnosis, pruning))
    else:
        screen = console()
        print_diagnosis(diagnosis, screen)
        if pruning is not None:
            print_pruning(pruning, screen)
    if figures is not None:
        _draw(diagnosis, figures)
    if pruning is None:
        return
    if output is None:
        say("no checklist was written: give -o FILE")
    else:
        say(f"wrote {output}: {counted(len(pruning.checklist.questions), 'question')}")


def _draw(diagnosis: "Diagnosis", folder: Path) -> None:
    """Writes the heatmap of each dimension with several questions."""
    from bineval.figures import phi_heatmap

    several = [item.phi for item in diagnosis.dimensions if len(item.phi.questions) > 1]
    if not several:
        say("no figure: no dimension has several questions")
        return
    write_figures({f"phi-{matrix.dimension}": phi_heatmap(matrix) for matrix in several}, folder)
