"""What a benchmark says: each method's correlations with people, and whether decomposing into questions helped."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from bineval.hashing import Json
from bineval.judging.runs import Run
from bineval.metaeval.differences import MetaDifference
from bineval.metaeval.rows import MetaOptions, MetaRow
from bineval.metaeval.series import AVERAGE, ScoreKind
from bineval.methods.meta import meta
from bineval.stats.intervals import resampling_group
from bineval.stats.significance import holm_defined
from bineval.suites.base import Suite
from bineval.suites.published import PUBLISHED
from bineval.types import Estimate

DECOMPOSED = "binary"
"""The method whose questions are the decomposition."""

ANSWERING = ("binary", "boolean")
"""The methods whose scores come from answers, hard, and from probabilities, soft; the others give one number."""

WHOLE = ("boolean", "geval", "holistic")
"""The methods that ask the same backbone about each dimension as a whole."""


Verdict = Literal["helped", "hurt", "made no clear difference", "cannot be told"]

_VERDICTS: Mapping[str, Verdict] = {"above": "helped", "below": "hurt", "unclear": "made no clear difference"}
_SIGNIFICANT = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchRow:
    """One method in one dimension.

    Attributes:
        method: Its name.
        figures: Its correlations with people, hard or soft.
    """

    method: str
    figures: MetaRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What decomposition did to the rank correlation with people, against one method that does without.

    Attributes:
        score: Which score of the decomposed method.
        against: The other method.
        against_score: Which score of it.
        dimension: The dimension, or "average".
        difference: Spearman's correlation of the decomposed method less the other's, on the same outputs and resamples.
        p_value: Two-sided, of no difference; None without an interval.
        p_adjusted: The p-value adjusted (Holm) for all comparisons on the average, or for all by dimension.
    """

    score: ScoreKind
    against: str
    against_score: ScoreKind
    dimension: str
    difference: Estimate
    p_value: float | None
    p_adjusted: float | None

    @property
    def verdict(self) -> Verdict:
        """By the interval and the adjusted p-value, both of which must be clear; without them nothing can be told."""
        if self.p_adjusted is None:
            return "cannot be told"
        if self.p_adjusted >= _SIGNIFICANT:
            return "made no clear difference"
        return _VERDICTS[self.difference.direction]


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchReport:
    """The results of one suite.

    Attributes:
        suite: The suite.
        judge: Name of the backbone; None when only metrics were computed.
        n_examples: Outputs judged.
        n_groups: Documents or prompts that they belong to.
        rows: By method, score and dimension.
        effects: What decomposition did; empty without the binary method or any that asks about the whole.
        notes: What a reader must know.
    """

    suite: Suite
    judge: str | None
    n_examples: int
    n_groups: int
    rows: tuple[BenchRow, ...]
    effects: tuple[Effect, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """All of it as JSON values, with what was published."""
        return {
            "suite": self.suite.name,
            "level": self.suite.level,
            "judge": self.judge,
            "n_examples": self.n_examples,
            "n_groups": self.n_groups,
            "rows": [
                {
                    "method": row.method,
                    "score": row.figures.score,
                    "run": row.figures.run,
                    "dimension": row.figures.dimension,
                    "n_without_score": row.figures.n_without_score,
                    **asdict(row.figures.correlations),
                }
                for row in self.rows
            ],
            "decomposition": [{**asdict(effect), "verdict": effect.verdict} for effect in self.effects],
            "published": [row.to_json() for row in PUBLISHED.get(self.suite.name, ())],
            "notes": list(self.notes),
        }


def bench_report(suite: Suite, runs: Mapping[str, Run], *, judge: str | None, seed: int = 0) -> BenchReport:
    """Compares the runs of a suite, by method, with people.

    Raises:
        ConfigError: Nothing is defined.
    """
    report = meta(list(runs.values()), options=MetaOptions(level=suite.level, seed=seed))
    methods = {run.name: method for method, run in runs.items()}
    examples = {example.id: example for run in runs.values() for example in run.examples()}
    return BenchReport(
        suite=suite,
        judge=judge,
        n_examples=len(examples),
        n_groups=len({resampling_group(example) for example in examples.values()}),
        rows=tuple(BenchRow(method=methods[row.run], figures=row) for row in report.rows),
        effects=_adjusted(list(_effects(suite, runs, report.rows, seed))),
        notes=(*suite.notes, *report.notes, *_sizes(report.rows, methods)),
    )


def _sizes(rows: Sequence[MetaRow], methods: Mapping[str, str]) -> Iterator[str]:
    """That methods rest on different outputs, where they do."""
    sizes = {methods[row.run]: row.n_examples for row in rows if row.dimension != AVERAGE}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{method} {n}" for method, n in sizes.items())
        yield f"the methods have different numbers of outputs: {listed}; their rows are not over the same outputs"


def _effects(suite: Suite, runs: Mapping[str, Run], rows: Sequence[MetaRow], seed: int) -> Iterator[Effect]:
    """Differences of each score of the decomposed method from the whole methods, on the average where there is one."""
    whole = {runs[method].name: method for method in WHOLE if method in runs}
    if DECOMPOSED not in runs or not whole:
        return
    compared = [runs[DECOMPOSED], *(runs[method] for method in whole.values())]
    scores = dict.fromkeys(row.score for row in rows if row.run == runs[DECOMPOSED].name)
    for score in scores:
        report = meta(compared, options=MetaOptions(level=suite.level, seed=seed, first_score=score))
        for item in report.differences:
            # Soft is compared with soft and hard with hard, where the other method has both.
            both = sum(row.run == item.run and row.dimension == item.dimension for row in report.rows) > 1
            if item.run in whole and item.difference.coefficient == "spearman" and (item.score == score or not both):
                yield _effect(item, whole[item.run])


def _adjusted(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """The effects with p-values adjusted for each other; the average and the single dimensions are two questions."""
    found = list(effects)
    for of_average in (True, False):
        family = [i for i, effect in enumerate(found) if (effect.dimension == AVERAGE) == of_average]
        for i, p_adjusted in zip(family, holm_defined([found[i].p_value for i in family]), strict=True):
            found[i] = replace(found[i], p_adjusted=p_adjusted)
    return tuple(found)


def _effect(item: MetaDifference, method: str) -> Effect:
    estimate = item.difference.estimate
    return Effect(
        score=item.against_score,
        against=method,
        against_score=item.score,
        dimension=item.dimension,
        difference=Estimate(
            value=_negated(estimate.value),
            low=_negated(estimate.high),
            high=_negated(estimate.low),
            n=estimate.n,
            method=estimate.method,
        ),
        p_value=item.difference.p_value,
        p_adjusted=None,
    )


def _negated(value: float | None) -> float | None:
    return None if value is None else -value
