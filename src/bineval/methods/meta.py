"""Meta-evaluation of runs against people: which scores are compared with which ratings, and what is said of them."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.runs import Run
from bineval.metaeval.differences import MetaDifference, line_differences
from bineval.metaeval.plot_data import PlotData, plot_data
from bineval.metaeval.rows import MetaOptions, MetaRow, average_row, dimension_row, is_defined, row_json
from bineval.metaeval.series import AVERAGE, ScoredOutput, ScoreKind, Series
from bineval.methods.human_labels import HumanLabels, human_labels
from bineval.methods.rater_agreement import Found, adjusted_together, agreements
from bineval.scoring import scales_of
from bineval.types import OVERALL, Example, Score


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaReport:
    """How far runs agree with people.

    Attributes:
        options: How they were compared.
        rows: One for each run, kind of score and dimension; "average" follows the dimensions of its run and kind.
        differences: Between the first series of scores and each other, by dimension.
        plots: What figures are drawn from.
        notes: What a reader must know.
        difference_notes: What must be known to read the differences.
    """

    options: MetaOptions
    rows: tuple[MetaRow, ...]
    differences: tuple[MetaDifference, ...]
    plots: PlotData
    notes: tuple[str, ...]
    difference_notes: tuple[str, ...]

    def to_json(self) -> list[dict[str, Json]]:
        """The rows as JSON values, each with its differences; undefined is null, with the reason as its method."""
        by_row: dict[tuple[str, ScoreKind, str], list[dict[str, Json]]] = defaultdict(list)
        for item in self.differences:
            by_row[item.run, item.score, item.dimension].append(item.to_json())
        return [row_json(row, by_row[row.run, row.score, row.dimension], self.options) for row in self.rows]


def meta(runs: Sequence[Run], labels: str | Path | None = None, *, options: MetaOptions | None = None) -> MetaReport:
    """Compares the scores of runs with people's ratings of the same outputs.

    Args:
        runs: One or more; the first is what the others are compared with.
        labels: File of ratings or of answers to questions; None for the examples' own `human` ratings.
        options: Level, treatment of constant groups, share of labels, seed.

    Raises:
        ConfigError: There are no ratings, the level does not fit the data, or nothing is defined.
        DataError: The file is not what it should be.
        MissingDependencyError: scipy or krippendorff is not installed.
    """
    options = options or MetaOptions()
    if len({run.name for run in runs}) < len(runs):
        raise ConfigError("a run is named twice: compare different runs")
    judged = [_Judged.of(run, people) for run, people in zip(runs, human_labels(runs, labels), strict=True)]
    notes = [note for item in judged for note in item.notes()]
    if not any(item.dimensions for item in judged):
        raise ConfigError("; ".join(notes) + ": put ratings into the data (human), or give --labels FILE")
    for item in judged:
        item.check_level(options)
    agreeing = adjusted_together(
        [agreements(item.run, item.people.answers, first=runs[0], seed=options.seed) for item in judged]
    )
    rows = [row for item, found in zip(judged, agreeing, strict=True) for row in _rows(item, found, options)]
    if not any(is_defined(row) for row in rows):
        raise ConfigError(_why_undefined(rows, options))
    lines = [line for item in judged for line in item.lines()]
    lines.sort(key=lambda line: (line[0].run, line[0].kind) != (runs[0].name, options.first_score))
    return MetaReport(
        options=options,
        rows=tuple(rows),
        differences=tuple(line_differences(lines, options)),
        plots=plot_data((series for line in lines for series in line), rows),
        notes=tuple(notes),
        difference_notes=tuple(_data_notes(runs)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """A run with its scores and what people say of its outputs.

    Attributes:
        run: The run.
        people: What people say.
        scored: Each output with its scores.
        dimensions: Those that have a rating or an answer of people, in the order of the checklist, "overall" last.
    """

    run: Run
    people: HumanLabels
    scored: Sequence[tuple[Example, Mapping[str, Score]]]
    dimensions: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, people: HumanLabels) -> Self:
        rated = {name for ratings in people.ratings.values() for name in ratings}
        answered = {key.question_id for key in people.answers}
        rated |= {question.dimension for question in run.checklist.questions if question.id in answered}
        names = tuple(name for name in scales_of(run.checklist) if name in rated)
        if AVERAGE in names:
            raise ConfigError(
                f"run {run.name}: a dimension is named {AVERAGE!r}, as the row over all dimensions is: rename it"
            )
        return cls(run=run, people=people, scored=tuple(run.scores()), dimensions=names)

    def lines(self) -> list[list[Series]]:
        """The series of each kind of score that the run has: a series a dimension."""
        hard = [self._series(name, "hard") for name in self.dimensions]
        soft = [self._series(name, "soft") for name in self.dimensions]
        soft = [series for series in soft if any(item.value is not None for item in series.outputs)]
        return [line for line in (hard, soft) if line]

    def notes(self) -> list[str]:
        """Which dimensions cannot be compared."""
        own, name = self.run.checklist.dimensions, self.run.name
        rated = {dimension for ratings in self.people.ratings.values() for dimension in ratings}
        unrated = [dimension for dimension in own if dimension not in self.dimensions]
        unscored = sorted(rated - own.keys() - {OVERALL})
        notes = []
        if unrated:
            notes.append(f"run {name}: no ratings of people for {', '.join(unrated)}")
        if unscored:
            notes.append(f"run {name}: people rated {', '.join(unscored)}, and the run has no score for it")
        return notes + self._system_notes()

    def _system_notes(self) -> list[str]:
        """What keeps the means of systems from being comparable."""
        groups: dict[str, set[Hashable]] = defaultdict(set)
        for example, _ in self.scored:
            if example.system is not None:
                groups[example.system].add(example.group)
        if len(groups) < 2:
            return []
        notes, name = [], self.run.name
        if n_nameless := sum(example.system is None for example, _ in self.scored):
            notes.append(
                f"run {name}: {n_nameless} of {len(self.scored)} outputs name no system, and are left out where "
                "systems are compared"
            )
        sizes = sorted(map(len, groups.values()))
        if any(covered != set().union(*groups.values()) for covered in groups.values()):
            notes.append(
                f"run {name}: the systems have outputs for different groups, {sizes[0]} to {sizes[-1]} of "
                f"{len(set().union(*groups.values()))}: their means are not over the same inputs"
            )
        return notes

    def check_level(self, options: MetaOptions) -> None:
        """Refuses a level that the data cannot have."""
        field = {"pooled": None, "group": "group", "system": "system"}[options.level]
        if field is not None and all(getattr(example, field) is None for example, _ in self.scored):
            raise ConfigError(
                f"level {options.level} needs {field!r} in the data, and no example of run {self.run.name} has it"
            )

    def _series(self, dimension: str, kind: ScoreKind) -> Series:
        outputs = (
            ScoredOutput(
                example=example,
                human=self.people.ratings.get(example.id, {}).get(dimension),
                value=scores[dimension].value if kind == "hard" else scores[dimension].soft,
            )
            for example, scores in self.scored
        )
        return Series(
            run=self.run.name,
            dimension=dimension,
            kind=kind,
            scale=scales_of(self.run.checklist)[dimension],
            outputs=tuple(outputs),
        )


def _rows(judged: _Judged, found: Found, options: MetaOptions) -> Iterator[MetaRow]:
    for line in judged.lines():
        # Answers have no soft form: their agreement stands once, beside the hard score.
        agreement: Found = found if line[0].kind == "hard" else {}
        for series in line:
            yield dimension_row(series, options, agreement=agreement.get(series.dimension, ()))
        averaged = [series for series in line if series.dimension != OVERALL]
        if len(averaged) > 1:
            yield average_row(averaged, options, agreement=agreement.get(AVERAGE, ()))


def _why_undefined(rows: Sequence[MetaRow], options: MetaOptions) -> str:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.correlations.pearson.method, []).append(row.dimension)
    told = "; ".join(f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in reasons.items())
    return f"no coefficient is defined at level {options.level} ({told})"


def _data_notes(runs: Sequence[Run]) -> list[str]:
    """A note for each run whose data differ from those of the first."""
    return [
        f"runs {runs[0].name} and {run.name} have different data: their difference is over the examples of both"
        for run in runs[1:]
        if run.manifest["data"] != runs[0].manifest["data"]
    ]
