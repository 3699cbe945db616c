"""Does one thing from many threads at once, and does not wait for ever when some of them are stuck."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

PATIENCE_S = 20.0

T = TypeVar("T")


class Together(Generic[T]):
    """Calls `act(0)`, …, `act(n - 1)` on threads that begin with the object; one thread for each unless told."""

    def __init__(self, act: Callable[[int], T], n: int, *, n_threads: int | None = None) -> None:
        self._act, self._numbers, self._lock = act, iter(range(n)), threading.Lock()
        self._outcomes: dict[int, T | Exception] = {}
        # As daemons they end with the process: a deadlock fails its test, not the whole suite.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(n_threads or n)]
        for thread in self._threads:
            thread.start()

    def outcomes(self) -> list[T | Exception]:
        """Waits for all, and returns what each call returned or raised, in order."""
        deadline = time.monotonic() + PATIENCE_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        n_stuck = sum(thread.is_alive() for thread in self._threads)
        assert not n_stuck, f"{n_stuck} of {len(self._threads)} threads are stuck"
        return [self._outcomes[number] for number in sorted(self._outcomes)]

    def _work(self) -> None:
        while True:
            with self._lock:
                number = next(self._numbers, None)
            if number is None:
                return
            try:
                self._outcomes[number] = self._act(number)
            except Exception as error:  # noqa: BLE001 - it is the outcome
                self._outcomes[number] = error
