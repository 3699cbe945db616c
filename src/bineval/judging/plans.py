"""What a judge is made of, before its models are wrapped for a run: one model, or several judges together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args, runtime_checkable

from bineval.errors import ConfigError
from bineval.judging.base import Judge
from bineval.judging.calibrated import Calibrated
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.contrast import Contrasted
from bineval.judging.decision import DecisionJudge, DecisionSettings
from bineval.judging.explained import UNSURE_WITHIN, Explained, Which
from bineval.judging.logprob import LogprobJudge, LogprobSettings
from bineval.models.base import Model
from bineval.stats.calibration import Calibration
from bineval.templates import PromptSource
from bineval.types import Checklist

Kind = Literal["chat", "logprob", "decision"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Wrap = Callable[[Model], Model]
"""Puts cache, budget and limits around a model."""


@runtime_checkable
class JudgePlan(Protocol):
    """A judge that is still to be built."""

    @property
    def name(self) -> str:
        """Name of the judge that will be built."""
        ...

    def models(self) -> tuple[Model, ...]:
        """Its models, without wrappers."""
        ...

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge for the task and thresholds of a checklist, each model wrapped by `wrap`.

        Raises:
            ConfigError: A model cannot judge in the way that is asked for.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OneModelPlan:
    """What plans for a judge of one model share: its name is that of the model."""

    model: Model

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    def models(self) -> tuple[Model, ...]:
        """The one that judges."""
        return (self.model,)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainSettings:
    """Which answers are explained afterwards; see `bineval.judging.explained.Explained`.

    Attributes:
        which: All of them, those that are "no", those that are unsure, or none.
        model: The language model that explains; None for the judge's own.
        unsure_within: How far from its threshold a P(yes) may lie to be unsure.
        prompts: Files that take the place of built-in prompts, by name.
    """

    which: Which = "no"
    model: Model | None = None
    unsure_within: float = UNSURE_WITHIN
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """How one model judges.

    Attributes:
        kind: How it is asked; None for "decision" with a decision model, else "chat".
        chat: Mode, evidence, temperature, seed, prompts of a chat judge.
        logprob: Floor and prompts of a logprob judge.
        decision: Cap on the questions in one request of a decision judge.
        contrast: Whether each question is asked with the source withheld too (`bineval.judging.contrast`).
        calibration: Maps of the probabilities, learned from labels; None leaves them as they are.
        explain: Which answers are explained afterwards; None for none. A chat judge explains all of them itself.
    """

    kind: Kind | None = None
    chat: ChatSettings = field(default_factory=ChatSettings)
    logprob: LogprobSettings = field(default_factory=LogprobSettings)
    decision: DecisionSettings = field(default_factory=DecisionSettings)
    contrast: bool = False
    calibration: Calibration | None = None
    explain: ExplainSettings | None = None

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise ConfigError(f"kind {self.kind!r} must be one of {', '.join(KINDS)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SingleJudge(OneModelPlan):
    """A plan for a judge of one model that answers questions with yes or no."""

    options: JudgeOptions = field(default_factory=JudgeOptions)

    def models(self) -> tuple[Model, ...]:
        """The one that judges, and the one that explains where that is another."""
        explain = self.options.explain
        return (self.model, explain.model) if explain and explain.model else (self.model,)

    @property
    def kind(self) -> Kind:
        """How the model is asked."""
        return self.options.kind or usual_kind(self.model)

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge; see `JudgePlan.build`."""
        model, options = wrap(self.model), self.options
        judge = self._judge(model, checklist.task)
        if options.contrast:
            judge = Contrasted(judge)
        if options.calibration is not None:
            judge = Calibrated(judge, options.calibration, checklist_threshold=checklist.threshold)
        if options.explain is None:
            return judge
        if self.kind == "chat":
            raise ConfigError(f"the chat judge {self.name} explains every answer itself: leave out --explain")
        return explained(judge, options.explain, own=self.model, wrap=wrap, task=checklist.task)

    def _judge(self, model: Model, task: str | None) -> Judge:
        match self.kind:
            case "chat":
                return ChatJudge(model, task=task, settings=self.options.chat)
            case "logprob":
                return LogprobJudge(model, task=task, settings=self.options.logprob)
            case "decision":
                return DecisionJudge(model, task=task, settings=self.options.decision)


def explained(judge: Judge, explain: ExplainSettings, *, own: Model, wrap: Wrap, task: str | None) -> Judge:
    """The judge with explanations by the model that the settings name, else by its `own`."""
    return Explained(
        judge,
        model=wrap(explain.model or own),
        task=task,
        which=explain.which,
        unsure_within=explain.unsure_within,
        prompts=explain.prompts,
    )


def usual_kind(model: Model) -> Kind:
    """How a model is asked where nobody says it."""
    return "chat" if model.capabilities.generates else "decision"
