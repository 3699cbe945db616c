"""Options that say by which method a run is made, and the values that they make."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from bineval.cli.options import Number, added, prompts_of, section

if TYPE_CHECKING:
    from bineval.cli.judge_options import OpenModel
    from bineval.judging.plans import JudgePlan
    from bineval.methods.catalog import MethodOptions

_Command = TypeVar("_Command", bound=Any)

# Options of single methods, by the name of their value.
_OPTIONS_OF = {
    "n_samples": ("geval",),
    "gamma": ("factscore",),
}
_METRICS_ONLY = ("against", "metric_model")
# What a judge of yes/no questions heeds, and one that gives a rating does not.
_ANSWERS_ONLY = (
    "kind", "mode", "evidence", "min_mass", "max_questions", "calibration", "contrast", "explain", "strong",
)  # fmt: skip
_RATINGS = ("geval", "holistic")
_MODEL_ONLY = ("judges", *_ANSWERS_ONLY, "temperature", "max_reply_tokens", "seed")
# A judge of yes/no questions takes these prompts, and knows which of them its kind reads.
_ANSWERS = ("binary", "boolean", "factscore")
_METRIC_NEEDS = {
    "against": "a metric that compares with one field",
    "metric_model": "a metric that runs a model",
}


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
    """Adds what single methods need; `method_plans` makes their value."""
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


class MethodPlan(NamedTuple):
    """The judge of a method, None for a metric, and what the method needs besides."""

    plan: "JudgePlan | None"
    options: "MethodOptions"


def method_plan(values: Mapping[str, Any]) -> MethodPlan:
    """The judge of a run and what its method needs.

    Raises:
        UsageError: An option is given that the method does not heed.
        ConfigError: There is no such method, or the judge cannot be what it is asked to be.
    """
    return method_plans(values, [values["method"]])[values["method"]]


def method_plans(
    values: Mapping[str, Any], methods: Sequence[str], *, usual_against: str | None = None
) -> dict[str, MethodPlan]:
    """The judge of each method and what it needs; each is given the options that it heeds, and models are shared.

    Args:
        values: Of `judge_options` and `method_settings_options`.
        methods: Names of methods.
        usual_against: What metrics compare with where nothing is given.

    Raises:
        UsageError: An option is given that none of the methods heeds.
        ConfigError: There is no such method, or a judge cannot be what it is asked to be.
    """
    from bineval.cli.judge_options import refuse
    from bineval.errors import UnknownNameError
    from bineval.methods.catalog import METHODS
    from bineval.methods.metrics.catalog import LEFT_OUT, heeds
    from bineval.models.catalog import open_model

    for method in methods:
        if method not in METHODS and method not in LEFT_OUT:
            raise UnknownNameError("method", method, METHODS)
    unheeded = {method: _unheeded(method, values) for method in methods}
    for name, needs in unheeded[methods[0]].items():
        if all(name in others for others in unheeded.values()):
            refuse(values, (name,), needs)
    for method in methods:
        if "judges" not in unheeded[method] and not values["judges"]:
            raise click.UsageError(f"--method {method} needs a --judge")
    prompts, open_once = _prompts_by_method(values, methods), cache(open_model)
    plans = {}
    for method in methods:
        own = {**values, **{name: _left_out(values[name]) for name in unheeded[method]}}
        if usual_against and "against" in heeds(method) and own["against"] is None:
            own["against"] = usual_against
        plans[method] = _plan(method, own, prompts[method], open_once)
    return plans


def _left_out(value: object) -> object:
    """The value of an option like this one that was left out."""
    return {bool: False, tuple: ()}.get(type(value))


def _plan(method: str, values: Mapping[str, Any], prompts: Mapping[str, Path], open_once: "OpenModel") -> MethodPlan:
    """The judge of a method and what it needs, from the values that it heeds."""
    from bineval.cli.judge_options import plan_of
    from bineval.methods.catalog import PROMPTS_OF, MethodOptions

    taken = PROMPTS_OF.get(method, ())
    if method not in _ANSWERS and (unknown := sorted(prompts.keys() - set(taken))):
        problem = f"{method} has no prompt {unknown[0]!r}; it has {', '.join(taken) or 'none at all'}"
        raise click.BadParameter(problem, param_hint="--prompt")
    given = {name: values[name] for name in ("against", "metric_model", "n_samples", "gamma")}
    options = MethodOptions(
        **{name: value for name, value in given.items() if value is not None},
        prompts={name: path for name, path in prompts.items() if name in taken},
    )
    if not values["judges"]:
        return MethodPlan(None, options)
    rest = tuple(f"{name}={path}" for name, path in prompts.items() if name not in taken)
    return MethodPlan(plan_of({**values, "prompts": rest}, open_once), options)


def _unheeded(method: str, values: Mapping[str, Any]) -> dict[str, str]:
    """The options that a method does not heed, each with what it needs."""
    from bineval.cli.judge_options import unheeded_by_kind
    from bineval.methods.metrics.catalog import LEFT_OUT, METRICS, heeds

    found = {name: f"--method {methods[0]}" for name, methods in _OPTIONS_OF.items() if method not in methods}
    if method in METRICS or method in LEFT_OUT:
        found |= dict.fromkeys(_MODEL_ONLY, f"a method that asks a model, and {method} computes its number")
        if method in METRICS:
            found |= {name: _METRIC_NEEDS[name] for name in _METRICS_ONLY if name not in heeds(method)}
        return found
    found |= dict.fromkeys(_METRICS_ONLY, "a metric")
    if method in _RATINGS:
        found |= dict.fromkeys(_ANSWERS_ONLY, f"a judge that says yes or no, and {method} asks for a rating")
    elif values["kind"] is not None and not values["strong"]:
        found |= unheeded_by_kind(values["kind"])
    if method == "geval":
        found["temperature"] = "a judge that explains, and geval asks for one number"
    return found


def _prompts_by_method(values: Mapping[str, Any], methods: Sequence[str]) -> dict[str, dict[str, Path]]:
    """The prompt files of each method: those that it reads, and those that none of the others claims."""
    from bineval.judging.chat import JUDGE_PROMPTS
    from bineval.judging.explained import EXPLAIN_PROMPTS
    from bineval.judging.logprob import LOGPROB_PROMPTS
    from bineval.methods.catalog import PROMPTS_OF

    files, of_answers = prompts_of(values["prompts"]), (*JUDGE_PROMPTS, *LOGPROB_PROMPTS, *EXPLAIN_PROMPTS)
    reads = {method: {*PROMPTS_OF.get(method, ()), *(of_answers if method in _ANSWERS else ())} for method in methods}
    claimed = {name for names in reads.values() for name in names}
    return {
        method: {name: path for name, path in files.items() if name in reads[method] or name not in claimed}
        for method in methods
    }


def checklist_option(command: _Command) -> _Command:
    """Adds the option for the checklist file."""
    decorated: _Command = click.option(
        "--checklist",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="YAML file with the questions.",
    )(command)
    return decorated
