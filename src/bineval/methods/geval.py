"""G-Eval (arXiv 2303.16634): criterion, evaluation steps, and a score weighted by the probabilities of its token.

The steps are written once for each dimension and stand in the text of its question, so that they are kept with the run.
Without log probabilities the score is the mean of 20 samples at temperature 1. The original counted a sample that is no
number as 0; here it is left out and counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bineval.errors import ModelError
from bineval.generation.drafting import GenerateSettings
from bineval.generation.evaluation_steps import evaluation_steps
from bineval.judging.base import Judge
from bineval.judging.plans import OneModelPlan, Wrap
from bineval.judging.rating import RateSettings, SampledRatingJudge, WeightedRatingJudge
from bineval.judging.rating_scale import rating_scales
from bineval.methods.dimension_questions import described, one_question_each
from bineval.models.base import Model, Wrapper
from bineval.types import Checklist, Dimension, Reply, Request

_UNWRITTEN = "(three to five steps, which the model writes first)"


class StepsNotKeptError(ModelError):
    """The reply cache does not hold the steps, and no call may be made for them."""


class OnlyKept(Wrapper):
    """A model that may not be called: behind a reply cache it leaves what is kept there."""

    def complete(self, request: Request) -> Reply:
        """Refuses.

        Raises:
            StepsNotKeptError: Always.
        """
        raise StepsNotKeptError("the evaluation steps are not written yet", model=self.name)

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Refuses as `complete` does."""
        return [self.complete(request) for request in requests]


@dataclass(frozen=True, kw_only=True, slots=True)
class GEvalPlan(OneModelPlan):
    """A plan for a judge that rates as G-Eval does.

    Attributes:
        model: A model that writes.
        sampled: Whether scores are sampled; None where the model reports no log probabilities.
        settings: Floor, samples, temperature, seed, prompts ("rate_token").
    """

    sampled: bool | None = None
    settings: RateSettings = field(default_factory=RateSettings)

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge; see `JudgePlan.build`."""
        sampled = self.model.capabilities.top_logprobs == 0 if self.sampled is None else self.sampled
        judge = SampledRatingJudge if sampled else WeightedRatingJudge
        return judge(wrap(self.model), task=checklist.task, scales=rating_scales(checklist), settings=self.settings)


def geval_checklist(checklist: Checklist, steps: Mapping[str, tuple[str, ...]] | None) -> Checklist:
    """The checklist with one rating for each dimension of `checklist`.

    Args:
        checklist: Its own questions are left out.
        steps: By dimension; None stands for steps that are not written yet, in a forecast.
    """

    def text(name: str, dimension: Dimension) -> str:
        lines = [_UNWRITTEN] if steps is None else [f"{i}. {step}" for i, step in enumerate(steps[name], 1)]
        return "\n".join([described(name, dimension), "", "Evaluation steps:", *lines])

    return one_question_each(checklist, method="geval", asks="rating", text=text)


def has_steps(checklist: Checklist) -> bool:
    """Whether the steps stand in a checklist of `geval_checklist`, and not only the place for them."""
    return not any(_UNWRITTEN in question.text for question in checklist.questions)


def write_steps(
    checklist: Checklist, model: Model, *, settings: GenerateSettings | None = None
) -> dict[str, tuple[str, ...]]:
    """Lets `model`, with its cache around it, write the steps of each dimension.

    Raises:
        ModelError: A call failed, or no reply held a step.
    """
    return {
        name: evaluation_steps(name, dimension, model, task=checklist.task, settings=settings)
        for name, dimension in checklist.dimensions.items()
    }
