"""The methods by name: what each asks of the dimensions of a checklist, and who answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bineval.errors import ConfigError, UnknownNameError
from bineval.generation.drafting import STEPS_PROMPTS, GenerateSettings
from bineval.judging.plans import JudgePlan, SingleJudge
from bineval.judging.rating import RATE_PROMPTS, RateSettings
from bineval.judging.rating_form import RatingForm
from bineval.methods.boolean import boolean_checklist
from bineval.methods.dimension_questions import described, one_question_each
from bineval.methods.factscore import FACTSCORE_PROMPTS, FactscorePlan, FactscoreSettings
from bineval.methods.geval import GEvalPlan, StepsNotKeptError, geval_checklist, write_steps
from bineval.methods.holistic import HolisticPlan, holistic_checklist
from bineval.methods.metrics.catalog import LEFT_OUT, METRICS, metric_plan
from bineval.models.base import Model
from bineval.templates import PromptSource
from bineval.types import OVERALL, Checklist, Dimension, Example, Scale

MODEL_METHODS = ("binary", "boolean", "geval", "holistic", "factscore")
"""Methods that ask a model; the others are metrics, computed without one."""

METHODS = (*MODEL_METHODS, *METRICS)

STEPS_FIRST = ("geval",)
"""Methods whose model writes evaluation steps before the run, one call a dimension."""

PROMPTS_OF: Mapping[str, Sequence[str]] = {
    "geval": (*RATE_PROMPTS, *STEPS_PROMPTS),
    "holistic": tuple(RatingForm.variables),
    "factscore": FACTSCORE_PROMPTS,
}
"""The prompts of the methods that have some of their own, besides those of the judge."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodOptions:
    """What single methods need besides checklist and judge.

    Attributes:
        against: Field of the example that metrics compare the output with.
        metric_model: Name or folder of the model of a metric that runs one.
        n_samples: Samples of geval; None weights by probabilities where the model reports them, else draws 20.
        gamma: Facts below which factscore penalizes an output for its length; 0 for no penalty.
        prompts: Files that take the place of a method's built-in prompts, by name.
    """

    against: str = "reference"
    metric_model: str | None = None
    n_samples: int | None = None
    gamma: float = 10.0
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)


class Prepared(NamedTuple):
    """What is asked and who answers."""

    checklist: Checklist
    plan: JudgePlan


def prepare_method(
    method: str,
    checklist: Checklist,
    plan: JudgePlan | None,
    *,
    options: MethodOptions | None = None,
    wrap: Callable[[Model], Model] | None = None,
) -> Prepared:
    """Returns the checklist and plan of a run by `method`.

    Args:
        method: One of `METHODS`.
        checklist: Questions of the binary method; the others take its task, dimensions and scales.
        plan: The judge; None for a metric.
        options: What single methods need.
        wrap: Puts cache and budget around the model that writes evaluation steps first. None makes no call, and puts a
            placeholder where the steps would stand, for a forecast; so does a model that may not be called.

    Raises:
        UnknownNameError: There is no such method.
        ConfigError: The judge does not fit the method.
        ModelError: The evaluation steps could not be written.
    """
    options = options or MethodOptions()
    if method in METRICS or method in LEFT_OUT:
        metric = metric_plan(method, against=options.against, model=options.metric_model)
        # Its number is on no scale of the checklist's.
        unscaled = {name: replace(dimension, scale=None) for name, dimension in checklist.dimensions.items()}
        asked = one_question_each(
            replace(checklist, questions=(), dimensions=unscaled, scale=None),
            method=method,
            asks="rating",
            text=lambda *_: f"{metric.name} of the output",
        )
        return Prepared(asked, metric)
    if method not in MODEL_METHODS:
        raise UnknownNameError("method", method, METHODS)
    if plan is None:
        raise ConfigError(f"method {method} needs a judge: give --judge MODEL")
    match method:
        case "binary":
            return Prepared(checklist, plan)
        case "boolean":
            return Prepared(boolean_checklist(checklist), plan)
    single = _single(method, plan)
    match method:
        case "geval":
            return _geval(checklist, single, options, wrap)
        case "holistic":
            chat = single.options.chat
            chat = replace(chat, prompts={**chat.prompts, **options.prompts})
            return Prepared(holistic_checklist(checklist), HolisticPlan(model=single.model, settings=chat))
        case _:
            return _factscore(checklist, single, options)


def dimensions_checklist(
    examples: Sequence[Example], *, name: str, scales: Mapping[str, Scale] | None = None
) -> Checklist:
    """A checklist without questions, whose dimensions are those that people rated the examples on.

    Raises:
        ConfigError: No example has a human label of a dimension; "overall" is none.
    """
    # Every run has an overall score besides those of its dimensions.
    names = dict.fromkeys(dimension for example in examples for dimension in example.human if dimension != OVERALL)
    if not names:
        rated = any(example.human for example in examples)
        what = f"people rated nothing but {OVERALL!r}" if rated else "no example has human labels"
        raise ConfigError(f"{name}: {what}, and so no dimension is named: give a --checklist that does")
    known = scales or {}
    return Checklist(name=name, questions=(), dimensions={name: Dimension(scale=known.get(name)) for name in names})


def _single(method: str, plan: JudgePlan) -> SingleJudge:
    if not isinstance(plan, SingleJudge):
        raise ConfigError(f"method {method} takes one judge, and neither a panel nor a cascade")
    return plan


def _geval(
    checklist: Checklist, judge: SingleJudge, options: MethodOptions, wrap: Callable[[Model], Model] | None
) -> Prepared:
    chat = judge.options.chat
    rate = RateSettings(seed=chat.seed, prompts=_named(options.prompts, RATE_PROMPTS))
    if options.n_samples is not None:
        rate = replace(rate, n_samples=options.n_samples)
    write = GenerateSettings(seed=chat.seed, prompts=_named(options.prompts, STEPS_PROMPTS))
    if chat.max_tokens is not None:
        rate, write = replace(rate, max_tokens=chat.max_tokens), replace(write, max_tokens=chat.max_tokens)
    try:
        steps = write_steps(checklist, wrap(judge.model), settings=write) if wrap else None
    except StepsNotKeptError:
        steps = None
    sampled = None if options.n_samples is None else True
    return Prepared(geval_checklist(checklist, steps), GEvalPlan(model=judge.model, sampled=sampled, settings=rate))


def _factscore(checklist: Checklist, judge: SingleJudge, options: MethodOptions) -> Prepared:
    chat = judge.options.chat
    facts = FactscoreSettings(
        gamma=options.gamma, temperature=chat.temperature, seed=chat.seed, prompts=options.prompts
    )
    if chat.max_tokens is not None:
        facts = replace(facts, max_tokens=chat.max_tokens)
    asked = one_question_each(checklist, method="factscore", asks="rating", text=described)
    return Prepared(asked, FactscorePlan(model=judge.model, judge=judge, settings=facts))


def _named(prompts: Mapping[str, PromptSource], names: Sequence[str]) -> dict[str, PromptSource]:
    return {name: path for name, path in prompts.items() if name in names}
