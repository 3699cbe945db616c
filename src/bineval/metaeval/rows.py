"""What is said of one run in one dimension: correlations with people, distributions, system order, agreement."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.metaeval.human_mean import HumanMean, human_mean
from bineval.metaeval.series import AVERAGE, ScoreKind, Series
from bineval.stats.agreement import Agreement
from bineval.stats.coefficients import COEFFICIENTS
from bineval.stats.correlation import Correlations, correlation_average, correlations
from bineval.stats.distributions import Distribution, SystemOrder, distribution, system_order, wasserstein
from bineval.stats.levels import Level
from bineval.stats.paired_accuracy import PairedAccuracy
from bineval.types import Estimate

Constant = Literal["skip", "zero"]
CONSTANTS: tuple[Constant, ...] = get_args(Constant)
LEVELS: tuple[Level, ...] = get_args(Level)

RaterKind = Literal["people", "repeats", "run"]
"""Who a run is compared with: people, itself when it is asked again, or another run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaOptions:
    """How scores are compared with people.

    Attributes:
        level: "pooled" over all outputs, "group" for the mean over groups, "system" for the means of systems.
        constant: What a group counts whose ratings or scores are all equal: nothing ("skip") or 0 ("zero").
        labeled_share: Share of the groups whose ratings the human mean is estimated from; None for no estimate.
        seed: Of the intervals and of the choice of labeled groups.
        first_score: Which score of the first run the others are compared with, where it has both.
    """

    level: Level = "pooled"
    constant: Constant = "skip"
    labeled_share: float | None = None
    seed: int = 0
    first_score: ScoreKind = "hard"

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ConfigError(f"level {self.level!r} must be one of {', '.join(LEVELS)}")
        if self.constant not in CONSTANTS:
            raise ConfigError(f"constant {self.constant!r} must be one of {', '.join(CONSTANTS)}")
        if self.labeled_share is not None and not 0 < self.labeled_share < 1:
            raise ConfigError(f"labeled_share must lie between 0 and 1, not at {self.labeled_share}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shapes:
    """The distributions of scores and of people's ratings of the same outputs, mapped to [0, 1].

    Attributes:
        scores: Those of the judge.
        humans: Those of people.
        distance: Wasserstein distance of the two, in [0, 1].
    """

    scores: Distribution
    humans: Distribution
    distance: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class RaterAgreement:
    """How far a run's answers to yes/no questions agree with another rater's.

    Attributes:
        kind: What the rater is.
        rater: Its name: that of the other run, or "people" or "repeats".
        figures: All of them.
        right: Which of the two runs is right more often, by people's answers; None where there are none.
    """

    kind: RaterKind
    rater: str
    figures: Agreement
    right: PairedAccuracy | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaRow:
    """One run in one dimension, or on the average over its dimensions.

    Attributes:
        run: Name of the run.
        dimension: Name of the dimension, or "average".
        score: Which score of the run.
        n_examples: Outputs of the run; this and the next two are sums over the dimensions on the average.
        n_without_human: Of these, the ones that people did not rate.
        n_without_score: Of the rated ones, those without a score.
        correlations: With people; `n` counts the outputs that have both values.
        shapes: None on the average.
        systems: None on the average, and where no output names its system.
        human_mean: None on the average, and where no share of labels was asked for.
        agreement: By rater; empty where there are no yes/no answers to compare.
    """

    run: str
    dimension: str
    score: ScoreKind
    n_examples: int
    n_without_human: int
    n_without_score: int
    correlations: Correlations
    shapes: Shapes | None
    systems: SystemOrder | None
    human_mean: HumanMean | None
    agreement: tuple[RaterAgreement, ...]


def dimension_row(series: Series, options: MetaOptions, *, agreement: Sequence[RaterAgreement]) -> MetaRow:
    """The row of one dimension.

    Raises:
        ConfigError: Labels of too few groups for the share that the options name.
    """
    systems, share = system_order(series.mapped(), seed=options.seed), options.labeled_share
    return MetaRow(
        run=series.run,
        dimension=series.dimension,
        score=series.kind,
        n_examples=len(series.outputs),
        n_without_human=series.n_without_human,
        n_without_score=series.n_without_score,
        correlations=correlations(
            series.pairs,
            level=options.level,
            constant_is_zero=options.constant == "zero",
            seed=options.seed,
        ),
        shapes=_shapes(series, options.seed),
        systems=systems if systems.means else None,
        human_mean=human_mean(series, share=share, seed=options.seed) if share is not None and series.pairs else None,
        agreement=tuple(agreement),
    )


def average_row(series: Sequence[Series], options: MetaOptions, *, agreement: Sequence[RaterAgreement]) -> MetaRow:
    """The row over the dimensions of one run and kind of score, two or more."""
    return MetaRow(
        run=series[0].run,
        dimension=AVERAGE,
        score=series[0].kind,
        n_examples=sum(len(item.outputs) for item in series),
        n_without_human=sum(item.n_without_human for item in series),
        n_without_score=sum(item.n_without_score for item in series),
        correlations=correlation_average(
            {item.dimension: item.pairs for item in series},
            level=options.level,
            constant_is_zero=options.constant == "zero",
            seed=options.seed,
        ),
        shapes=None,
        systems=None,
        human_mean=None,
        agreement=tuple(agreement),
    )


def is_defined(row: MetaRow) -> bool:
    """Whether a row has any coefficient."""
    found = [getattr(row.correlations, name) for name in COEFFICIENTS]
    found += [estimate for item in row.agreement for estimate in (item.figures.raw, item.figures.kappa)]
    return any(estimate.value is not None for estimate in found)


def row_json(row: MetaRow, differences: Sequence[Mapping[str, Json]], options: MetaOptions) -> dict[str, Json]:
    """All of a row as JSON values; undefined is null, with the reason as its method."""
    shapes: dict[str, Json] = {"distribution": None, "human_distribution": None, "wasserstein": None}
    if row.shapes is not None:
        shapes = {
            "distribution": asdict(row.shapes.scores),
            "human_distribution": asdict(row.shapes.humans),
            "wasserstein": asdict(row.shapes.distance),
        }
    return {
        "run": row.run,
        "dimension": row.dimension,
        **asdict(row.correlations),
        "score": row.score,
        "constant": options.constant,
        "n_examples": row.n_examples,
        "n_without_human": row.n_without_human,
        "n_without_score": row.n_without_score,
        **shapes,
        "systems": None if row.systems is None else asdict(row.systems),
        "human_mean": None if row.human_mean is None else asdict(row.human_mean),
        "agreement": [
            {
                "kind": item.kind,
                "rater": item.rater,
                **asdict(item.figures),
                "right": None if item.right is None else asdict(item.right),
            }
            for item in row.agreement
        ],
        "differences": list(differences),
    }


def _shapes(series: Series, seed: int) -> Shapes:
    humans, scores = series.human_units(), series.score_units()
    distance = "; ".join(problem for problem in (humans, scores) if isinstance(problem, str))
    return Shapes(
        scores=_distribution(series, scores, seed),
        humans=_distribution(series, humans, seed),
        distance=_undefined(distance)
        if isinstance(humans, str) or isinstance(scores, str)
        else wasserstein(scores, humans),
    )


def _distribution(series: Series, values: list[float] | str, seed: int) -> Distribution:
    if isinstance(values, str):
        nothing = _undefined(values)
        return Distribution(n=0, mean=nothing, sd=nothing, ceiling_share=nothing)
    return distribution([(pair.group, value) for pair, value in zip(series.pairs, values, strict=True)], seed=seed)


def _undefined(why: str) -> Estimate:
    return Estimate(value=None, low=None, high=None, n=0, method=f"undefined: {why}")
