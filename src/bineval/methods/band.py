"""The band of a cascade from two runs over the same data: chosen on one part of the pairs, reported on the other."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.manifest import differences
from bineval.judging.runs import Run
from bineval.methods.labeled import majority_answer, mean_probability, run_labels, verdicts_by_key
from bineval.scoring import does_not_apply
from bineval.stats.bands import Band, BandFigures, ReplayedPair, learn_band, replay
from bineval.stats.intervals import resampling_group
from bineval.stats.splits import groups_for_test
from bineval.types import Estimate, Verdict

Reference = Literal["labels", "strong judge"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BandOptions:
    """How a band is learned.

    Attributes:
        share: Most strong calls, as a share of the pairs the band is chosen on, in (0, 1].
        test_share: Share of the groups that is kept for the figures, in (0, 1).
        seed: Of the split and of the intervals.
    """

    share: float = 0.2
    test_share: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigError(f"share must lie above 0 and be at most 1, not {self.share}")
        if not 0 < self.test_share < 1:
            raise ConfigError(f"test_share must lie between 0 and 1, not at {self.test_share}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """US dollars for 1,000 verdicts; None when a price is unknown or every reply came from the reply cache."""

    cheap: float | None
    strong: float | None
    cascade: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BandReport:
    """A band, and what it does on pairs that it was not chosen on.

    Attributes:
        band: To be saved and used.
        reference: What counts as right: human labels, or else the strong judge's answers.
        cheap_run: Name of the cheap judge's run.
        cheap_judge: Name of the cheap judge.
        strong_run: Name of the strong judge's run.
        strong_judge: Name of the strong judge.
        share: Most strong calls that were asked for.
        n_choosing: Pairs that the band was chosen on.
        figures: On the held-out pairs.
        costs: Of 1,000 verdicts, at the held-out share of strong calls.
        notes: What a reader must know.
    """

    band: Band
    reference: Reference
    cheap_run: str
    cheap_judge: str
    strong_run: str
    strong_judge: str
    share: float
    n_choosing: int
    figures: BandFigures
    costs: Costs
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """All fields but the band as JSON values; undefined is null, with the reason as its method."""
        return {name: value for name, value in asdict(self).items() if name != "band"}


def band(
    cheap: Run, strong: Run, labels: str | Path | None = None, *, options: BandOptions | None = None
) -> BandReport:
    """Learns which probabilities of the cheap judge should go to the strong one, by replaying both runs.

    Without labels the strong judge's answers are taken for right: accuracy is then agreement with it. A cheap answer is
    that of most repeats, its probability their mean.

    Args:
        cheap: A run of a judge that gives probabilities.
        strong: A run over the same data and checklist.
        labels: File of labels; None for the examples' own human ratings where these are answers to a question, else
            for the strong judge's answers.
        options: Share of strong calls, split, seed.

    Raises:
        ConfigError: The runs do not fit together, the cheap one has no probabilities, or no band helps.
        DataError: The file is not what it should be.
    """
    options = options or BandOptions()
    _check(cheap, strong)
    pairs, reference, notes = _pairs(cheap, strong, labels)
    held_out = groups_for_test((pair.group for pair in pairs), share=options.test_share, seed=options.seed)
    choosing = [pair for pair in pairs if pair.group not in held_out]
    learned = learn_band(choosing, share=options.share)
    if learned is None:
        raise ConfigError(_no_band(choosing, options.share))
    figures = replay([pair for pair in pairs if pair.group in held_out], learned, seed=options.seed)
    costs = [_cost_of_1000(run) for run in (cheap, strong)]
    return BandReport(
        band=learned,
        reference=reference,
        cheap_run=cheap.name,
        cheap_judge=cheap.judge,
        strong_run=strong.name,
        strong_judge=strong.judge,
        share=options.share,
        n_choosing=len(choosing),
        figures=figures,
        costs=Costs(cheap=costs[0], strong=costs[1], cascade=_cascade_cost(costs[0], costs[1], figures.escalated)),
        notes=tuple(notes),
    )


def _check(cheap: Run, strong: Run) -> None:
    parts = ("data", "checklist")
    cheap_parts, strong_parts = ({part: run.manifest[part] for part in parts} for run in (cheap, strong))
    if lines := differences(cheap_parts, strong_parts):
        names = " and ".join(line.split(":")[0] for line in lines)
        raise ConfigError(f"runs {cheap.name} and {strong.name} cannot be replayed together: they differ in {names}")


def _pairs(cheap: Run, strong: Run, path: str | Path | None) -> tuple[list[ReplayedPair], Reference, list[str]]:
    """Each question that both judges were asked and whose true answer is known, and notes on those left out."""
    labels, notes = run_labels(cheap, path)
    groups = {example.id: resampling_group(example) for example in cheap.examples()}
    of_cheap, of_strong = verdicts_by_key(cheap), verdicts_by_key(strong)
    if all(verdict.probability is None for repeats in of_cheap.values() for verdict in repeats):
        raise ConfigError(f"run {cheap.name} has no probabilities for a band: judge with --kind logprob")
    asked = {key: repeats for key, repeats in of_cheap.items() if not does_not_apply(repeats)}
    keys = [key for key in labels or asked if key in asked]
    answers = {key: answer for key in keys if (answer := majority_answer(of_strong.get(key, []))) is not None}
    pairs = [
        _pair(groups[key.example_id], asked[key], strong=answer, true=labels.get(key, answer))
        for key, answer in answers.items()
    ]
    if not pairs:
        raise ConfigError(
            f"runs {cheap.name} and {strong.name} share no question that the strong judge answered"
            + (" and that has a label" if labels else "")
        )
    if not labels:
        notes.append("no human labels: the strong judge is taken for right, and accuracy is agreement with it")
    if n_left_out := len(keys) - len(pairs):
        notes.append(f"{n_left_out} left out: the strong judge has no answer")
    if n_unsure := sum(pair.cheap is None for pair in pairs):
        notes.append(f"{n_unsure} without an answer of the cheap judge: they always go to the strong one")
    return pairs, "labels" if labels else "strong judge", notes


def _pair(group: Hashable, of_cheap: Sequence[Verdict], *, strong: bool, true: bool) -> ReplayedPair:
    answer = majority_answer(of_cheap)
    probability = None if answer is None else mean_probability(verdict.probability for verdict in of_cheap)
    cheap = None if probability is None else answer == true
    return ReplayedPair(group=group, probability=probability, cheap=cheap, strong=strong == true)


def _no_band(choosing: Sequence[ReplayedPair], share: float) -> str:
    answered = [pair.cheap for pair in choosing if pair.cheap is not None]
    return (
        f"no band with at most {100 * share:g} % strong calls gets more right than the cheap judge alone, on "
        f"{len(choosing)} pairs: it is right on {sum(answered)} of {len(answered)}, the strong judge on "
        f"{sum(pair.strong for pair in choosing)} of {len(choosing)}; raise --share, or use one judge alone"
    )


def _cost_of_1000(run: Run) -> float | None:
    """Of the verdicts that were paid for in this run."""
    costs = [row.verdict.usage.cost_usd for row in run.verdicts() if not row.verdict.cached]
    known = [cost for cost in costs if cost is not None]
    return 1000 * sum(known) / len(known) if known and len(known) == len(costs) else None


def _cascade_cost(cheap: float | None, strong: float | None, escalated: Estimate) -> float | None:
    """Every question is put to the cheap judge, and the escalated ones to the strong one too."""
    if cheap is None or strong is None or escalated.value is None:
        return None
    return cheap + escalated.value * strong
