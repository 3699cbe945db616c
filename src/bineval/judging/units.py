"""What a judge is asked about one example: each question of a checklist, of the whole output or of each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bineval.judging.sentences import SentenceSplitter
from bineval.types import Checklist, Example, Question


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question as it is put to a judge.

    Attributes:
        place: Place of the question in the checklist.
        original: The question as it stands there.
        unit: Index of the sentence that it is asked of; None for the whole output.
        question: What the judge gets: with its threshold and its sentence, and an id that no other question put to the
            judge about this example has.
    """

    place: int
    original: Question
    unit: int | None
    question: Question


class Units:
    """Expands the questions of a checklist for one example after the other.

    Raises:
        ConfigError: A question is asked of each sentence, and the checklist's language cannot be split.
        MissingDependencyError: A question is asked of each sentence, and the package for it is not installed.
    """

    def __init__(self, checklist: Checklist) -> None:
        self._whole = [
            Asked(
                place=place,
                original=question,
                unit=None,
                question=replace(question, threshold=checklist.threshold_of(question)),
            )
            for place, question in enumerate(checklist.questions)
        ]
        self._n_per_sentence = sum(question.per == "sentence" for question in checklist.questions)
        self._splitter = SentenceSplitter(checklist.language) if self._n_per_sentence else None

    @property
    def splitter(self) -> str | None:
        """Name and version of what splits the sentences; None when no question needs it."""
        return self._splitter.version if self._splitter else None

    def of(self, example: Example) -> list[Asked]:
        """The questions about `example`, in the order of the checklist, sentence by sentence."""
        if self._splitter is None:
            return self._whole
        sentences = self._splitter.split(example.output)
        taken = {item.original.id for item in self._whole}
        asked: list[Asked] = []
        for item in self._whole:
            if item.original.per == "output":
                asked.append(item)
                continue
            for unit, sentence in enumerate(sentences):
                made = _free_id(f"{item.original.id}/{unit + 1}", taken)
                asked.append(replace(item, unit=unit, question=replace(item.question, id=made, sentence=sentence)))
        return asked

    def count(self, examples: Sequence[Example]) -> int:
        """How many questions there are about all `examples`."""
        n = len(examples) * (len(self._whole) - self._n_per_sentence)
        if self._splitter is not None:
            n += self._n_per_sentence * sum(len(self._splitter.split(example.output)) for example in examples)
        return n


def _free_id(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "/"
    taken.add(wanted)
    return wanted
