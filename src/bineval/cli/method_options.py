"""Options that say by which method a run is made, and the values that they make."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bineval.cli.options import Number, added, prompts_of, section

if TYPE_CHECKING:
    from bineval.judging.plans import JudgePlan
    from bineval.methods.catalog import MethodOptions

_Command = TypeVar("_Command", bound=Any)

# Options of single methods, by the name of their value.
_OPTIONS_OF = {
    "n_samples": ("geval",),
    "gamma": ("factscore",),
}
# What a judge of yes/no questions heeds, and one that gives a rating does not.
_ANSWERS_ONLY = (
    "kind", "mode", "evidence", "min_mass", "max_questions", "calibration", "contrast", "explain", "strong",
)  # fmt: skip
_RATINGS = ("geval", "holistic")
# What a model that writes heeds, and geval, which has its own temperature and asks for one number, does not.
_WRITING_ONLY = ("temperature", "max_reply_tokens")


_section = section("Methods to compare with (--method)")


def method_options(command: _Command) -> _Command:
    """Adds the options of a run; `method_plan` makes their value."""
    return added(
        command,
        _section(
            "--method",
            metavar="NAME",
            default="binary",
            show_default=True,
            help="binary (the questions of the checklist), boolean, geval, holistic, factscore, or a metric: rouge, "
            "bleu, meteor, bertscore, bartscore, unieval-t5. All but binary need only the dimensions of the checklist.",
        ),
        method_settings_options,
    )


def method_settings_options(command: _Command) -> _Command:
    """Adds what single methods need; `method_options_of` makes their value."""
    return added(
        command,
        _section(
            "--samples",
            "n_samples",
            type=click.IntRange(min=1),
            metavar="N",
            help="geval: draw so many scores.  [default: weigh by probabilities, or 20 where the model reports none]",
        ),
        _section(
            "--gamma", type=Number(min=0), help="factscore: outputs with fewer facts are penalized.  [default: 10]"
        ),
        _section(
            "--against",
            type=click.Choice(["reference", "input", "context"]),
            help="Metrics: what the output is compared with.  [default: reference]",
        ),
        _section("--metric-model", metavar="NAME|FOLDER", help="Metrics that run a model: one other than their own."),
    )


def method_options_of(values: Mapping[str, Any], prompts: Mapping[str, Path] | None = None) -> "MethodOptions":
    """What single methods need, from a command's values."""
    from bineval.methods.catalog import MethodOptions

    names = ("against", "metric_model", "n_samples", "gamma")
    given = {name: values[name] for name in names if values[name] is not None}
    return MethodOptions(**given, prompts=prompts or {})


def method_plan(values: Mapping[str, Any]) -> "tuple[JudgePlan | None, MethodOptions]":
    """The judge of a run, None for a metric, and what its method needs.

    Raises:
        ConfigError: There is no such method, or the judge cannot be what it is asked to be.
    """
    from bineval.cli.judge_options import plan_of, refuse
    from bineval.errors import UnknownNameError
    from bineval.methods.catalog import METHODS, PROMPTS_OF
    from bineval.methods.metrics.catalog import LEFT_OUT, METRICS

    method = values["method"]
    if method not in METHODS and method not in LEFT_OUT:
        raise UnknownNameError("method", method, METHODS)
    for name, methods in _OPTIONS_OF.items():
        if method not in methods:
            refuse(values, (name,), f"--method {methods[0]}")
    is_metric = method in METRICS or method in LEFT_OUT
    if not is_metric:
        refuse(values, ("against", "metric_model"), "a metric")
    prompts, taken = prompts_of(values["prompts"]), PROMPTS_OF.get(method, ())
    options = method_options_of(values, {name: path for name, path in prompts.items() if name in taken})
    if is_metric:
        unheeded = ("judges", *_ANSWERS_ONLY, *_WRITING_ONLY, "seed")
        refuse(values, unheeded, f"a method that asks a model, and {method} computes its number")
        _refuse_prompts(method, prompts, taken)
        return None, options
    if not values["judges"]:
        raise click.UsageError(f"--method {method} needs a --judge")
    if method in _RATINGS:
        refuse(values, _ANSWERS_ONLY, f"a judge that says yes or no, and {method} asks for a rating")
        _refuse_prompts(method, prompts, taken)
    if method == "geval":
        refuse(values, _WRITING_ONLY, "a judge that explains, and geval asks for one number")
    rest = tuple(pair for pair in values["prompts"] if pair.partition("=")[0] not in taken)
    return plan_of({**values, "prompts": rest}), options


def _refuse_prompts(method: str, prompts: Mapping[str, Path], known: Sequence[str]) -> None:
    """Refuses prompt files that the method does not read."""
    if unknown := sorted(prompts.keys() - set(known)):
        problem = f"{method} has no prompt {unknown[0]!r}; it has {', '.join(known) or 'none at all'}"
        raise click.BadParameter(problem, param_hint="--prompt")


def checklist_option(command: _Command) -> _Command:
    """Adds the option for the checklist file."""
    decorated: _Command = click.option(
        "--checklist",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="YAML file with the questions.",
    )(command)
    return decorated
