"""Whose prompt a loop improves, and the judged outputs that come of each version of it."""

from dataclasses import dataclass
from typing import Literal, Protocol

from bineval.judging.runs import Run
from bineval.templates import Prompt

LessonPrompt = Literal["lessons", "writing_lessons"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """What the note-taker is told about the one that follows the rules.

    Attributes:
        lessons: Name of the prompt by which it draws lessons.
        whose_rules: What the rules are, in the middle of a sentence.
    """

    lessons: LessonPrompt
    whose_rules: str


JUDGE = Role(lessons="lessons", whose_rules="the rules by which a judge answers yes/no questions about texts")
WRITER = Role(lessons="writing_lessons", whose_rules="the instructions by which a model writes texts")


class Subject(Protocol):
    """A judge or a generator with a prompt whose rules may change."""

    @property
    def name(self) -> str:
        """Name of its model."""
        ...

    @property
    def role(self) -> Role:
        """What the note-taker is told about it."""
        ...

    @property
    def start(self) -> Prompt:
        """The prompt that it begins with, which has rules."""
        ...

    @property
    def n_examples(self) -> dict[str, int]:
        """Examples by split: "train", "dev", "test"."""
        ...

    def run(self, prompt: Prompt, split: str) -> Run:
        """The judged outputs of one split with a version of the prompt; the same one is made once.

        Raises:
            ModelError: A model cannot be used; what is finished is kept.
            BudgetExceeded: A cap was reached; what is finished is kept.
        """
        ...
