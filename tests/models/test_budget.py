import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from bineval.errors import BudgetExceeded, ConfigError, ModelBusyError, ModelRequestError
from bineval.models.budget import Budget, Budgeted, Ledger
from bineval.models.retry import Retrying
from bineval.models.scripted import Scripted
from bineval.types import Message, Price, Reply, Request, Usage
from support.budgets import spent_ledger
from support.threads import PATIENCE_S, Together

# 160 characters are 40 tokens for the scripted model; with 100 for the reply, a call reserves 140 tokens and uses 60.
TEXT, N_REPLY = "a" * 160, 100
USED = Usage(input_tokens=40, output_tokens=20, calls=1)


def request() -> Request:
    return Request(messages=(Message(role="user", content=TEXT),), max_tokens=N_REPLY)


class Server:
    """Counts its calls; each says yes and uses the same tokens unless the script does otherwise."""

    def __init__(self, script: Callable[[], Reply] = lambda: Reply(text="yes", usage=USED)) -> None:
        self._script, self._lock = script, threading.Lock()
        self.n_calls = 0

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.n_calls += 1
        return self._script()

    def model(self, price: Price | None = None) -> Scripted:
        model = Scripted.from_function(self)
        model.price = price  # type: ignore[assignment] - as for a remote model, which may have none
        return model


def spend(model: Budgeted) -> list[BudgetExceeded]:
    """Asks from 16 threads until each is refused."""

    def until_refused(_: int) -> None:
        for _ in range(1000):
            model.complete(request())

    refusals = [outcome for outcome in Together(until_refused, 16).outcomes() if isinstance(outcome, BudgetExceeded)]
    assert len(refusals) == 16
    return refusals


def test_16_threads_make_exactly_the_calls_allowed() -> None:
    server = Server()
    errors = spend(Budgeted(server.model(), Ledger(Budget(max_calls=25))))
    assert server.n_calls == 25
    # 25 calls of 60 tokens; nobody said what they cost.
    message = "the next call would pass --max-calls 25; used so far: 25 calls, 1500 tokens, unknown cost"
    assert {str(error) for error in errors} == {message}


def test_16_threads_never_pass_the_cap_on_tokens_and_use_what_it_allows() -> None:
    server = Server()
    errors = spend(Budgeted(server.model(), Ledger(Budget(max_tokens=1000))))
    # A call is sent while 60 n + 140 <= 1000, so up to n = 14 before it: 15 calls, 900 tokens.
    assert server.n_calls == 15
    assert "could pass --max-tokens 1000; used so far: 15 calls, 900 tokens" in str(errors[0])


def test_16_threads_never_pass_the_cap_on_cost_and_use_what_it_allows() -> None:
    server = Server()
    model = server.model(Price(input_usd=1000.0, output_usd=2000.0))  # $0.001 and $0.002 a token
    errors = spend(Budgeted(model, Ledger(Budget(max_cost_usd=1.0))))
    # A call costs 40 x 0.001 + 20 x 0.002 = $0.08 and reserves 0.04 + 100 x 0.002 = $0.24:
    # sent while 0.08 n + 0.24 <= 1, so up to n = 9 before it: 10 calls, $0.80.
    assert server.n_calls == 10
    assert "could pass --max-cost 1.0; used so far: 10 calls, 600 tokens, $0.8000" in str(errors[0])


def test_a_call_waits_for_those_under_way_before_it_is_refused() -> None:
    may_reply = threading.Event()
    server = Server(lambda: Reply(text="yes" if may_reply.wait(PATIENCE_S) else "no", usage=USED))
    model = Budgeted(server.model(), Ledger(Budget(max_tokens=200)))
    # Two reservations are 280 tokens; once the first call has used only 60, 60 + 140 = 200 fit.
    both = Together(lambda _: model.complete(request()).text, 2)
    time.sleep(0.05)
    assert server.n_calls == 1
    may_reply.set()
    assert both.outcomes() == ["yes", "yes"]
    with pytest.raises(BudgetExceeded):
        model.complete(request())


def test_a_call_that_waited_is_refused_when_those_under_way_used_all() -> None:
    may_reply = threading.Event()
    server = Server(lambda: Reply(text="yes" if may_reply.wait(PATIENCE_S) else "no", usage=USED))
    model = Budgeted(server.model(), Ledger(Budget(max_calls=1)))
    all_eight = Together(lambda _: model.complete(request()).text, 8)
    time.sleep(0.05)
    may_reply.set()
    kinds = [type(outcome) for outcome in all_eight.outcomes()]
    assert (kinds.count(str), kinds.count(BudgetExceeded), server.n_calls) == (1, 7, 1)


