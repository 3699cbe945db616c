"""What the rest of a run will take, before any of it is paid for: calls, tokens, cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from bineval.errors import ModelRequestError
from bineval.judging.base import Judge
from bineval.judging.crew import Task
from bineval.models.cache import ReplyCache, reply_key
from bineval.models.sizing import input_tokens
from bineval.types import Price, Usage

# A short explanation with its answer; the most is the cap of the reply.
_FEWEST_OUTPUT_TOKENS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """A forecast; every range is from the least to the most, without retries of failed calls.

    Attributes:
        n_verdicts: Verdicts still to be made.
        n_calls: Calls, if every first reply can be used.
        n_cached: Calls answered by the reply cache, besides these.
        n_too_long: Calls that cannot fit the model's context, known now; they will be unanswered.
        input_tokens: Tokens to read: counted by the model where it can, else estimated from lengths.
        output_tokens: `(least, most)` tokens to write.
        cost_usd: `(least, most)`, None when the price is unknown.
    """

    n_verdicts: int
    n_calls: int
    n_cached: int
    n_too_long: int
    input_tokens: int
    output_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None


def forecast(tasks: Iterable[Task], judge: Judge, replies: ReplyCache) -> Forecast:
    """Forecasts `tasks`; makes no call."""
    n_verdicts = n_cached = n_too_long = 0
    least = most = Usage()
    cost: tuple[float, float] | None = (0.0, 0.0)
    for task in tasks:
        n_verdicts += len(task.questions)
        requests = judge.first_requests(task.example, [asked.question for asked in task.questions], repeat=task.repeat)
        for model, request in requests:
            if replies.get(reply_key(model, request)) is not None:
                n_cached += 1
                continue
            try:
                n_input = input_tokens(model, request)
            except ModelRequestError:
                n_too_long += 1
                continue
            n_least = min(_FEWEST_OUTPUT_TOKENS * len(task.questions) // len(requests), request.max_tokens)
            low = Usage(input_tokens=n_input, output_tokens=n_least, calls=1)
            high = Usage(input_tokens=n_input, output_tokens=request.max_tokens, calls=1)
            least, most = least + low, most + high
            cost = _with_call(cost, model.price, low, high)
    return Forecast(
        n_verdicts=n_verdicts,
        n_calls=least.calls,
        n_cached=n_cached,
        n_too_long=n_too_long,
        input_tokens=least.input_tokens,
        output_tokens=(least.output_tokens, most.output_tokens),
        cost_usd=cost,
    )


def _with_call(
    cost: tuple[float, float] | None, price: Price | None, low: Usage, high: Usage
) -> tuple[float, float] | None:
    """The cost with one more call; unknown as soon as the price of one model is."""
    return None if cost is None or price is None else (cost[0] + price.of(low), cost[1] + price.of(high))
