"""Options that the loops share: how to look for better rules, who writes lessons; and the telling of their story."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bineval.cli.judge_options import judge_options, plan_of
from bineval.cli.options import (
    Number,
    added,
    existing_store,
    json_option,
    model_options_of,
    prompt_option,
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
Decorator = Callable[[Any], Any]

_COUNT = click.IntRange(min=1)


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
        *reach_options(option, "writer"),
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
    return open_model(values["writer"], model_options_of(reach_of(values, "writer"), price_option="--writer-price"))


def write_settings_of(values: Mapping[str, Any]) -> "GenerateSettings":
    """How the note-taker is asked, from a command's values."""
    from bineval.generation.drafting import GenerateSettings

    return GenerateSettings(max_tokens=values["writer_max_tokens"], cap_option="--writer-max-tokens")


def reach_options(option: Callable[..., Decorator], role: str) -> tuple[Decorator, ...]:
    """The options of the server and price of one more model; `reach_of` makes their value."""
    return (
        option(f"--{role}-url", metavar="URL", help="As --base-url."),
        option(f"--{role}-key-env", metavar="NAME", help="As --api-key-env."),
        option(f"--{role}-price", metavar="INPUT,OUTPUT", help="As --price."),
    )


def reach_of(values: Mapping[str, Any], role: str) -> dict[str, Any]:
    """How one more model is reached, as values of the options of the first one."""
    own = {"base_url": "url", "api_key_env": "key_env", "price": "price"}
    return {"timeout_s": values["timeout_s"], **{name: values[f"{role}_{mine}"] for name, mine in own.items()}}


def asked_options(option: Callable[..., Decorator]) -> tuple[Decorator, ...]:
    """The options that say how a judge is asked; `asked_of` makes their value."""
    return (
        option(
            "--kind",
            type=click.Choice(["chat", "logprob", "decision"]),
            help="Answers in writing, the probability of one word, or a decision model.  [default: chat]",
        ),
        option(
            "--mode",
            type=click.Choice(["independent", "dimension", "all"]),
            help="One call per question, per dimension, or for all questions.  [default: independent]",
        ),
        option("--max-reply-tokens", type=_COUNT, metavar="N", help="Cap of its replies.  [default: 400 an answer]"),
        prompt_option,
    )


def asked_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """How a judge is asked, from a command's values."""
    return {name: values[name] for name in ("kind", "mode", "prompts")}


def judge_of(name: str, values: Mapping[str, Any], **own: Any) -> "JudgePlan":
    """One judge by its name, which is reached and asked as the values say, unless `own` says otherwise."""
    usual = judge_options(click.Command("judge")).make_context("judge", []).params
    given = {key: values[key] for key in ("base_url", "api_key_env", "price", "timeout_s", "max_reply_tokens")}
    return plan_of({**usual, **given, "judges": (name,), **own})


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
