"""Calls to models: what is asked, what comes back, what it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bineval.hashing import Json

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refused", "other"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one or more calls; 0 where the server did not say.

    Attributes:
        input_tokens: Tokens read, those read from the provider's cache included.
        output_tokens: Tokens written, hidden reasoning included.
        cached_input_tokens: The part of `input_tokens` that the provider or engine had already read.
        calls: Calls that were really made.
        cost_usd: What they cost in US dollars, without discounts for cached input; None when a price is unknown.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    calls: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            calls=self.calls + other.calls,
            cost_usd=None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd,
        )

    def split(self, n: int) -> list["Usage"]:
        """Shares for the `n` verdicts of one call: tokens and calls are whole numbers that add up to these exactly."""

        def shares(total: int) -> list[int]:
            base, extra = divmod(total, n)
            return [base + (i < extra) for i in range(n)]

        columns = zip(
            shares(self.input_tokens),
            shares(self.output_tokens),
            shares(self.cached_input_tokens),
            shares(self.calls),
            strict=True,
        )
        cost = None if self.cost_usd is None else self.cost_usd / n
        return [
            Usage(input_tokens=i, output_tokens=o, cached_input_tokens=c, calls=k, cost_usd=cost)
            for i, o, c, k in columns
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What tokens cost, in US dollars per million; a local model costs 0."""

    input_usd: float
    output_usd: float

    def of(self, usage: Usage) -> float:
        """Cost of `usage` in US dollars, without discounts for cached input."""
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Role
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicate:
    """A yes/no question as a decision model takes it.

    Attributes:
        id: Unique within its request; not shown to the model.
        instructions: The question, naming fields of the state in backticks.
        yes: What counts as yes, where that needs saying.
        no: What counts as no.
    """

    id: str
    instructions: str
    yes: str | None = None
    no: str | None = None

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return {"id": self.id, "instructions": self.instructions, "yes": self.yes, "no": self.no}


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One call to a model, independent of any provider.

    Attributes:
        messages: System message first, if any.
        max_tokens: Most tokens that the reply may have, hidden reasoning included.
        temperature: None leaves it to the provider.
        seed: None leaves it to the provider.
        schema: JSON schema that the reply should follow; the messages describe the shape too, so that a
            server without schemas still can be asked.
        top_logprobs: How many alternatives to report for each token; 0 for no log probabilities.
        repeat: Which time of asking this is; distinguishes equal requests in the cache.
        predicates: Questions for a decision model; the one message is then the state, a JSON object as text.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = 0.0
    seed: int | None = None
    schema: Mapping[str, Json] | None = None
    top_logprobs: int = 0
    repeat: int = 0
    predicates: tuple[Predicate, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values, for hashing and storing."""
        predicates = {"predicates": [item.to_json() for item in self.predicates]} if self.predicates else {}
        return {
            **predicates,
            "messages": [[m.role, m.content] for m in self.messages],
            "max_tokens": self.max_tokens,
            # 0 and 0.0 are the same request.
            "temperature": None if self.temperature is None else float(self.temperature),
            "seed": self.seed,
            "schema": self.schema,
            "top_logprobs": self.top_logprobs,
            "repeat": self.repeat,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLogprob:
    """One token of a reply.

    Attributes:
        token: Its text.
        logprob: Natural logarithm of its probability.
        top: Alternatives at this place as `(token, logprob)`, most probable first.
    """

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: The visible text, as received.
        reasoning: Reasoning that the provider returned apart from the text.
        refusal: The provider's own refusal text; set only when the server says that it refused.
        logprobs: One entry a token when asked for and given, else None.
        finish_reason: "length" when the token cap ended the reply, "refused" when a filter did.
        usage: Tokens and calls of this reply.
        model: The model that the server says answered.
        params_used: Parameters as really sent, after unsupported ones were dropped or replaced.
        key: Key under which the reply cache holds it; None without a cache.
        cached: Whether it came from the cache and was paid for by other work.
    """

    text: str
    reasoning: str | None = None
    refusal: str | None = None
    logprobs: Sequence[TokenLogprob] | None = None
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    params_used: Mapping[str, Json] = field(default_factory=dict)
    key: str | None = None
    cached: bool = False
