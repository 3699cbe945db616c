"""`bineval diagnose`: what is wrong with the questions of a run, and a smaller checklist."""

from pathlib import Path

import click

from bineval.cli.label_options import labels_option, split_seed_option, test_share_option
from bineval.cli.options import existing_store, json_option, store_option
from bineval.cli.output import console, counted, emit_json, say


@click.command()
@click.argument("name", metavar="RUN")
@labels_option
@click.option("--prune", "with_pruning", is_flag=True, help="Propose a smaller checklist, with what each drop loses.")
@test_share_option
@split_seed_option
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the smaller checklist (--prune)."
)
@json_option
@store_option
def diagnose(
    name: str,
    labels: Path | None,
    with_pruning: bool,
    test_share: float,
    seed: int,
    output: Path | None,
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
    if pruning is None:
        return
    if output is None:
        say("no checklist was written: give -o FILE")
    else:
        say(f"wrote {output}: {counted(len(pruning.checklist.questions), 'question')}")
