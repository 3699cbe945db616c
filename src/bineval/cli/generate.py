"""`bineval generate`: makes a checklist from a task prompt."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from bineval.cli.lint import finding_lines
from bineval.cli.options import (
    call_options,
    model_options,
    model_options_of,
    policy_of,
    prompt_option,
    prompts_of,
    store_option,
    store_place,
)
from bineval.cli.output import emit, say
from bineval.errors import DataError

if TYPE_CHECKING:
    from bineval.models.base import Model
    from bineval.store.database import Store
    from bineval.types import Checklist, Dimension, Scale

_STDIN = "-"


@click.command()
@click.argument("task", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="File to write.  [default: stdout]")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--model", "model_name", required=True, metavar="MODEL", help="provider/model that writes the questions.")
@click.option("--name", help="Name of the checklist.  [default: made from the file's name]")
@click.option(
    "--dimension",
    "dimensions",
    multiple=True,
    metavar="NAME[=DESCRIPTION]",
    help="A side of quality to ask about; several times.  [default: the model chooses]",
)
@click.option("--scale", metavar="A,B", help="Interval that scores are mapped to: 1,5, say.")
@click.option("--seed", type=int, help="Sent to models that take one.")
@click.option(
    "--max-reply-tokens", type=click.IntRange(min=1), default=2_000, show_default=True, help="Cap of one reply."
)
@prompt_option
@store_option
@call_options
@model_options
def generate(task: str, output: Path | None, force: bool, store: str | None, **values: Any) -> None:
    """Make a checklist from the task prompt in TASK.

    TASK is a text file, or - for stdin.

    The model lists the requirements of the task, then writes questions for each, grouped by dimension. What `bineval
    lint` finds is sent back to it, at most twice a dimension. Replies are cached in the store: the same command again
    costs nothing.
    """
    from bineval.io.checklists import dump_checklist, save_checklist
    from bineval.store.database import Store

    if output is not None and output.exists() and not force:
        raise click.BadParameter(f"{output} exists; --force overwrites it", param_hint="-o")
    values["dimensions"], values["scale"] = _dimensions(values["dimensions"]), _scale(values["scale"])
    values["name"] = values["name"] or _default_name(task, output)
    with Store(store_place(store)) as database:
        checklist = _generate(read_task(task), _model(values, database), values)
    if output is None:
        emit(dump_checklist(checklist))
    else:
        save_checklist(checklist, output)
    _report(checklist, output)


def read_task(path: str) -> str:
    """The text of a task file, or of stdin for "-"; without byte order mark.

    Raises:
        DataError: It is not UTF-8.
    """
    file = "<stdin>" if path == _STDIN else path
    source = sys.stdin.buffer.read() if path == _STDIN else Path(path).read_bytes()
    try:
        return source.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{source[error.start]:02x} is not UTF-8; save the task as UTF-8"
        raise DataError(problem, file=file, line=line) from error


def _generate(task: str, model: "Model", values: dict[str, Any]) -> "Checklist":
    from bineval.generation.decompose import decompose
    from bineval.generation.drafting import GenerateSettings

    return decompose(
        task,
        model,
        name=values["name"],
        dimensions=values["dimensions"],
        scale=values["scale"],
        settings=GenerateSettings(
            seed=values["seed"],
            max_tokens=values["max_reply_tokens"],
            prompts=prompts_of(values["prompts"]),
            on_step=say,
        ),
    )


def _model(values: dict[str, Any], database: "Store") -> "Model":
    from bineval.models.catalog import open_model
    from bineval.models.stack import stack
    from bineval.store.replies import StoredReplies

    model = open_model(values["model_name"], model_options_of(values))
    return stack(model, policy_of(values, notice=say), replies=StoredReplies(database))


def _report(checklist: "Checklist", output: Path | None) -> None:
    from bineval.generation.lint import lint

    findings = lint(checklist)
    requirements = cast("list[object]", checklist.provenance["requirements"])
    for line in finding_lines(checklist, findings):
        say(line)
    say(
        f"{len(requirements)} requirements, {len(checklist.dimensions)} dimensions, "
        f"{len(checklist.questions)} questions, {len(findings)} findings left"
    )
    say(f"Read {output or 'the checklist'} before you use it: delete, reword and add questions as you see fit.")


def _default_name(task: str, output: Path | None) -> str:
    named = output or (None if task == _STDIN else Path(task))
    return named.name.split(".")[0] or "checklist" if named else "checklist"


def _dimensions(pairs: tuple[str, ...]) -> "dict[str, Dimension]":
    from bineval.types import Dimension

    dimensions: dict[str, Dimension] = {}
    for pair in pairs:
        name, _, description = (part.strip() for part in pair.partition("="))
        if not name or name in dimensions:
            raise click.BadParameter(f"{pair!r} has no name, or one that is given twice", param_hint="--dimension")
        dimensions[name] = Dimension(description=description or None)
    return dimensions


def _scale(text: str | None) -> "Scale | None":
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = 0.0
    if not float("-inf") < low < high < float("inf"):
        raise click.BadParameter(f"{text!r} must be two numbers, the smaller first, such as 1,5", param_hint="--scale")
    return low, high
