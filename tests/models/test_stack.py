from collections.abc import Iterator
from pathlib import Path

import pytest

from bineval.errors import BudgetExceeded, ConfigError, ModelBusyError
from bineval.models.base import Model, Wrapper
from bineval.models.budget import Budget, Budgeted
from bineval.models.cache import Cached
from bineval.models.limits import Limited, Limits
from bineval.models.retry import Retrying
from bineval.models.scripted import Scripted
from bineval.models.stack import CallPolicy, stack
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.types import Message, Request, Usage
from support.budgets import spent_ledger


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[StoredReplies]:
    with Store(tmp_path / "store.db") as store:
        yield StoredReplies(store)


def request(text: str = "Is the sky blue?") -> Request:
    return Request(messages=(Message(role="user", content=text),), max_tokens=50)


def layers(model: Model) -> list[type]:
    return [type(model), *(layers(model.inner) if isinstance(model, Wrapper) else [])]


def test_cache_retry_budget_and_limits_stand_in_this_order(replies: StoredReplies) -> None:
    model = Scripted.from_function(lambda request: "yes")
    policy = CallPolicy(budget=Budget(max_calls=10))
    assert layers(stack(model, policy, replies=replies)) == [Cached, Retrying, Budgeted, Limited, Scripted]


def test_what_nobody_asked_for_is_left_out() -> None:
    assert layers(stack(Scripted.from_function(lambda request: "yes"))) == [Retrying, Limited, Scripted]


def test_a_stack_is_the_model_to_everyone(replies: StoredReplies) -> None:
    class Choosy(Scripted):
        max_concurrency = 3

        def dropped_parameters(self) -> dict[str, str]:
            return {"seed": "dropped"}

    model = Choosy.from_function(lambda request: "yes")
    whole = stack(model, CallPolicy(budget=Budget(max_calls=10)), replies=replies)
    assert (whole.name, whole.identity, whole.price) == (model.name, model.identity, model.price)
    assert (whole.max_concurrency, whole.dropped_parameters()) == (3, {"seed": "dropped"})
    assert whole.count_tokens(request()) == model.count_tokens(request()) == 4  # 16 characters


def test_replies_from_the_cache_cost_no_budget(replies: StoredReplies) -> None:
    model = Scripted.from_function(lambda request: "yes")
    whole = stack(model, CallPolicy(budget=Budget(max_calls=1)), replies=replies)
    assert [whole.complete(request()).cached for _ in range(5)] == [False, True, True, True, True]
    with pytest.raises(BudgetExceeded):
        whole.complete(request("Is it green?"))


def test_every_try_counts_and_slows_down_and_is_told(replies: StoredReplies) -> None:
    n_calls = 0

    def busy_once(request: Request) -> str:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            raise ModelBusyError("slow down", model="scripted/x", status=429)
        return "yes"

    notices: list[str] = []
    policy = CallPolicy(limits=Limits(concurrency=8), budget=Budget(max_calls=2), notice=notices.append)
    whole = stack(Scripted.from_function(busy_once), policy, replies=replies)
    assert whole.complete(request()).text == "yes"
    assert [notice.split(";")[0] for notice in notices] == ["scripted/x (HTTP 429): slow down"]
    limited = whole.inner.inner.inner  # type: ignore[attr-defined]
    assert limited.concurrency == 4.25  # halved by the first try, grown by 1/4 with the second
    with pytest.raises(BudgetExceeded, match="2 calls"):
        whole.complete(request("Is it green?"))


def test_what_earlier_sittings_used_is_passed_on(replies: StoredReplies) -> None:
    ledger = spent_ledger(Budget(max_calls=3), Usage(calls=3))
    whole = stack(Scripted.from_function(lambda request: "yes"), replies=replies, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        whole.complete(request())


def test_a_cap_on_cost_that_cannot_be_kept_is_refused_when_the_stack_is_made() -> None:
    model = Scripted.from_function(lambda request: "yes")
    model.price = None  # type: ignore[assignment]
    with pytest.raises(ConfigError, match=r"price of .* is unknown"):
        stack(model, CallPolicy(budget=Budget(max_cost_usd=1.0)))
