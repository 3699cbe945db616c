from pathlib import Path

import pytest

from bineval.errors import ModelRequestError
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.forecast import Forecast, forecast
from bineval.judging.runner import pending_tasks
from bineval.judging.units import Units
from bineval.models.base import Wrapper
from bineval.models.cache import Cached
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.types import Example, Price, Reply, Request
from support.asking import CHECKLIST, deciding

EXAMPLES = [Example(id=f"e{i}", output=f"text {i}") for i in range(4)]


class Priced(Wrapper):
    """A model with a price, and with room for a known output only."""

    def __init__(self, *, price: Price | None = None, too_long: str | None = None) -> None:
        super().__init__(deciding(lambda *_: "yes"))
        self._price, self._too_long = price, too_long

    @property
    def price(self) -> Price | None:
        return self._price

    def complete(self, request: Request) -> Reply:
        return self.inner.complete(request)

    def count_tokens(self, request: Request) -> int:
        if self._too_long and self._too_long in request.messages[1].content:
            raise ModelRequestError("too long", model=self.name)
        return 1000


def of(model: Wrapper, store: Store, settings: ChatSettings | None = None, *, repeats: int = 1) -> Forecast:
    judge = ChatJudge(model, task=None, settings=settings)
    tasks = pending_tasks(Units(CHECKLIST), EXAMPLES, judge, repeats=repeats)
    return forecast(tasks, judge, StoredReplies(store))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.db")


def test_calls_tokens_and_cost_of_a_run_that_has_not_begun(store: Store) -> None:
    # 4 examples x 3 questions = 12 calls of 1,000 tokens, each with 30 to 400 tokens of reply.
    # Least: 12,000 * 1 / 1e6 + 360 * 10 / 1e6 = 0.0156; most: 0.012 + 4,800 * 10 / 1e6 = 0.06
    assert of(Priced(price=Price(input_usd=1, output_usd=10)), store) == Forecast(
        n_verdicts=12,
        n_calls=12,
        n_cached=0,
        n_too_long=0,
        input_tokens=12_000,
        output_tokens=(360, 4800),
        cost_usd=(pytest.approx(0.0156), pytest.approx(0.06)),
    )


def test_questions_asked_together_make_fewer_calls_but_not_fewer_answers(store: Store) -> None:
    result = of(Priced(), store, ChatSettings(mode="all"), repeats=2)
    assert (result.n_verdicts, result.n_calls, result.output_tokens) == (24, 8, (24 * 30, 8 * 1200))


def test_an_unknown_price_is_an_unknown_cost_and_not_0(store: Store) -> None:
    assert of(Priced(), store).cost_usd is None


def test_a_local_model_costs_0(store: Store) -> None:
    assert of(Priced(price=Price(input_usd=0, output_usd=0)), store).cost_usd == (0.0, 0.0)


def test_replies_in_the_cache_cost_nothing(store: Store) -> None:
    model = Priced()
    cached = ChatJudge(Cached(model, StoredReplies(store)), task=None)
    cached.ask(EXAMPLES[0], CHECKLIST.questions[:1])
    result = of(model, store)
    assert (result.n_verdicts, result.n_calls, result.n_cached) == (12, 11, 1)


def test_what_cannot_fit_the_context_is_said_before_any_call(store: Store) -> None:
    result = of(Priced(too_long="text 2"), store)
    assert (result.n_verdicts, result.n_calls, result.n_too_long, result.input_tokens) == (12, 9, 3, 9000)


def test_the_least_is_never_more_than_a_small_cap(store: Store) -> None:
    assert of(Priced(), store, ChatSettings(max_tokens=10)).output_tokens == (120, 120)


def test_a_forecast_makes_no_call_and_no_entry(store: Store) -> None:
    asked: list[str] = []
    model = deciding(lambda output, _: asked.append(output))
    judge = ChatJudge(model, task=None)
    forecast(pending_tasks(Units(CHECKLIST), EXAMPLES, judge, repeats=1), judge, StoredReplies(store))
    assert asked == []
