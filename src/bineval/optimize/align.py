"""Aligning a judge: with a better one on the same questions, or with people's ratings."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite

from bineval.errors import ConfigError
from bineval.generation.drafting import GenerateSettings
from bineval.hashing import Json, tagged_hash
from bineval.io.verdict_labels import VerdictKey
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgePlan, SingleJudge
from bineval.judging.runner import ProgressCallback
from bineval.methods.human_labels import Ratings
from bineval.models.base import Model
from bineval.optimize.cases import Answered, answers_of
from bineval.optimize.evaluator import Evaluator
from bineval.optimize.loop import Loop, LoopSettings
from bineval.optimize.objectives import AgreementWithSource, CorrelationWithPeople, Objective
from bineval.optimize.record import LoopRecord
from bineval.optimize.session import SPLITS, LoopSession
from bineval.optimize.target import TargetJudge, changeable_prompt
from bineval.scoring import from_scale, scales_of
from bineval.store.database import Store
from bineval.types import Checklist, Example


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """A judge that is to be aligned, and with what.

    Attributes:
        examples: What is judged; split by group into train, dev and test.
        checklist: The questions.
        target: The judge whose rules are improved.
        source: The better judge; None to align with people.
        ratings: Of people, by example and dimension; None to align with a source.
        writer: The note-taker; None for the source's model, or the target's own.
        n_train: Examples that lessons are drawn from, at least.
        n_dev: Examples that choices are made on, at least; the rest is test.
        gap: How far score and rating, both in [0, 1], lie apart in a case to learn from.
        settings: How to look for better rules.
        write: How the note-taker is asked.
        options: Repeats and call options of all judges.
    """

    examples: Sequence[Example]
    checklist: Checklist
    target: SingleJudge
    source: JudgePlan | None = None
    ratings: Ratings | None = None
    writer: Model | None = None
    n_train: int = 60
    n_dev: int = 60
    gap: float = 0.3
    settings: LoopSettings = field(default_factory=LoopSettings)
    write: GenerateSettings = field(default_factory=GenerateSettings)
    options: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        if (self.source is None) == (self.ratings is None):
            raise ConfigError("a judge is aligned either with a source or with people's ratings: give one of the two")
        if self.options.limit is not None:
            raise ConfigError("a loop has no limit: give fewer examples")
        if self.source is not None and self._settings(self.source) == self._settings(self.target):
            raise ConfigError(f"source and target are the same judge, {self.target.name}")
        if self.ratings is not None:
            _check_ratings(self.ratings, self.checklist)
        if not self.note_taker.capabilities.generates:
            raise ConfigError(f"{self.note_taker.name} writes no text: name a note-taker that does")

    @property
    def note_taker(self) -> Model:
        """The model that writes lessons and edits."""
        if self.writer is not None:
            return self.writer
        return self.target.model if self.source is None else self.source.models()[0]

    def _settings(self, plan: JudgePlan) -> dict[str, Json]:
        return dict(plan.build(lambda model: model, checklist=self.checklist).settings)

    def identity(self) -> dict[str, Json]:
        """What a resumed loop must share."""
        return {
            "data": tagged_hash("loop-data/1", [example.to_json() for example in self.examples]),
            "checklist": self.checklist.fingerprint(),
            "target": self._settings(self.target),
            "source": None if self.source is None else self._settings(self.source),
            "ratings": None if self.ratings is None else tagged_hash("ratings/1", _plain(self.ratings)),
            "prompt": changeable_prompt(self.target).hash,
            "parameters": {
                **asdict(self.settings),
                "n_train": self.n_train,
                "n_dev": self.n_dev,
                "gap": self.gap,
                "repeats": self.options.repeats,
            },
        }


def align(
    alignment: Alignment,
    store: Store,
    name: str,
    *,
    say: Callable[[str], None] = lambda _: None,
    on_progress: ProgressCallback | None = None,
) -> LoopRecord:
    """Improves the rules of a judge; under the same name it resumes, and pays for no call twice.

    Args:
        alignment: The judge, and with what it is aligned.
        store: Keeps prompts, lessons, runs and replies.
        name: Name of the loop; its runs stand under it.
        say: Told what comes next.
        on_progress: Told after every batch of verdicts.

    Raises:
        ConfigError: Something does not fit, or another loop has this name; nothing was paid for.
        ModelError: A model cannot be used; what is finished is kept.
        BudgetExceeded: A cap was reached; what is finished is kept.
    """
    with LoopSession(alignment, store, name, say=say, on_progress=on_progress) as session:
        if session.finished is not None:
            return session.finished
        loop = Loop(
            subject=TargetJudge(judge=alignment.target, evaluator=session.evaluator),
            objective=_objective(alignment, session.evaluator),
            drafter=session.drafter,
            settings=alignment.settings,
            keep=session.keep,
        )
        return loop.run()


def _objective(alignment: Alignment, evaluator: Evaluator) -> Objective:
    if alignment.ratings is not None:
        return CorrelationWithPeople(alignment.ratings, gap=alignment.gap)
    if alignment.source is None:  # refused when the alignment was made
        raise ConfigError("there is no source")
    right: dict[VerdictKey, Answered] = {}
    for split in SPLITS:
        right.update(answers_of(evaluator.run(alignment.source, split, "source")))
    return AgreementWithSource(alignment.source.name, right)


def _check_ratings(ratings: Ratings, checklist: Checklist) -> None:
    scales = scales_of(checklist)
    n_known = 0
    for example_id, by_dimension in ratings.items():
        for dimension, rating in by_dimension.items():
            if dimension not in checklist.dimensions:
                continue
            n_known += 1
            if not isfinite(rating) or from_scale(rating, scales[dimension]) is None:
                low, high = scales[dimension] or (0, 1)
                raise ConfigError(
                    f"the rating {rating:g} of {example_id!r} in {dimension} lies outside {low:g} to {high:g}: give "
                    "the dimension its scale in the checklist"
                )
    if not n_known:
        named = sorted({dimension for by_dimension in ratings.values() for dimension in by_dimension})
        raise ConfigError(
            f"people rated {', '.join(named) or 'nothing'}, and the dimensions of the checklist are "
            f"{', '.join(checklist.dimensions)}"
        )


def _plain(ratings: Ratings) -> Json:
    return {example: dict(by_dimension) for example, by_dimension in ratings.items()}