def test_failed_tries_count_as_calls_without_tokens() -> None:
    def fail() -> Reply:
        raise ModelBusyError("overloaded", model="scripted/x", status=503)

    server = Server(fail)
    model = Retrying(
        Budgeted(server.model(), Ledger(Budget(max_calls=3, max_tokens=140))), attempts=6, sleep=lambda seconds: None
    )
    with pytest.raises(BudgetExceeded, match="max-calls 3; used so far: 3 calls, 0 tokens"):
        model.complete(request())
    assert server.n_calls == 3


def test_earlier_sittings_of_one_piece_of_work_are_counted_once() -> None:
    server = Server()
    ledger = spent_ledger(Budget(max_calls=10), Usage(calls=3))
    ledger.book_earlier("run", Usage(calls=3))  # the same run again, in the same sitting
    ledger.book_earlier("other run", Usage(calls=5))
    spend(Budgeted(server.model(), ledger))
    assert server.n_calls == 10 - 3 - 5


def test_what_earlier_sittings_used_counts() -> None:
    earlier = Usage(input_tokens=500, output_tokens=220, calls=8)
    calls, tokens, cost = Server(), Server(), Server()
    spend(Budgeted(calls.model(), spent_ledger(Budget(max_calls=10), earlier)))
    spend(Budgeted(tokens.model(), spent_ledger(Budget(max_tokens=1000), earlier)))
    price = Price(input_usd=1000.0, output_usd=0.0)
    paid = replace(earlier, cost_usd=price.of(earlier))
    spend(Budgeted(cost.model(price), spent_ledger(Budget(max_cost_usd=0.6), paid)))
    # Calls: 10 - 8. Tokens: 720 + 60 n + 140 <= 1000 up to n = 2, so 3. Cost: 0.5 + 0.04 n + 0.04 <= 0.6 up to 1, so 2.
    assert (calls.n_calls, tokens.n_calls, cost.n_calls) == (2, 3, 2)


@pytest.mark.parametrize("budget", [Budget(max_calls=0), Budget(max_tokens=0), Budget(max_tokens=139)])
def test_a_call_that_cannot_fit_is_never_sent(budget: Budget) -> None:
    server = Server()
    with pytest.raises(BudgetExceeded, match="used so far: 0 calls, 0 tokens"):
        Budgeted(server.model(), Ledger(budget)).complete(request())
    assert server.n_calls == 0


def test_a_cap_on_cost_without_a_known_price_is_refused_before_any_call() -> None:
    server = Server()
    with pytest.raises(ConfigError, match="price of scripted/function is unknown; give --price"):
        Budgeted(server.model(None), Ledger(Budget(max_cost_usd=1.0)))
    assert server.n_calls == 0


def test_other_caps_need_no_price() -> None:
    model = Budgeted(Server().model(None), Ledger(Budget(max_calls=1, max_tokens=140)))
    assert model.complete(request()).text == "yes"


def test_a_model_that_costs_nothing_fits_a_cap_of_nothing() -> None:
    model = Budgeted(Server().model(Price(input_usd=0.0, output_usd=0.0)), Ledger(Budget(max_cost_usd=0.0)))
    assert model.complete(request()).text == "yes"


def test_calls_whose_tokens_the_server_does_not_tell_count_in_full() -> None:
    server = Server(lambda: Reply(text="yes", usage=Usage(calls=1)))
    spend(Budgeted(server.model(), Ledger(Budget(max_tokens=1000))))
    assert server.n_calls == 7  # 140 x 7 = 980


def test_a_reply_that_forgets_its_call_is_counted() -> None:
    server = Server(lambda: Reply(text="yes", usage=Usage(input_tokens=40, output_tokens=20)))
    spend(Budgeted(server.model(), Ledger(Budget(max_calls=3))))
    assert server.n_calls == 3


def test_a_request_that_is_too_long_takes_nothing_from_the_budget() -> None:
    class Short(Scripted):
        def count_tokens(self, request: Request) -> int:
            if request.max_tokens > N_REPLY:
                raise ModelRequestError("too long for its context", model=self.name)
            return super().count_tokens(request)

    server = Server()
    model = Budgeted(Short.from_function(server), Ledger(Budget(max_calls=1, max_tokens=140)))
    with pytest.raises(ModelRequestError, match="too long"):
        model.complete(Request(messages=request().messages, max_tokens=N_REPLY + 1))
    assert model.complete(request()).text == "yes"


@pytest.mark.parametrize("name", ["max_calls", "max_tokens", "max_cost_usd"])
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_cap_that_is_no_amount_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be at least 0"):
        Budget(**{name: value})
