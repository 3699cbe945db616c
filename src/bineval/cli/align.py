"""`bineval align`: improve the prompt of a judge by a better one or by people, and tell the story of a prompt."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.judge_options import refuse
from bineval.cli.loop_options import (
    LoopGroup,
    asked_of,
    asked_options,
    improve_with_progress,
    judge_of,
    loop_options,
    loop_settings_of,
    reach_of,
    reach_options,
    show_command,
    write_settings_of,
    writer_of,
    writer_options,
)
from bineval.cli.options import (
    Number,
    SectionedCommand,
    added,
    call_options,
    json_option,
    model_options,
    policy_of,
    section,
    store_option,
    store_place,
)
from bineval.cli.output import console, emit_json, say

if TYPE_CHECKING:
    from bineval.judging.job import RunOptions
    from bineval.judging.plans import JudgePlan
    from bineval.methods.human_labels import Ratings
    from bineval.optimize.align import Alignment
    from bineval.store.database import Store
    from bineval.types import Checklist, Example

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_KINDS = click.Choice(["chat", "logprob", "decision"])


@click.group(cls=LoopGroup)
def align() -> None:
    """Improve the prompt of a judge: by a better judge, or by people's ratings."""


def _judge_options(command: Any) -> Any:
    option = section("The judge that is improved (--target)")
    return added(
        command,
        option("--target", metavar="MODEL", required=True, help="provider/model."),
        *asked_options(option),
    )


def _source_options(command: Any) -> Any:
    option = section("What it should be like: a better judge (--source), or people (--human)")
    return added(
        command,
        option("--source", metavar="MODEL", help="The better judge."),
        option("--source-kind", type=_KINDS, help="As --kind.  [default: chat]"),
        *reach_options(option, "source"),
        option("--human", is_flag=True, help="Use the examples' own ratings."),
        option("--labels", type=_FILE, metavar="FILE", help="Use the ratings of a file: example_id, dimension, value."),
        option(
            "--gap",
            type=Number(min=0, max=1),
            default=0.3,
            show_default=True,
            help="--human, --labels: how far score and rating in [0, 1] lie apart in a case.",
        ),
    )


@align.command("loop", cls=SectionedCommand, hidden=True)
@click.argument("data", type=_FILE)
@click.option("--checklist", "checklist_file", type=_FILE, required=True, help="YAML file with the questions.")
@click.option("--name", required=True, help="Name of the loop; the same name resumes it.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the best prompt here, for --prompt."
)
@click.option("--report-only", is_flag=True, help="Change nothing: compare target and source question by question.")
@click.option(
    "--min-agreement",
    type=Number(min=0, max=1),
    default=0.9,
    show_default=True,
    help="--report-only: a question breaks when fewer answers are the same.",
)
@_judge_options
@_source_options
@writer_options
@loop_options
@model_options
@store_option
@json_option
@call_options
def loop(
    data: Path, checklist_file: Path, name: str, output: Path | None, report_only: bool, store: str | None,
    as_json: bool, **values: Any,
) -> None:  # fmt: skip
    """Improve the rules in the prompt of a judge on DATA, or report whether it can replace another.

    The judge answers the questions of the checklist; where it differs from a better judge, or from people's ratings, a
    note-taker draws lessons, which change the rules. Better rules are kept when dev confirms them; test is looked at
    once. Interrupted, the same command goes on. The story of a prompt: bineval align show NAME.
    """
    from bineval.io.checklists import load_checklist
    from bineval.io.examples import read_examples
    from bineval.judging.job import RunOptions
    from bineval.optimize.align import align as improve
    from bineval.store.database import Store

    examples = read_examples(data, warn=lambda text: say(f"warning: {text}"))
    checklist = load_checklist(checklist_file)
    target = judge_of(values["target"], values, **asked_of(values))
    source = _source(values)
    options = RunOptions(policy=policy_of(values, notice=say))
    if report_only:
        if source is None:
            raise click.UsageError("--report-only compares --target with --source: name it")
        refuse(values, ("human", "labels", "writer", "writer_url"), "a loop, and --report-only makes none")
        with Store(store_place(store)) as database:
            _report(name, (examples, checklist), (source, target), options, database, values, as_json=as_json)
        return
    alignment = _alignment(examples, checklist, target, source, options, values)
    with Store(store_place(store)) as database:
        improve_with_progress(
            partial(improve, alignment, database, name),
            database,
            name,
            output,
            best_of=lambda record: record.best_prompt,
            as_json=as_json,
        )


align.add_command(show_command(lambda record: record.best_prompt))


def _alignment(
    examples: "list[Example]", checklist: "Checklist", target: "JudgePlan", source: "JudgePlan | None",
    options: "RunOptions", values: dict[str, Any],
) -> "Alignment":  # fmt: skip
    from bineval.judging.plans import SingleJudge
    from bineval.optimize.align import Alignment

    if (source is not None) == (values["human"] or values["labels"] is not None):
        raise click.UsageError("give either --source MODEL, or --human or --labels FILE")
    if not isinstance(target, SingleJudge):  # one --target makes one
        raise click.UsageError("--target is one judge")
    return Alignment(
        examples=examples,
        checklist=checklist,
        target=target,
        source=source,
        ratings=None if source is not None else _ratings(examples, checklist, values["labels"]),
        writer=writer_of(values),
        n_train=values["train"],
        n_dev=values["dev"],
        gap=values["gap"],
        settings=loop_settings_of(values),
        write=write_settings_of(values),
        options=options,
    )


def _ratings(examples: "list[Example]", checklist: "Checklist", labels: Path | None) -> "Ratings":
    from bineval.methods.human_labels import read_ratings

    if labels is not None:
        return read_ratings(labels, examples, [checklist])
    return {example.id: example.human for example in examples if example.human}


def _source(values: dict[str, Any]) -> "JudgePlan | None":
    if values["source"] is None:
        return None
    return judge_of(values["source"], values, kind=values["source_kind"], **reach_of(values, "source"))


def _report(
    name: str, judged: "tuple[list[Example], Checklist]", judges: "tuple[JudgePlan, JudgePlan]", options: "RunOptions",
    database: "Store", values: dict[str, Any], *, as_json: bool,
) -> None:  # fmt: skip
    """Runs the old and the new judge on all examples and compares them."""
    from bineval.cli.align_tables import print_migration
    from bineval.cli.run import execute_with_progress
    from bineval.judging.job import Job
    from bineval.models.budget import Ledger
    from bineval.optimize.migration import migration

    examples, checklist = judged
    ledger = Ledger(options.policy.budget)
    old, new = (
        execute_with_progress(
            Job(source=role, examples=examples, checklist=checklist, plan=plan, options=options),
            database,
            f"{name}/{role}",
            ledger=ledger,
        )
        for role, plan in zip(("source", "target"), judges, strict=True)
    )
    report = migration(old, new, least_agreement=values["min_agreement"])
    if as_json:
        emit_json(report.to_json())
    print_migration(report, console(stderr=as_json))
