"""Keeps calls within requests and tokens a minute, and adapts how many run at once to what the server takes."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bineval.errors import ConfigError, ModelBusyError
from bineval.models.base import Model, Wrapper
from bineval.models.sizing import estimated_tokens, used_by
from bineval.types import Reply, Request, Usage

_TOO_MANY_REQUESTS = 429


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
            if value is not None and not value > 0:  # false for NaN too, which would be no limit at all
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
        self._requests = _Pace(limits.requests_per_minute, clock, sleep)
        self._tokens = _Pace(limits.tokens_per_minute, clock, sleep)
        self._counts_tokens = limits.tokens_per_minute is not None

    @property
    def concurrency(self) -> float:
        """How many calls may run at once now."""
        return self._gate.limit

    def complete(self, request: Request) -> Reply:
        """Completes `request` when its turn has come."""
        (reply,) = self._complete([request], lambda: [self.inner.complete(request)])
        return reply

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Completes `requests` together when the turn of all has come; they take one place of the concurrency."""
        return self._complete(requests, lambda: self.inner.complete_many(requests))

    def _complete(self, requests: Sequence[Request], call: Callable[[], list[Reply]]) -> list[Reply]:
        reserved = [
            Usage(
                input_tokens=estimated_tokens(request) if self._counts_tokens else 0, output_tokens=request.max_tokens
            )
            for request in requests
        ]
        round_ = self._gate.enter()
        try:
            self._requests.take(len(requests))
            self._tokens.take(sum(map(_tokens, reserved)))
            replies = call()
        except ModelBusyError as error:
            if error.status == _TOO_MANY_REQUESTS:
                self._gate.shrink(round_)
            raise
        else:
            self._gate.grow()
            used = [used_by(reply, usage) for reply, usage in zip(replies, reserved, strict=True)]
            self._tokens.give_back(sum(map(_tokens, reserved)) - sum(map(_tokens, used)))
            return replies
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


class _Pace:
    """Spaces takers out: each begins when what all before it took has passed at the rate; nothing is saved up."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._s_each = 0.0 if per_minute is None else 60 / per_minute
        self._clock, self._sleep = clock, sleep
        self._free_at = -math.inf
        self._lock = threading.Lock()

    def take(self, amount: int) -> None:
        """Waits for the caller's turn, and puts off the next one by what `amount` takes."""
        if not self._s_each:
            return
        with self._lock:
            now = self._clock()
            begin = max(now, self._free_at)
            self._free_at = begin + amount * self._s_each
        if begin > now:
            self._sleep(begin - now)

    def give_back(self, amount: int) -> None:
        """Returns what was taken and not used (negative: takes what was used beyond)."""
        with self._lock:
            self._free_at -= amount * self._s_each


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
