"""`bineval improve`: improve a generation prompt by what a judge says of the outputs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
    model_options_of,
    policy_of,
    section,
    store_option,
    store_place,
)
from bineval.cli.output import say

if TYPE_CHECKING:
    from bineval.optimize.improve import Improvement

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(cls=LoopGroup)
def improve() -> None:
    """Improve a generation prompt by what a judge says of the outputs."""


def _generator_options(command: Any) -> Any:
    option = section("Who writes the outputs")
    return added(
        command,
        option("--generator", metavar="MODEL", required=True, help="provider/model."),
        option(
            "--generator-max-tokens",
            type=click.IntRange(min=1),
            metavar="N",
            default=1000,
            show_default=True,
            help="Cap of an output.",
        ),
        option(
            "--temperature",
            type=Number(min=0),
            default=0.0,
            show_default=True,
            help="0 for the likeliest outputs.",
        ),
    )


def _judge_options(command: Any) -> Any:
    option = section("Who judges them")
    return added(
        command,
        option("--judge", metavar="MODEL", help="provider/model.  [default: the generator]"),
        *asked_options(option),
        *reach_options(option, "judge"),
    )


@improve.command("loop", cls=SectionedCommand, hidden=True)
@click.argument("prompt", type=_FILE)
@click.argument("data", type=_FILE)
@click.option("--checklist", "checklist_file", type=_FILE, required=True, help="YAML file with the questions.")
@click.option("--name", required=True, help="Name of the loop; the same name resumes it.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the best prompt here.")
@_generator_options
@_judge_options
@writer_options
@loop_options
@model_options
@store_option
@json_option
@call_options
def loop(
    prompt: Path, data: Path, checklist_file: Path, name: str, output: Path | None, store: str | None, as_json: bool,
    **values: Any,
) -> None:  # fmt: skip
    """Improve PROMPT, a text file with the instructions that a generator gets as its system message.

    The generator writes an output for each input of DATA, and a judge answers the questions of the checklist about it.
    Questions that fail become lessons, which change the instructions. Better ones are kept when dev confirms them;
    test is looked at once. Interrupted, the same command goes on. The story of a prompt: bineval improve show NAME.
    """
    from bineval.optimize.improve import improve as improved
    from bineval.store.database import Store

    improvement = _improvement(prompt, data, checklist_file, values)
    with Store(store_place(store)) as database:
        improve_with_progress(
            partial(improved, improvement, database, name, source=str(data)),
            database,
            name,
            output,
            best_of=lambda record: f"{record.best_rules}\n",
            as_json=as_json,
        )


improve.add_command(show_command(lambda record: f"{record.best_rules}\n"))


def _improvement(prompt: Path, data: Path, checklist: Path, values: dict[str, Any]) -> "Improvement":
    from bineval.io.checklists import load_checklist
    from bineval.io.examples import read_examples_and_prompts
    from bineval.judging.job import RunOptions
    from bineval.models.catalog import open_model
    from bineval.optimize.generator import WriteSettings
    from bineval.optimize.improve import Improvement

    written, unwritten = read_examples_and_prompts(data, warn=lambda text: say(f"warning: {text}"))
    generator = open_model(values["generator"], model_options_of(values))
    reach = {} if values["judge"] is None else reach_of(values, "judge")
    return Improvement(
        examples=[*written, *unwritten],
        checklist=load_checklist(checklist),
        instructions=_text(prompt),
        generator=generator,
        judge=judge_of(values["judge"] or values["generator"], values, **reach, **asked_of(values)),
        note_taker=writer_of(values) or generator,
        n_train=values["train"],
        n_dev=values["dev"],
        settings=loop_settings_of(values),
        writing=WriteSettings(max_tokens=values["generator_max_tokens"], temperature=values["temperature"]),
        write=write_settings_of(values),
        options=RunOptions(policy=policy_of(values, notice=say)),
    )


def _text(path: Path) -> str:
    from bineval.errors import DataError

    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read as text: {error}", file=str(path)) from error
