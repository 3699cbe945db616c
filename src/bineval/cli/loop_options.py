"""Options that the loops share: how to look for better rules, who writes lessons; and the telling of their story."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bineval.cli.judge_options import plan_of
from bineval.cli.options import (
    Number,
    added,
    existing_store,
    json_option,
    model_options_of,
    section,
    store_option,
)
from bineval.cli.output import console, emit_json, say

if TYPE_CHECKING:
    from bineval.generation.drafting import GenerateSettings
    from bineval.judging.plans import JudgePlan
    from bineval.models.base import Model
    from bineval.optimize.loop import LoopSettings
    from bineval.optimize.record import LoopRecord
    from bineval.store.database import Store
    from bineval.store.loops import StoredLoop

_Command = TypeVar("_Command", bound=Callable[..., Any])

_COUNT = click.IntRange(min=1)
# The options of a judge that an aligned one does not have.
_LEFT_OUT: dict[str, Any] = {
    "evidence": False, "temperature": None, "min_mass": None, "max_questions": None, "calibration": None,
    "contrast": False, "explain": None, "explainer": None, "explainer_url": None, "strong": None, "band": None,
    "audit": None, "strong_kind": None, "strong_url": None, "strong_key_env": None, "strong_price": None, "rule": None,
    "weights": None, "quorum": None,
}  # fmt: skip


def loop_options(command: _Command) -> _Command:
    """Adds the options of a loop; `loop_settings_of` makes their value."""
    option = section("Looking for better rules")
    return added(
        command,
        option("--train", type=_COUNT, default=60, show_default=True, help="Examples that lessons come from."),
        option("--dev", type=_COUNT, default=60, show_default=True, help="Examples that choices are made on."),
        option("--iterations", type=_COUNT, default=5, show_default=True, help="Most attempts."),
        option("--patience", type=_COUNT, default=2, show_default=True, help="Attempts without progress, then stop."),
        option("--epsilon", type=Number(min=0), default=0.02, show_default=True, help="How near is near enough."),
        option(
            "--update",
            type=click.Choice(["edits", "rewrite"]),
            default="edits",
            show_default=True,
            help="Replace a part for each lesson, or write all rules anew.",
        ),
        option("--max-cases", type=_COUNT, default=24, show_default=True, help="Cases shown in one attempt."),
        option("--max-lessons", type=_COUNT, default=10, show_default=True, help="Lessons kept."),
        option(
            "--max-growth",
            type=Number(min=1),
            default=2.0,
            show_default=True,
            help="How many times as long the rules may become.",
        ),
        option(
            "--accept",
            type=click.Choice(["certain", "any"]),
            default="certain",
            show_default=True,
            help="Keep rules whose gain on dev is beyond noise, or every gain.",
        ),
        option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of split and draws."),
    )


def loop_settings_of(values: Mapping[str, Any]) -> "LoopSettings":
    """How to look for better rules, from a command's values."""
    from bineval.optimize.loop import LoopSettings

    return LoopSettings(
        iterations=values["iterations"],
        patience=values["patience"],
        epsilon=values["epsilon"],
        update=values["update"],
        most_cases=values["max_cases"],
        most_lessons=values["max_lessons"],
        most_growth=values["max_growth"],
        accept=values["accept"],
        seed=values["seed"],
    )


def writer_options(command: _Command) -> _Command:
    """Adds the options of the note-taker; `writer_of` and `write_settings_of` make their values."""
    option = section("The note-taker, which writes lessons and edits (--writer)")
    return added(
        command,
        option(
            "--writer",
            metavar="MODEL",
            help="Writes lessons and edits.  [default: the source; else the target or the generator]",
        ),
        option("--writer-url", metavar="URL", help="Root of its server."),
        option("--writer-key-env", metavar="NAME", help="As --api-key-env."),
        option("--writer-price", metavar="INPUT,OUTPUT", help="As --price."),
        option(
            "--writer-max-tokens",
            type=_COUNT,
            metavar="N",
            default=2000,
            show_default=True,
            help="Cap of a reply of the note-taker.",
        ),
    )


