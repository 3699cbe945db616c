"""Tries a call again when its error says that another try can help: bounded, spaced out, honoring Retry-After."""

import random
import time
from collections.abc import Callable, Sequence

import tenacity

from bineval.errors import ModelBusyError
from bineval.models.base import Model, Wrapper
from bineval.types import Reply, Request

ATTEMPTS = 6
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_LONGEST_ASKED_WAIT_S = 300.0


class Retrying(Wrapper):
    """Repeats calls that end in `ModelBusyError`, at most `attempts` in all.

    Args:
        inner: The model.
        attempts: Most calls for one request.
        notice: Told each wait, in words for a person.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        inner: Model,
        *,
        attempts: int = ATTEMPTS,
        notice: Callable[[str], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(inner)
        self._notice = notice
        # Jitter only spreads waits; it cannot change a result, so it needs no seed.
        self._random = random.Random()
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(ModelBusyError),
            stop=tenacity.stop_after_attempt(attempts),
            wait=self._wait_s,
            before_sleep=self._tell,
            sleep=sleep,
            reraise=True,
        )

    def complete(self, request: Request) -> Reply:
        """Completes `request`, trying again as long as that can help."""
        return self._retrying.copy()(self.inner.complete, request)

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Completes `requests` together, trying all again as long as that can help."""
        return self._retrying.copy()(self.inner.complete_many, requests)

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.retry_after_s or 0.0 if isinstance(error, ModelBusyError) else 0.0
        longest_s = min(_FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1), _LONGEST_WAIT_S)
        # What a server asks for is the least: one that says "at once" each time would use up the tries in no time.
        return max(min(asked_s, _LONGEST_ASKED_WAIT_S), longest_s * self._random.uniform(0.5, 1.0))

    def _tell(self, state: tenacity.RetryCallState) -> None:
        if self._notice is not None and state.outcome is not None and state.next_action is not None:
            self._notice(f"{state.outcome.exception()}; trying again in {state.next_action.sleep:.1f} s")
