"""Options that several commands share, and the values that each group of them makes."""

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

    from bineval.models.catalog import ModelOptions
    from bineval.models.stack import CallPolicy
    from bineval.types import Price

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Decorator = Callable[[Any], Any]

_HELP_COLUMN = 30  # click's own: longer names push their words to the next line


class Number(click.FloatRange):
    """A finite number in a range: NaN passes every comparison, and so every cap and every gate."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Converts and checks."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class SectionedOption(click.Option):
    """An option that stands below a heading in the help of a `SectionedCommand`."""

    def __init__(self, *names: Any, section: str, **values: Any) -> None:
        super().__init__(*names, **values)
        self.section = section

    def get_help_extra(self, ctx: click.Context) -> "OptionHelpExtra":
        """Without the range of a number, which its error names: the help is long enough."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class SectionedCommand(click.Command):
    """A command whose help shows its options below headings, first those that have none of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, all sections in the same two columns."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(param, "section", "Options"), []).append(record)
        widest = max(len(names) for records in sections.values() for names, _ in records)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl([(names.ljust(min(widest, _HELP_COLUMN)), words) for names, words in records])


def section(title: str) -> Callable[..., _Decorator]:
    """`click.option` for the options below one heading."""
    return partial(click.option, cls=SectionedOption, section=title)


store_option = click.option(
    "--store",
    metavar="FILE",
    help="SQLite file or database URL with runs and replies.  [default: bineval.db, or BINEVAL_STORE]",
)
prompt_option = click.option(
    "--prompt", "prompts", multiple=True, metavar="NAME=FILE", help="Use FILE in place of a built-in prompt."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON for a program to stdout.")


def prompts_of(pairs: tuple[str, ...]) -> dict[str, Path]:
    """Files by prompt, from the value of `prompt_option`."""
    prompts: dict[str, Path] = {}
    for pair in pairs:
        name, separator, path = pair.partition("=")
        if not separator:
            raise click.BadParameter(f"{pair!r} must be NAME=FILE", param_hint="--prompt")
        prompts[name] = Path(path)
    return prompts


def store_place(store: str | None) -> str:
    """Path or URL of the store, from the value of `store_option`."""
    from bineval.environment import default_store

    return store or default_store()


def existing_store(store: str | None) -> str:
    """Path or URL of the store, which must be there: commands that only read make none.

    Raises:
        StoreError: There is no such file.
    """
    from bineval.errors import StoreError

    place = store_place(store)
    if not is_there(place):
        raise StoreError(f"{place}: there is no such store; name it with --store, or make a run first")
    return place


def is_there(place: str) -> bool:
    """Whether there is a store at this path; of a URL only opening it can tell."""
    return "://" in place or Path(place).exists()


def model_options(command: _Command) -> _Command:
    """Adds the options that say how to reach a model; `model_options_of` makes their value."""
    option = section("Server and price of the model")
    return added(
        command,
        option("--base-url", metavar="URL", help="Root of a compatible server: http://localhost:8000/v1, say."),
        option("--api-key-env", metavar="NAME", help="Environment variable that holds the key."),
        option(
            "--timeout",
            "timeout_s",
            type=Number(min=1),
            metavar="SECONDS",
            default=120.0,
            show_default=True,
            help="How long to wait for a reply.",
        ),
        option("--price", metavar="INPUT,OUTPUT", help="US dollars per million tokens; without it, cost is unknown."),
    )


def model_options_of(values: Mapping[str, Any], *, price_option: str = "--price") -> "ModelOptions":
    """How to reach a model, from a command's values; an error about the price names `price_option`."""
    from bineval.models.catalog import ModelOptions

    return ModelOptions(
        base_url=values["base_url"],
        api_key_env=values["api_key_env"],
        timeout_s=values["timeout_s"],
        price=_price(values["price"], price_option) if values["price"] else None,
    )


def call_options(command: _Command) -> _Command:
    """Adds limits and budget; `policy_of` makes their value."""
    option = section("Limits and budget")
    count, rate = click.IntRange(min=0), Number(min=0, min_open=True)
    return added(
        command,
        option(
            "--concurrency",
            type=click.IntRange(min=1),
            metavar="N",
            default=8,
            show_default=True,
            help="Most calls at once.",
        ),
        option("--rpm", type=rate, metavar="N", help="Most requests a minute."),
        option("--tpm", type=rate, metavar="N", help="Most tokens a minute."),
        option("--max-calls", type=count, metavar="N", help="Stop before the call that would pass this number."),
        option("--max-tokens", type=count, metavar="N", help="Stop before the call that could pass this many tokens."),
        option("--max-cost", type=Number(min=0), metavar="USD", help="Stop before the call that could pass this cost."),
    )


def policy_of(values: Mapping[str, Any], notice: Callable[[str], None] | None = None) -> "CallPolicy":
    """Limits and budget, from a command's values."""
    from bineval.models.budget import Budget
    from bineval.models.limits import Limits
    from bineval.models.stack import CallPolicy

    return CallPolicy(
        limits=Limits(
            concurrency=values["concurrency"],
            requests_per_minute=values["rpm"],
            tokens_per_minute=values["tpm"],
        ),
        budget=Budget(max_calls=values["max_calls"], max_tokens=values["max_tokens"], max_cost_usd=values["max_cost"]),
        notice=notice,
    )


def added(command: _Command, *options: _Decorator) -> _Command:
    """The command with options, which its help shows in this order."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def _price(text: str, option: str) -> "Price":
    from bineval.types import Price

    try:
        input_usd, output_usd = (float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} must be two numbers, such as 0.15,0.60", param_hint=option) from None
    if not (0 <= input_usd < float("inf") and 0 <= output_usd < float("inf")):
        raise click.BadParameter(f"{text!r} must be two numbers of at least 0", param_hint=option)
    return Price(input_usd=input_usd, output_usd=output_usd)
