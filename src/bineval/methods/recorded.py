"""Scores that another tool made, as a run like any other: one question a dimension, answered by a rating each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bineval.environment import default_store
from bineval.errors import ConfigError, UnknownNameError
from bineval.hashing import Json, tagged_hash
from bineval.io.examples import examples_from, read_examples
from bineval.io.score_rows import ScoreKey, ScoreRules, Scores, read_scores, scores_from
from bineval.judging.base import Judge, ModelFreeJudge
from bineval.judging.job import Job, RunOptions
from bineval.judging.plans import Wrap
from bineval.judging.runs import Run
from bineval.methods.evaluate import Data
from bineval.models.base import Model
from bineval.store.database import Store
from bineval.types import Checklist, Dimension, Example, Question, Scale, Verdict, check_scale

JUDGE_NAME = "imported"

_NO_VALUE = "the file has no value"


def import_scores(
    data: Data,
    scores: str | Path | Iterable[Mapping[str, object]],
    *,
    name: str,
    store: str | Path | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> Run:
    """Makes a run of scores that are there already, so that it can be shown, exported, compared and meta-evaluated.

    An example without a score, or with an empty one, has a verdict without an answer. The same command resumes the run;
    other data or scores under the same name are refused.

    Args:
        data: A file (JSONL, JSON, CSV, Parquet), or examples, or rows such as `{"input": …, "output": …}`.
        scores: A file, or rows, of `example_id, dimension, value` and `repeat` where an example has several samples.
        name: Name of the run.
        store: SQLite file or database URL; None for `bineval.db` in the working folder.
        scales: `(a, b)` by dimension: its scores are mapped to [0, 1] and shown on this scale. Those of a dimension
            without a scale stay as they are.

    Raises:
        DataError: The data or the scores are not what they should be.
        ConfigError: A scale is of no dimension, or the run differs from the one of this name.
    """
    examples = read_examples(data) if isinstance(data, str | Path) else examples_from(data)
    rules = score_rules(examples, scales)
    found = read_scores(scores, rules) if isinstance(scores, str | Path) else scores_from(scores, rules)
    job = recorded_job(str(data) if isinstance(data, str | Path) else "data", examples, found, scales)
    database = Store(default_store() if store is None else store)
    try:
        return Run(job.execute(database, name))
    except BaseException:
        database.close()
        raise


def score_rules(examples: Iterable[Example], scales: Mapping[str, Scale] | None) -> ScoreRules:
    """What rows of scores for `examples` may hold.

    Raises:
        ConfigError: A scale is no interval.
    """
    for name, scale in (scales or {}).items():
        check_scale(scale, of=name)
    return ScoreRules(example_ids=[example.id for example in examples], scales=scales)


def recorded_job(
    source: str, examples: Sequence[Example], scores: Scores, scales: Mapping[str, Scale] | None = None
) -> Job:
    """A run of scores that is ready to be made; `source` is the name of the data.

    Raises:
        ConfigError: A scale is of no dimension of the scores, or their mean would mix units.
    """
    dimensions = list(dict.fromkeys(key.dimension for key in scores))
    # 1 and 1.0 are the same end of a scale.
    scales = {name: (float(low), float(high)) for name, (low, high) in (scales or {}).items()}
    for named in scales:
        if named not in dimensions:
            raise UnknownNameError("dimension", named, dimensions, where="the scores")
    _check_units(scores, scales)
    checklist = Checklist(
        name=JUDGE_NAME,
        dimensions={name: Dimension(scale=scales.get(name)) for name in dimensions},
        questions=tuple(
            Question(id=name, dimension=name, text=f"What is the score for {name}?", asks="rating", source=JUDGE_NAME)
            for name in dimensions
        ),
    )
    return Job(
        source=source,
        examples=examples,
        checklist=checklist,
        plan=RecordedScores(scores=scores),
        options=RunOptions(repeats=1 + max(key.repeat for key in scores)),
    )


def _check_units(scores: Scores, scales: Mapping[str, Scale]) -> None:
    """Refuses scores in a unit of their own beside scores on a scale: "overall" is the mean of all of them."""
    if not scales:
        return
    for key, value in scores.items():
        if key.dimension not in scales and value is not None and not 0 <= value <= 1:
            raise ConfigError(
                f"{key.dimension} has scores such as {value:g} and no scale, and {next(iter(scales))} has one: their "
                "mean would mean nothing; give each dimension its --scale, or import them as runs of their own"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedScores:
    """A plan for a judge that gives back recorded scores; it has no model.

    Attributes:
        scores: By example, dimension and repeat; those of a dimension with a scale are on this scale.
    """

    scores: Mapping[ScoreKey, float | None]

    @property
    def name(self) -> str:
        """Name of every judge of this kind."""
        return JUDGE_NAME

    def models(self) -> tuple[Model, ...]:
        """None."""
        return ()

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge; there is nothing to wrap."""
        return RecordedJudge(self.scores, {name: item.scale for name, item in checklist.dimensions.items()})


class RecordedJudge(ModelFreeJudge):
    """A judge that looks its ratings up.

    Args:
        scores: By example, dimension and repeat.
        scales: By dimension; ratings of one with a scale are mapped to [0, 1].
    """

    def __init__(self, scores: Mapping[ScoreKey, float | None], scales: Mapping[str, Scale | None]) -> None:
        self._scores, self._scales = scores, scales

    @property
    def name(self) -> str:
        """Name of every judge of this kind."""
        return JUDGE_NAME

    @property
    def settings(self) -> Mapping[str, Json]:
        """The hash of the scores stands for all of them, whatever the order of their rows."""
        rows: list[Json] = [[*key, value] for key, value in sorted(self._scores.items(), key=lambda item: item[0])]
        return {"kind": JUDGE_NAME, "scores": tagged_hash("scores/1", rows)}

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Looks the ratings up; see `Judge.ask`."""
        return [self._verdict(ScoreKey(example.id, question.dimension, repeat)) for question in questions]

    def _verdict(self, key: ScoreKey) -> Verdict:
        value, scale = self._scores.get(key), self._scales[key.dimension]
        if value is None:
            return Verdict(answer=None, reason="unparsed", explanation=_NO_VALUE, judge=JUDGE_NAME)
        if scale is not None:
            low, high = scale
            value = (value - low) / (high - low)
        return Verdict(answer=None, rating=value, judge=JUDGE_NAME)
