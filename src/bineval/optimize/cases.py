"""Where a judge went wrong, as the note-taker reads it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bineval.io.verdict_labels import VerdictKey
from bineval.judging.fencing import fence
from bineval.judging.rendering import example_text, question_text
from bineval.judging.runs import Run
from bineval.methods.labeled import majority_answer
from bineval.types import Example, VerdictRow

# What one case may take of a small model's context, in characters.
_MOST_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One thing that went wrong.

    Attributes:
        example_id: The output.
        dimension: What it is about.
        question_id: The question; None for the score of a whole dimension.
        shown: The output with its material, fenced, as a judge sees it.
        told: What was asked about it, and what is wrong.
    """

    example_id: str
    dimension: str
    question_id: str | None
    shown: str
    told: str

    def text(self, number: int) -> str:
        """How it stands in a list of cases."""
        return f"Case {number}\n{self.shown}\n\n{self.told}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """A run's answer to one question about one output, that of most repeats.

    Attributes:
        yes: Whether it is yes; None where there is none.
        explanation: Of the first repeat that gave this answer.
        sentence: The sentence that it is about; None for the whole output.
    """

    yes: bool | None
    explanation: str | None
    sentence: str | None

    def words(self) -> str:
        """The answer with its explanation."""
        word = {True: "yes", False: "no", None: "nothing that could be read"}[self.yes]
        return f"{word}.\n{fence('EXPLANATION', self.explanation)}" if self.explanation else f"{word}."


def answers_of(run: Run) -> dict[VerdictKey, Answered]:
    """The answers of a run."""
    rows: dict[VerdictKey, list[VerdictRow]] = defaultdict(list)
    for row in run.verdicts():
        rows[VerdictKey(row.example_id, row.question_id, row.unit)].append(row)
    return {key: _answered(repeats) for key, repeats in rows.items()}


def disagreements(run: Run, right: Mapping[VerdictKey, Answered]) -> Iterator[Case]:
    """Returns a case for each answer of `run` that differs from the right one; unknown answers are none."""

    def told(key: VerdictKey, asked: str, own: Answered) -> str | None:
        other = right.get(key)
        if other is None or None in (own.yes, other.yes) or own.yes == other.yes:
            return None
        return judged_words(asked, said=own.words(), right=other.words())

    return _cases(run, told)


def failures(run: Run) -> Iterator[Case]:
    """Returns a case for each question that an output fails."""

    def told(_: VerdictKey, asked: str, own: Answered) -> str | None:
        return f"The demand: {asked}\nIs it met: {own.words()}" if own.yes is False else None

    return _cases(run, told)


def judged_words(asked: str, *, said: str, right: str) -> str:
    """What a judge was asked, what it said, and what is right."""
    return f"Asked: {asked}\nThe judge said: {said}\nRight is: {right}"


def _cases(run: Run, told: Callable[[VerdictKey, str, Answered], str | None]) -> Iterator[Case]:
    """Yields a case for each answer of which there is something to be told, given what was asked."""
    examples = {example.id: example for example in run.examples()}
    questions = {question.id: question for question in run.checklist.questions}
    for key, own in answers_of(run).items():
        question = replace(questions[key.question_id], sentence=own.sentence)
        if (words := told(key, question_text(question), own)) is not None:
            yield Case(
                example_id=key.example_id,
                dimension=question.dimension,
                question_id=key.question_id,
                shown=shown(examples[key.example_id]),
                told=words,
            )


def shown(example: Example) -> str:
    """The output and its material; long parts lose their middle."""
    parts = [part for part in (example.input, example.context, example.reference) if part]
    room = max(_MOST_CHARACTERS - len(example.output), _MOST_CHARACTERS // 4) // max(len(parts), 1)
    return example_text(
        replace(
            example,
            input=_shortened(example.input, room),
            context=_shortened(example.context, room),
            reference=_shortened(example.reference, room),
            output=_shortened(example.output, _MOST_CHARACTERS) or "",
        ),
        None,
    )


def _shortened(text: str | None, room: int) -> str | None:
    if text is None or len(text) <= room:
        return text
    half = room // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _answered(repeats: list[VerdictRow]) -> Answered:
    verdicts = [row.verdict for row in repeats]
    yes = majority_answer(verdicts)
    word = None if yes is None else "yes" if yes else "no"
    of_answer = (verdict.explanation for verdict in verdicts if word is not None and verdict.answer == word)
    return Answered(yes=yes, explanation=next(of_answer, None), sentence=repeats[0].sentence)