def writer_of(values: Mapping[str, Any]) -> "Model | None":
    """The note-taker, from a command's values; None where none is named."""
    from bineval.models.catalog import open_model

    if values["writer"] is None:
        return None
    reach = {
        "base_url": values["writer_url"],
        "api_key_env": values["writer_key_env"],
        "price": values["writer_price"],
        "timeout_s": values["timeout_s"],
    }
    return open_model(values["writer"], model_options_of(reach, price_option="--writer-price"))


def write_settings_of(values: Mapping[str, Any]) -> "GenerateSettings":
    """How the note-taker is asked, from a command's values."""
    from bineval.generation.drafting import GenerateSettings

    return GenerateSettings(max_tokens=values["writer_max_tokens"], cap_option="--writer-max-tokens")


def judge_of(name: str, values: Mapping[str, Any], **own: Any) -> "JudgePlan":
    """One judge by its name, which is reached and asked as the values say, unless `own` says otherwise."""
    usual = {**_LEFT_OUT, "mode": None, "max_reply_tokens": values["max_reply_tokens"], "prompts": (), "seed": None}
    reach = {key: values[key] for key in ("base_url", "api_key_env", "price", "timeout_s")}
    return plan_of({**usual, **reach, "judges": (name,), **own})


def improve_with_progress(
    work: "Callable[..., LoopRecord]",
    database: "Store",
    name: str,
    output: Path | None,
    *,
    best_of: "Callable[[LoopRecord], str]",
    as_json: bool,
) -> None:
    """Makes or resumes a loop with its progress on stderr, writes its best prompt, and tells its story.

    Args:
        work: The loop, but for `say` and `on_progress`.
        database: Its store.
        name: Its name.
        output: Where the best prompt is written; it is also when a cap stops the loop.
        best_of: What is written.
        as_json: Whether the record is written to stdout.
    """
    from bineval.cli.align_tables import print_loop
    from bineval.cli.progress import RunProgress
    from bineval.errors import BudgetExceeded
    from bineval.optimize.record import record_from_json
    from bineval.store.loops import find_loop

    try:
        with RunProgress() as progress:
            record = work(say=progress.notice, on_progress=progress)
    except BudgetExceeded:
        if output is not None and (so_far := find_loop(database, name).record) is not None:
            write_prompt(best_of(record_from_json(so_far)), output)
            say("It is the best prompt so far, which test has not seen. The same command with a higher cap goes on.")
        raise
    if output is not None:
        write_prompt(best_of(record), output)
    if as_json:
        emit_json(record.to_json())
    print_loop(record, console(stderr=as_json))


def write_prompt(text: str, output: Path) -> None:
    """Writes a prompt, and says so."""
    from bineval.io.files import replacing

    with replacing(output) as file:
        file.write(text.encode())
    say(f"wrote {output}")


def show_command(best_of: "Callable[[LoopRecord], str]") -> click.Command:
    """Makes the command that tells the story of a loop; `best_of` is what `-o` writes."""

    @click.command("show")
    @click.argument("name")
    @click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the best prompt here.")
    @json_option
    @store_option
    def show(name: str, output: Path | None, as_json: bool, store: str | None) -> None:
        """Tell the story of the prompt of loop NAME: lessons, changed words, and what they did to which questions."""
        from bineval.cli.align_tables import print_loop
        from bineval.store.database import Store
        from bineval.store.loops import find_loop

        with Store(existing_store(store)) as database:
            record = _record(find_loop(database, name))
        if output is not None:
            write_prompt(best_of(record), output)
        if as_json:
            emit_json(record.to_json())
        else:
            print_loop(record, console())

    return show


def _record(loop: "StoredLoop") -> "LoopRecord":
    from bineval.errors import StoreError
    from bineval.optimize.record import record_from_json

    if loop.record is None:
        raise StoreError(f"loop {loop.name!r} has begun, and judged nothing yet: the same command goes on")
    return record_from_json(loop.record)


class LoopGroup(click.Group):
    """A group whose command without a name is the loop: `bineval align DATA …`, beside `bineval align show NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the name of the loop's command where no other command is named."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["loop", *args])
