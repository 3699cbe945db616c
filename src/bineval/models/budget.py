"""Caps on calls, tokens and cost: reserved before each call, settled with what it really used."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bineval.errors import BudgetExceeded, ConfigError
from bineval.models.base import Model, Wrapper
from bineval.models.sizing import input_tokens, used_by
from bineval.types import Price, Reply, Request, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Caps that the user sets; None for no cap.

    Attributes:
        max_calls: Calls; tries that failed count in their own sitting, calls refused for a parameter do not.
        max_tokens: Input and output tokens.
        max_cost_usd: US dollars; needs a known price.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_calls", "max_tokens", "max_cost_usd"):
            value = getattr(self, name)
            if value is not None and not value >= 0:  # false for NaN too, which would be no cap at all
                raise ConfigError(f"{name} must be at least 0, not {value}")


class Ledger:
    """What work with one budget has spent and reserved, over all its models; used by many threads at once.

    Args:
        budget: The caps.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._spent, self._reserved = Usage(), Usage()
        self._spent_usd, self._reserved_usd = 0.0, 0.0
        self._cost_is_known = True
        self._booked: set[str] = set()
        self._settled = threading.Condition()

    def book_earlier(self, work: str, spent: Usage) -> None:
        """Counts what earlier sittings of a piece of the work used; each piece is booked once, when it is met first.

        Args:
            work: Name of the piece, such as a run's.
            spent: What its earlier sittings used.
        """
        with self._settled:
            if work in self._booked:
                return
            self._booked.add(work)
            self._spent += spent
            self._spent_usd += spent.cost_usd or 0.0
            self._cost_is_known = self._cost_is_known and spent.cost_usd is not None

    @property
    def counts_tokens(self) -> bool:
        """Whether a reservation must say how many tokens a call may take."""
        return self.budget.max_tokens is not None or self.budget.max_cost_usd is not None

    def reserve(self, usage: Usage, price: Price | None) -> None:
        """Sets aside what a call may use, once the reservations of calls under way leave room for it.

        Raises:
            BudgetExceeded: It does not fit, and nothing is under way.
        """
        cost_usd = price.of(usage) if price else 0.0
        with self._settled:
            while True:
                problem = self._passed_by(self._spent + self._reserved + usage, cost_usd)
                if problem is None:
                    self._reserved, self._reserved_usd = self._reserved + usage, self._reserved_usd + cost_usd
                    return
                if self._reserved.calls == 0:
                    raise BudgetExceeded(f"{problem}; used so far: {self._describe()}")
                self._settled.wait()

    def settle(self, reserved: Usage, used: Usage, price: Price | None) -> None:
        """Books what a call really used in place of what was set aside for it."""
        with self._settled:
            self._reserved = Usage(
                input_tokens=self._reserved.input_tokens - reserved.input_tokens,
                output_tokens=self._reserved.output_tokens - reserved.output_tokens,
                calls=self._reserved.calls - reserved.calls,
            )
            self._spent += used
            if price is None:
                self._cost_is_known = False
            else:
                # Nothing reserved is exactly nothing, whatever was added and taken away before.
                self._reserved_usd = self._reserved_usd - price.of(reserved) if self._reserved.calls else 0.0
                self._spent_usd += price.of(used)
            self._settled.notify_all()

    def _passed_by(self, usage: Usage, cost_usd: float) -> str | None:
        """Which cap would be passed by `usage` in all, the last call of which costs `cost_usd`; or None."""
        caps = self.budget
        if caps.max_calls is not None and usage.calls > caps.max_calls:
            return f"the next call would pass --max-calls {caps.max_calls}"
        tokens = usage.input_tokens + usage.output_tokens
        if caps.max_tokens is not None and tokens > caps.max_tokens:
            return f"the next call could pass --max-tokens {caps.max_tokens}"
        if caps.max_cost_usd is not None and self._spent_usd + self._reserved_usd + cost_usd > caps.max_cost_usd:
            return f"the next call could pass --max-cost {caps.max_cost_usd}"
        return None

    def _describe(self) -> str:
        cost = f"${self._spent_usd:.4f}" if self._cost_is_known else "unknown cost"
        return f"{self._spent.calls} calls, {self._spent.input_tokens + self._spent.output_tokens} tokens, {cost}"


class Budgeted(Wrapper):
    """Refuses the call that could pass a cap, before it is sent.

    A call reserves its input and its whole reply cap. While reservations of calls under way stand in the way, the next
    call waits for them to settle; only when nothing is under way is the budget exceeded. A call that failed counts as a
    call without tokens; one of whose tokens the server says nothing counts with its whole reservation.

    Args:
        inner: The model.
        ledger: Shared by all models of the same work.

    Raises:
        ConfigError: A cap on cost for a model whose price is unknown.
    """

    def __init__(self, inner: Model, ledger: Ledger) -> None:
        super().__init__(inner)
        if ledger.budget.max_cost_usd is not None and inner.price is None:
            raise ConfigError(
                f"--max-cost cannot be kept: the price of {inner.name} is unknown; give --price INPUT,OUTPUT "
                "(US dollars per million tokens) or cap with --max-tokens"
            )
        self._ledger = ledger

    def complete(self, request: Request) -> Reply:
        """Completes `request` if its reservation fits the budget.

        Raises:
            BudgetExceeded: It does not; nothing was sent.
        """
        (reply,) = self._complete([request], lambda: [self.inner.complete(request)])
        return reply

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Completes `requests` together if the reservation for all of them fits the budget.

        Raises:
            BudgetExceeded: It does not; nothing was sent.
        """
        return self._complete(requests, lambda: self.inner.complete_many(requests))

    def _complete(self, requests: Sequence[Request], call: Callable[[], list[Reply]]) -> list[Reply]:
        reserved = [self._reservation(request) for request in requests]
        whole = sum(reserved, Usage())
        self._ledger.reserve(whole, self.price)
        used = Usage(calls=len(requests))
        try:
            replies = call()
            used = sum((used_by(reply, usage) for reply, usage in zip(replies, reserved, strict=True)), Usage())
            return replies
        finally:
            self._ledger.settle(whole, used, self.price)

    def _reservation(self, request: Request) -> Usage:
        if not self._ledger.counts_tokens:
            return Usage(calls=1)
        return Usage(input_tokens=input_tokens(self.inner, request), output_tokens=request.max_tokens, calls=1)
