"""Plans for judges made of judges: the cascade and the panel."""

from dataclasses import dataclass, field

from bineval.judging.base import Judge
from bineval.judging.cascade import Cascade, CascadeSettings, cascade_name
from bineval.judging.panel import Panel, PanelSettings, panel_name
from bineval.judging.plans import ExplainSettings, JudgePlan, Wrap, explained
from bineval.models.base import Model
from bineval.types import Checklist


@dataclass(frozen=True, kw_only=True, slots=True)
class CascadePlan:
    """A plan for a cascade of two judges.

    Attributes:
        cheap: Judge that answers everything; gives probabilities.
        strong: Judge that gets what the cheap one is unsure of.
        settings: What goes from one to the other.
        explain: Which answers without explanation are explained afterwards, by the strong judge's model unless the
            settings name another; None for none.
    """

    cheap: JudgePlan
    strong: JudgePlan
    settings: CascadeSettings
    explain: ExplainSettings | None = None

    @property
    def name(self) -> str:
        """Name of the cascade."""
        return cascade_name(self.cheap.name, self.strong.name)

    def models(self) -> tuple[Model, ...]:
        """Those of both judges, and the one that explains where that is another."""
        return self.cheap.models() + self.strong.models() + _explainers(self.explain)

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds both judges and the cascade; see `JudgePlan.build`."""
        cheap, strong = self.cheap.build(wrap, checklist=checklist), self.strong.build(wrap, checklist=checklist)
        cascade = Cascade(cheap, strong, settings=self.settings)
        if self.explain is None:
            return cascade
        return explained(cascade, self.explain, own=self.strong.models()[0], wrap=wrap, task=checklist.task)


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelPlan:
    """A plan for a panel of judges.

    Attributes:
        members: The judges, at least two.
        settings: How they come to one verdict.
        explain: Which answers without explanation are explained afterwards, by the first member's model unless the
            settings name another; None for none.
    """

    members: tuple[JudgePlan, ...]
    settings: PanelSettings = field(default_factory=PanelSettings)
    explain: ExplainSettings | None = None

    @property
    def name(self) -> str:
        """Name of the panel."""
        return panel_name([member.name for member in self.members])

    def models(self) -> tuple[Model, ...]:
        """Those of all members, and the one that explains where that is another."""
        return tuple(model for member in self.members for model in member.models()) + _explainers(self.explain)

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the members and the panel; see `JudgePlan.build`."""
        panel = Panel([member.build(wrap, checklist=checklist) for member in self.members], settings=self.settings)
        if self.explain is None:
            return panel
        return explained(panel, self.explain, own=self.members[0].models()[0], wrap=wrap, task=checklist.task)


def _explainers(explain: ExplainSettings | None) -> tuple[Model, ...]:
    return (explain.model,) if explain and explain.model else ()
