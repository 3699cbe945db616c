"""Puts the wrappers around a model in the one order that is right."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bineval.models.base import Model
from bineval.models.budget import Budget, Budgeted, Ledger
from bineval.models.cache import Cached, ReplyCache
from bineval.models.limits import Limited, Limits
from bineval.models.retry import Retrying


@dataclass(frozen=True, kw_only=True, slots=True)
class CallPolicy:
    """How calls are made; nothing in it can change a reply.

    Attributes:
        limits: Concurrency and rates.
        budget: Caps on calls, tokens and cost.
        notice: Told what a person should know while calls are made, such as waits.
    """

    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    notice: Callable[[str], None] | None = None


def stack(
    model: Model, policy: CallPolicy | None = None, *, replies: ReplyCache | None = None, ledger: Ledger | None = None
) -> Model:
    """Returns `model` behind cache, retry, budget and limits.

    A reply from the cache costs nothing, so the cache is outermost. Every try counts against the budget and the
    limits, so these are inside the retries; limits are innermost, so that they time only real calls.

    Args:
        model: The model.
        policy: Limits, budget, notices.
        replies: The reply cache; None for none.
        ledger: Shared by the models of one work, with its budget; None for a new one with the policy's budget.

    Raises:
        ConfigError: A cap on cost for a model whose price is unknown.
    """
    policy = policy or CallPolicy()
    wrapped: Model = Limited(model, policy.limits)
    ledger = ledger or Ledger(policy.budget)
    if ledger.budget != Budget():
        wrapped = Budgeted(wrapped, ledger)
    wrapped = Retrying(wrapped, notice=policy.notice)
    return wrapped if replies is None else Cached(wrapped, replies)
