"""The holistic method: one score a dimension, with an explanation before it, from a chat model."""

from dataclasses import dataclass, field

from bineval.errors import ConfigError
from bineval.judging.base import Judge
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.plans import OneModelPlan, Wrap
from bineval.judging.rating_form import RatingForm
from bineval.judging.rating_scale import rating_scales
from bineval.methods.dimension_questions import described, one_question_each
from bineval.types import Checklist


@dataclass(frozen=True, kw_only=True, slots=True)
class HolisticPlan(OneModelPlan):
    """A plan for a judge that gives one score a dimension.

    Attributes:
        model: A model that writes.
        settings: Temperature, seed, cap of a reply, prompts ("rate", "judge_again"); it asks one score a call.
    """

    settings: ChatSettings = field(default_factory=ChatSettings)

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge; see `JudgePlan.build`."""
        if self.settings.evidence or self.settings.mode != "independent":
            raise ConfigError(
                "the holistic method asks for one score a call, without quotes: leave out --mode, --evidence"
            )
        form = RatingForm(rating_scales(checklist))
        return ChatJudge(wrap(self.model), task=checklist.task, settings=self.settings, form=form)


def holistic_checklist(checklist: Checklist) -> Checklist:
    """The checklist with one rating for each dimension of `checklist`."""
    return one_question_each(checklist, method="holistic", asks="rating", text=described)
