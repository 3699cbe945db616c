"""Yes/no questions, in dimensions, in a checklist."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from bineval.errors import ConfigError, UnknownNameError
from bineval.hashing import Json, tagged_hash

Unit = Literal["output", "sentence"]
OverSentences = Literal["min", "mean"]
Asks = Literal["answer", "rating"]

USUAL_THRESHOLD = 0.5
"""P(yes) above which the answer is yes, where nobody says otherwise."""

USUAL_LANGUAGE = "en"
"""ISO 639 code of the outputs' language, where nobody says otherwise."""

OVERALL = "overall"
"""Name of the score over all questions of a checklist; no dimension may have it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A test of an output whose answer is yes (satisfied) or no.

    The methods that bineval is compared with ask for a rating instead: one question a dimension, whose verdicts have a
    number in place of an answer.

    Attributes:
        id: Unique within its checklist.
        text: The question, ending in a question mark; for a rating, what is rated and how.
        dimension: Name of the dimension it belongs to.
        weight: Share in weighted means, relative to the other questions; positive.
        violation: A short example of an output for which the answer is no.
        requirement: The requirement of the task that the question checks.
        may_not_apply: Whether "not applicable" is an allowed answer.
        per: "sentence" asks it of each sentence of the output, "output" of the whole.
        over_sentences: What the question's value is, of the values of its sentences.
        threshold: The answer is yes above this P(yes), in (0, 1); None leaves it to the checklist.
        source: Where the question comes from ("generated", "hand", …).
        asks: "answer" for yes or no, "rating" for a number.
        sentence: The sentence it is asked of; set only when it is put to a judge, never in a checklist.
    """

    id: str
    text: str
    dimension: str
    weight: float = 1.0
    violation: str | None = None
    requirement: str | None = None
    may_not_apply: bool = False
    per: Unit = "output"
    over_sentences: OverSentences = "min"
    threshold: float | None = None
    source: str | None = None
    asks: Asks = "answer"
    sentence: str | None = None


Scale = tuple[float, float]
"""`(a, b)`: the score 0 maps to a, the score 1 to b."""


def check_scale(scale: Scale | None, *, of: str = "") -> None:
    """Refuses a scale that is no interval; `of` is what it belongs to.

    Raises:
        ConfigError: Its ends are not two finite numbers, the lower one first.
    """
    if scale is not None and not -math.inf < scale[0] < scale[1] < math.inf:
        place = f" of {of!r}" if of else ""
        raise ConfigError(
            f"the scale{place} must be two finite numbers, the lower one first, not {scale[0]}, {scale[1]}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Dimension:
    """One side of quality.

    Attributes:
        scale: Interval that scores of this dimension are mapped to; None for no scaled value.
        description: What the dimension means, in a sentence.

    Raises:
        ConfigError: The scale is no interval.
    """

    scale: Scale | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checklist:
    """A set of questions by dimension.

    Attributes:
        name: Short name, used in run names.
        questions: In the order of the file; ids are unique.
        dimensions: By name, in the order of the file; every question's dimension is among them, and none is "overall".
        task: The task prompt that the questions come from.
        scale: Interval that the overall score is mapped to; None for no scaled value.
        threshold: P(yes) above which an answer is yes, in (0, 1), for questions without a threshold of their own.
        language: ISO 639 code of the outputs' language; only the splitting into sentences looks at it.
        provenance: How the checklist was made (model, prompt hashes, requirements), as the generator wrote it.

    Raises:
        ConfigError: Ids, dimensions, weights or thresholds are not what is said here.
    """

    name: str
    questions: tuple[Question, ...]
    dimensions: Mapping[str, Dimension]
    task: str | None = None
    scale: Scale | None = None
    threshold: float = USUAL_THRESHOLD
    language: str = USUAL_LANGUAGE
    provenance: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_scale(self.scale, of=self.name)
        if OVERALL in self.dimensions:
            raise ConfigError(f"checklist {self.name!r}: no dimension may be named {OVERALL!r}")
        seen: set[str] = set()
        for question in self.questions:
            if question.id in seen:
                raise ConfigError(f"checklist {self.name!r}: two questions have the id {question.id!r}")
            seen.add(question.id)
            if question.dimension not in self.dimensions:
                place = f"checklist {self.name!r}, question {question.id!r}"
                raise UnknownNameError("dimension", question.dimension, self.dimensions, where=place)
            if not 0 < question.weight < math.inf:
                raise ConfigError(
                    f"checklist {self.name!r}, question {question.id!r}: the weight must be positive and finite, "
                    f"not {question.weight}"
                )
            if not 0 < self.threshold_of(question) < 1:
                raise ConfigError(
                    f"checklist {self.name!r}, question {question.id!r}: the threshold must lie between 0 and 1, "
                    f"not at {self.threshold_of(question)}"
                )

    def threshold_of(self, question: Question) -> float:
        """P(yes) above which the answer to `question` is yes."""
        return self.threshold if question.threshold is None else question.threshold

    def by_dimension(self) -> dict[str, list[Question]]:
        """Questions of each dimension, in order; a dimension without questions has an empty list."""
        groups: dict[str, list[Question]] = {name: [] for name in self.dimensions}
        for question in self.questions:
            groups[question.dimension].append(question)
        return groups

    def fingerprint(self) -> str:
        """Hash of all that can change a verdict or a score; name and provenance cannot."""
        return tagged_hash("checklist/1", self.to_json())

    def to_json(self) -> dict[str, Json]:
        """Task, scales and questions as JSON values, without name and provenance.

        What came later to checklists stands there only where it is used: older checklists keep their fingerprints.
        """
        return {
            "task": self.task,
            "scale": _scale_json(self.scale),
            **({"threshold": self.threshold} if self.threshold != USUAL_THRESHOLD else {}),
            **({"language": self.language} if self.language != USUAL_LANGUAGE else {}),
            "dimensions": {
                name: {"scale": _scale_json(dimension.scale), "description": dimension.description}
                for name, dimension in self.dimensions.items()
            },
            "questions": [
                {
                    "id": q.id,
                    "text": q.text,
                    "dimension": q.dimension,
                    "weight": q.weight,
                    "violation": q.violation,
                    "requirement": q.requirement,
                    "may_not_apply": q.may_not_apply,
                    **({"per": q.per, "over_sentences": q.over_sentences} if q.per != "output" else {}),
                    **({"threshold": q.threshold} if q.threshold is not None else {}),
                    "source": q.source,
                    **({"asks": q.asks} if q.asks != "answer" else {}),
                }
                for q in self.questions
            ],
        }


def _scale_json(scale: Scale | None) -> list[Json] | None:
    """The ends of a scale, whole ones without a fraction: 1 and 1.0 are the same scale."""
    return None if scale is None else [int(end) if end == int(end) else end for end in scale]


def checklist_from_json(name: str, value: Mapping[str, Json], *, provenance: Mapping[str, Json]) -> Checklist:
    """Rebuilds a checklist from `Checklist.to_json`."""
    data = cast(Mapping[str, Any], value)

    def scale(pair: Sequence[float] | None) -> Scale | None:
        return None if pair is None else (pair[0], pair[1])

    return Checklist(
        name=name,
        task=data["task"],
        scale=scale(data["scale"]),
        threshold=data.get("threshold", USUAL_THRESHOLD),
        language=data.get("language", USUAL_LANGUAGE),
        dimensions={
            key: Dimension(scale=scale(item["scale"]), description=item["description"])
            for key, item in data["dimensions"].items()
        },
        questions=tuple(Question(**item) for item in data["questions"]),
        provenance=provenance,
    )
