"""A metric as a judge: it answers every question that asks for a rating with the metric's number."""

import math
from collections.abc import Callable, Mapping, Sequence

from bineval.errors import ConfigError, ModelRequestError
from bineval.hashing import Json
from bineval.judging.base import ModelFreeJudge
from bineval.judging.plans import Wrap
from bineval.methods.metrics.base import Metric
from bineval.models.base import Model
from bineval.types import Checklist, Example, Question, Verdict


class MetricJudge(ModelFreeJudge):
    """Rates by a metric; makes no call to a model of a provider.

    An example for which the metric has no number, for want of a reference or for length, gets verdicts of reason
    "error" that say why.

    Args:
        metric: The metric.
        name: Name written into the verdicts.
    """

    def __init__(self, metric: Metric, *, name: str) -> None:
        self.metric, self.name = metric, name

    @property
    def settings(self) -> Mapping[str, Json]:
        """Name and settings of the metric."""
        return {"kind": "metric", "metric": self.metric.name, **self.metric.settings}

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Rates the example; a metric that does not look at the dimension is asked once for all."""
        keys = [question.dimension if self.metric.per_dimension else "" for question in questions]
        verdicts = {key: self._verdict(example, key) for key in dict.fromkeys(keys)}
        return [verdicts[key] for key in keys]

    def _verdict(self, example: Example, dimension: str) -> Verdict:
        try:
            rating = self.metric.score(example, dimension)
        except ModelRequestError as error:
            return Verdict(answer=None, reason="error", explanation=str(error), judge=self.name)
        if not math.isfinite(rating):
            problem = f"{self.name} gave {rating} for example {example.id}, which is no number"
            return Verdict(answer=None, reason="error", explanation=problem, judge=self.name)
        return Verdict(answer=None, rating=rating, judge=self.name)


class MetricPlan:
    """A plan for a judge that is a metric.

    Args:
        name: Name of the judge.
        make: Makes the metric for the dimensions of a checklist.
    """

    def __init__(self, *, name: str, make: Callable[[Sequence[str]], Metric]) -> None:
        self.name, self._make = name, make
        self._metrics: dict[tuple[str, ...], Metric] = {}

    def models(self) -> tuple[Model, ...]:
        """None."""
        return ()

    def build(self, wrap: Wrap, *, checklist: Checklist) -> MetricJudge:
        """Builds the judge; a second build shares what the first has loaded.

        Raises:
            ConfigError: A question does not ask for a rating of the whole output, or the metric has no number for its
                dimension.
        """
        for question in checklist.questions:
            if question.asks != "rating" or question.per != "output":
                raise ConfigError(
                    f"{self.name} rates whole outputs by dimension; it cannot answer question {question.id!r} of "
                    f"checklist {checklist.name!r}"
                )
        dimensions = tuple(dict.fromkeys(question.dimension for question in checklist.questions))
        metric = self._metrics.get(dimensions)
        if metric is None:
            metric = self._metrics[dimensions] = self._make(dimensions)
        return MetricJudge(metric, name=self.name)
