"""The metrics by name; a metric's module is imported when it is first named."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bineval.errors import ConfigError, UnknownNameError
from bineval.methods.metrics.base import AGAINST, Against, Compared, Comparison, Metric
from bineval.methods.metrics.judge import MetricPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """Where a metric is found.

    Attributes:
        path: Module, within this package, and class.
        arguments: What tells the class which variant is meant.
        runs_model: Whether it runs a model, and so takes `model`.
        per_dimension: Whether it depends on the dimension; the others compare with one field of the example.
    """

    path: str
    arguments: tuple[str, ...] = ()
    runs_model: bool = False
    per_dimension: bool = False


_ENTRIES = {
    "rouge": _Entry(path="rouge:Rouge", arguments=("rouge-l",)),
    "rouge-1": _Entry(path="rouge:Rouge", arguments=("rouge-1",)),
    "rouge-2": _Entry(path="rouge:Rouge", arguments=("rouge-2",)),
    "rouge-l": _Entry(path="rouge:Rouge", arguments=("rouge-l",)),
    "bleu": _Entry(path="bleu:Bleu"),
    "meteor": _Entry(path="meteor:Meteor"),
    "bertscore": _Entry(path="bertscore:BertScore", runs_model=True),
    "bartscore": _Entry(path="bartscore:BartScore", runs_model=True),
    "unieval-t5": _Entry(path="unieval:UniEval", runs_model=True, per_dimension=True),
}

METRICS: tuple[str, ...] = tuple(_ENTRIES)
"""Names of the metrics."""

LEFT_OUT = {
    "moverscore": "its only package, moverscore 1.0.3 of 2020, is written for pytorch_pretrained_bert and transformers "
    "2, demands a GPU and loads a model when it is imported; bertscore is the nearest that is kept",
}
"""Metrics that are published but not offered, with the reason."""

_USUAL_AGAINST: Against = "reference"


def metric_plan(method: str, *, against: str = _USUAL_AGAINST, model: str | None = None) -> MetricPlan:
    """Returns the plan for a judge that is a metric.

    The judge's name says what is not as usual: "bleu", "bleu(input)", "bertscore(FacebookAI/roberta-base)".

    Args:
        method: One of `METRICS`.
        against: Field that outputs are compared with, one of `AGAINST`; "unieval-t5" reads what its questions need.
        model: Name on the Hugging Face hub, or a folder, for a metric that runs a model; None for the usual one.

    Raises:
        UnknownNameError: There is no such metric or field.
        ConfigError: The metric is left out, does not take an argument, or lacks data.
        MissingDependencyError: A package is not installed.
    """
    if reason := LEFT_OUT.get(method):
        raise ConfigError(f"{method} is left out: {reason}")
    entry = _ENTRIES.get(method)
    if entry is None:
        raise UnknownNameError("metric", method, METRICS)
    field = next((name for name in AGAINST if name == against), None)
    if field is None:
        raise UnknownNameError("field to compare with", against, AGAINST)
    if not entry.runs_model and model:
        raise ConfigError(f"{method} runs no model: leave out --metric-model")
    if entry.per_dimension and field != _USUAL_AGAINST:
        raise ConfigError(f"{method} reads the fields that the question of each dimension needs: leave out --against")
    make, name = _maker(entry, field, model)
    unusual = [text for text in (field if field != _USUAL_AGAINST else None, model) if text]
    return MetricPlan(name=f"{name}({', '.join(unusual)})" if unusual else name, make=make)


def heeds(method: str) -> frozenset[str]:
    """Which of "against" and "metric_model" a metric heeds; it may be one that is left out."""
    entry = _ENTRIES.get(method, _Entry(path=""))
    return frozenset(
        name for name, heeded in (("against", not entry.per_dimension), ("metric_model", entry.runs_model)) if heeded
    )


def _maker(entry: _Entry, against: Against, model: str | None) -> tuple[Callable[[Sequence[str]], Metric], str]:
    """What makes the metric for the dimensions of a checklist, and the metric's name."""
    module, _, class_name = entry.path.partition(":")
    metric_class: Any = getattr(importlib.import_module(f"bineval.methods.metrics.{module}"), class_name)
    options = {"model": model} if entry.runs_model else {}
    if entry.per_dimension:
        return (lambda dimensions: metric_class(dimensions, **options)), metric_class.name
    comparison: Comparison = metric_class(*entry.arguments, **options)
    compared = Compared(comparison, against=against)
    return (lambda _: compared), comparison.name
