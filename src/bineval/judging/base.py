"""What a judge is: it answers questions about an example, and says what can change its answers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from bineval.hashing import Json
from bineval.models.base import Model
from bineval.types import Example, Question, Request, Verdict


class Judge(Protocol):
    """Anything that answers questions; used by many threads at once."""

    @property
    def name(self) -> str:
        """Name written into every verdict."""
        ...

    @property
    def max_concurrency(self) -> int | None:
        """Most `ask` calls that make sense at once; None for no limit of its own."""
        ...

    @property
    def gives_probability(self) -> bool:
        """Whether its answers come with P(yes)."""
        ...

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that can change an answer: model, mode, prompts, parameters. A run resumes only when they are equal."""
        ...

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Splits the questions of a checklist into the groups that one `ask` takes together."""
        ...

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers one batch; the verdicts have the order and number of the questions.

        A question with a `sentence` is about that sentence of the output. Where there is a P(yes), the answer is yes
        above the question's `threshold`. A bad reply never raises: it becomes an unanswered verdict.

        Raises:
            ModelAuthError, ModelNotFoundError: No further call can succeed.
            ModelBusyError: The model could not be reached, after all retries.
            BudgetExceeded: A cap is reached; replies paid so far are in the reply cache.
        """
        ...

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """The requests that `ask` would send if every first reply can be used, each with its model; for estimates."""
        ...

    def parameters_changed(self) -> Mapping[str, str]:
        """Parameters that the server refused, and what was done; for the manifest."""
        ...


class ModelJudge:
    """Base of the judges that ask one model; each says what it asks and how it reads the replies.

    Args:
        model: The model.
        task: What the outputs were written for; None leaves it out.
    """

    def __init__(self, model: Model, *, task: str | None) -> None:
        self.model, self.task = model, task

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def max_concurrency(self) -> int | None:
        """Limit of the model."""
        return self.model.max_concurrency

    def parameters_changed(self) -> Mapping[str, str]:
        """What the model's adapter dropped or replaced."""
        return self.model.dropped_parameters()


class ModelFreeJudge:
    """Base of the judges that ask no model: each says what it computes or looks up."""

    gives_probability = False
    # Bound to the processor; what runs a model of its own uses all cores by itself.
    max_concurrency: int | None = 1

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """All questions together."""
        return [list(questions)] if questions else []

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """None."""
        return []

    def parameters_changed(self) -> Mapping[str, str]:
        """None: no server is asked."""
        return {}


class JudgeWrapper:
    """Base of the judges around another judge: passes everything on but `ask`, which each does in its own way."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def name(self) -> str:
        """Name of the judge inside."""
        return self.judge.name

    @property
    def max_concurrency(self) -> int | None:
        """Limit of the judge inside."""
        return self.judge.max_concurrency

    @property
    def gives_probability(self) -> bool:
        """Whether the judge inside does."""
        return self.judge.gives_probability

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Those of the judge inside."""
        return self.judge.batches(questions)

    def parameters_changed(self) -> Mapping[str, str]:
        """Those of the judge inside."""
        return self.judge.parameters_changed()

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """Those of the judge inside."""
        return self.judge.first_requests(example, questions, repeat=repeat)
