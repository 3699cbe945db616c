"""Keeps calls within requests and tokens a minute, and adapts how many run at once to what the server takes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bineval.errors import ConfigError, ModelBusyError
from bineval.models.base import Model, Wrapper
from bineval.models.sizing import estimated_tokens
from bineval.types import Reply, Request

_TOO_MANY_REQUESTS = 429
_BURST_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a provider allows.

    Attributes:
        concurrency: Most calls at once.
        requests_per_minute: None for no limit.
        tokens_per_minute: Input and output tokens; None for no limit.
    """

    concurrency: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        for name in ("concurrency", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"{name} must be greater than 0, not {value}")


class Limited(Wrapper):
    """Holds calls back until rates and concurrency allow them.

    Concurrency starts at the limit, is halved when the server answers 429, and grows again by one for every full
    round of successes.
    """

    def __init__(
        self,
        inner: Model,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(inner)
        self._gate = _Gate(limits.concurrency)
        self._requests = _Bucket(limits.requests_per_minute, clock, sleep)
        self._tokens = _Bucket(limits.tokens_per_minute, clock, sleep)
        self._counts_tokens = limits.tokens_per_minute is not None

    @property
    def concurrency(self) -> float:
        """How many calls may run at once now."""
        return self._gate.limit

    def complete(self, request: Request) -> Reply:
        """Completes `request` when its turn has come."""
        round_ = self._gate.enter()
        reserved = float(estimated_tokens(request) + request.max_tokens) if self._counts_tokens else 0.0
        try:
            self._requests.take(1.0)
            self._tokens.take(reserved)
            reply = self.inner.complete(request)
        except ModelBusyError as error:
            if error.status == _TOO_MANY_REQUESTS:
                self._gate.shrink(round_)
            raise
        else:
            self._gate.grow()
            self._tokens.give_back(reserved - reply.usage.input_tokens - reply.usage.output_tokens)
            return reply
        finally:
            self._gate.leave()


class _Gate:
    """Lets a number of callers in at once; the number shrinks by half and grows in small steps."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = float(most)
        self._inside = 0
        self._round = 0
        self._changed = threading.Condition()

    def enter(self) -> int:
        """Waits for a place; returns the round of shrinking in which the caller entered."""
        with self._changed:
            while self._inside >= max(1, int(self.limit)):
                self._changed.wait()
            self._inside += 1
            return self._round

    def leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify()

    def shrink(self, entered_round: int) -> None:
        """Halves the limit, once for all the calls that were under way together."""
        with self._changed:
            if entered_round == self._round:
                self._round += 1
                self.limit = max(1.0, self.limit / 2)

    def grow(self) -> None:
        if self.limit < self._most:
            with self._changed:
                self.limit = min(float(self._most), self.limit + 1 / self.limit)
                self._changed.notify()


class _Bucket:
    """A token bucket: fills at a rate a minute, holds a few seconds' worth, and may be overdrawn by one large taker."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._per_s = None if per_minute is None else per_minute / 60
        self._clock, self._sleep = clock, sleep
        self._level = self._capacity = max(1.0, (self._per_s or 0) * _BURST_S)
        self._filled_at = clock()
        self._lock = threading.Lock()

    def take(self, amount: float) -> None:
        """Takes `amount`, after waiting until the level is above zero once all earlier takers are served."""
        if self._per_s is None:
            return
        with self._lock:
            self._fill(self._per_s)
            # Taking first and waiting for the debt keeps takers in order, however large their amounts.
            self._level -= amount
            wait_s = max(0.0, -self._level / self._per_s)
        if wait_s > 0:
            self._sleep(wait_s)

    def give_back(self, amount: float) -> None:
        """Returns what was reserved and not used (negative: takes what was used beyond)."""
        if self._per_s is None:
            return
        with self._lock:
            self._level = min(self._capacity, self._level + amount)

    def _fill(self, per_s: float) -> None:
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._filled_at) * per_s)
        self._filled_at = now
