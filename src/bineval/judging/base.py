"""What a judge is: it answers questions about an example, and says what can change its answers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from bineval.hashing import Json
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
    def settings(self) -> Mapping[str, Json]:
        """All that can change an answer: model, mode, prompts, parameters. A run resumes only when they are equal."""
        ...

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Splits the questions of a checklist into the groups that one `ask` takes together."""
        ...

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers one batch; the verdicts have the order and number of the questions.

        A bad reply never raises: it becomes an unanswered verdict.

        Raises:
            ModelAuthError, ModelNotFoundError: No further call can succeed.
            ModelBusyError: The model could not be reached, after all retries.
            BudgetExceeded: A cap is reached; replies paid so far are in the reply cache.
        """
        ...

    def first_request(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> Request:
        """The request that `ask` would send first; for estimates."""
        ...

    def parameters_changed(self) -> Mapping[str, str]:
        """Parameters that the server refused, and what was done; for the manifest."""
        ...
