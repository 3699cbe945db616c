"""Caps on calls, tokens and cost: reserved before each call, settled with what it really used."""

import threading
from dataclasses import dataclass

from bineval.errors import BudgetExceeded, ConfigError
from bineval.models.base import Model, Wrapper
from bineval.models.sizing import input_tokens, used_by
from bineval.types import Reply, Request, Usage


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


class Budgeted(Wrapper):
    """Refuses the call that could pass a cap, before it is sent.

    A call reserves its input and its whole reply cap. While reservations of calls under way stand in the way, the next
    call waits for them to settle; only when nothing is under way is the budget exceeded. A call that failed counts as a
    call without tokens; one of whose tokens the server says nothing counts with its whole reservation.

    Args:
        inner: The model.
        budget: The caps.
        spent: What earlier sittings of the same work used; it counts.
    """

    def __init__(self, inner: Model, budget: Budget, *, spent: Usage | None = None) -> None:
        super().__init__(inner)
        if budget.max_cost_usd is not None and inner.price is None:
            raise ConfigError(
                f"--max-cost cannot be kept: the price of {inner.name} is unknown; give --price INPUT,OUTPUT "
                "(US dollars per million tokens) or cap with --max-tokens"
            )
        self._budget = budget
        self._counts_tokens = budget.max_tokens is not None or budget.max_cost_usd is not None
        self._spent = spent or Usage()
        self._reserved = Usage()
        self._settled = threading.Condition()

    def complete(self, request: Request) -> Reply:
        """Completes `request` if its reservation fits the budget.

        Raises:
            BudgetExceeded: It does not; nothing was sent.
        """
        reservation = Usage(calls=1)
        if self._counts_tokens:
            n_input = input_tokens(self.inner, request)
            reservation = Usage(input_tokens=n_input, output_tokens=request.max_tokens, calls=1)
        self._reserve(reservation)
        used = Usage(calls=1)
        try:
            reply = self.inner.complete(request)
            used = used_by(reply, reservation)
            return reply
        finally:
            self._settle(reservation, used)

    def _reserve(self, reservation: Usage) -> None:
        with self._settled:
            while True:
                problem = self._passed_by(self._spent + self._reserved + reservation)
                if problem is None:
                    self._reserved += reservation
                    return
                if self._reserved.calls == 0:
                    raise BudgetExceeded(f"{problem}; used so far: {self._describe(self._spent)}")
                self._settled.wait()

    def _settle(self, reservation: Usage, used: Usage) -> None:
        with self._settled:
            self._reserved = Usage(
                input_tokens=self._reserved.input_tokens - reservation.input_tokens,
                output_tokens=self._reserved.output_tokens - reservation.output_tokens,
                calls=self._reserved.calls - reservation.calls,
            )
            self._spent += used
            self._settled.notify_all()

    def _passed_by(self, usage: Usage) -> str | None:
        """Which cap `usage` would pass, or None."""
        caps, price = self._budget, self.inner.price
        if caps.max_calls is not None and usage.calls > caps.max_calls:
            return f"the next call would pass --max-calls {caps.max_calls}"
        tokens = usage.input_tokens + usage.output_tokens
        if caps.max_tokens is not None and tokens > caps.max_tokens:
            return f"the next call could pass --max-tokens {caps.max_tokens}"
        if caps.max_cost_usd is not None and price is not None and price.of(usage) > caps.max_cost_usd:
            return f"the next call could pass --max-cost {caps.max_cost_usd}"
        return None

    def _describe(self, usage: Usage) -> str:
        price = self.inner.price
        cost = "unknown cost" if price is None else f"${price.of(usage):.4f}"
        return f"{usage.calls} calls, {usage.input_tokens + usage.output_tokens} tokens, {cost}"
