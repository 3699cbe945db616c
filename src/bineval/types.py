"""The words of bineval as frozen types: examples, questions, checklists, verdicts, scores, requests and replies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from bineval.errors import ConfigError, UnknownNameError
from bineval.hashing import Json, tagged_hash

Answer = Literal["yes", "no"]
Reason = Literal["unparsed", "refused", "truncated", "error", "not_applicable"]
Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refused", "other"]

OVERALL = "overall"
"""Name of the score over all questions of a checklist; no dimension may have it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """One output to judge, with what it was made from.

    Attributes:
        id: Unique within its data.
        output: The text to judge; may be empty, and is then judged as empty.
        input: What the output answers or was made from; None when there is nothing.
        reference: A known good output.
        context: Further material, such as retrieved documents.
        group: The source document or prompt that several outputs share; intervals resample groups.
        system: What produced the output.
        human: `{dimension: number}` on the dimension's own scale; a missing label is absent, never 0.
        metadata: All other fields of the row.
    """

    id: str
    output: str
    input: str | None = None
    reference: str | None = None
    context: str | None = None
    group: str | None = None
    system: str | None = None
    human: Mapping[str, float] = field(default_factory=dict)
    metadata: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values, for hashing and storing."""
        return {
            "id": self.id,
            "input": self.input,
            "output": self.output,
            "reference": self.reference,
            "context": self.context,
            "group": self.group,
            "system": self.system,
            "human": dict(self.human),
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A test of an output whose answer is yes (satisfied) or no.

    Attributes:
        id: Unique within its checklist.
        text: The question, ending in a question mark.
        dimension: Name of the dimension it belongs to.
        weight: Share in weighted means, relative to the other questions; positive.
        violation: A short example of an output for which the answer is no.
        requirement: The requirement of the task that the question checks.
        may_not_apply: Whether "not applicable" is an allowed answer.
        source: Where the question comes from ("generated", "hand", …).
    """

    id: str
    text: str
    dimension: str
    weight: float = 1.0
    violation: str | None = None
    requirement: str | None = None
    may_not_apply: bool = False
    source: str | None = None


Scale = tuple[float, float]
"""`(a, b)`: the score 0 maps to a, the score 1 to b."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dimension:
    """One side of quality.

    Attributes:
        scale: Interval that scores of this dimension are mapped to; None for no scaled value.
        description: What the dimension means, in a sentence.
    """

    scale: Scale | None = None
    description: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Checklist:
    """A set of questions by dimension.

    Attributes:
        name: Short name, used in run names.
        questions: In the order of the file; ids are unique.
        dimensions: By name, in the order of the file; every question's dimension is among them, and none is "overall".
        task: The task prompt that the questions come from.
        scale: Interval that the overall score is mapped to; None for no scaled value.
        provenance: How the checklist was made (model, prompt hashes, requirements), as the generator wrote it.

    Raises:
        ConfigError: Ids, dimensions or weights are not what is said here.
    """

    name: str
    questions: tuple[Question, ...]
    dimensions: Mapping[str, Dimension]
    task: str | None = None
    scale: Scale | None = None
    provenance: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if OVERALL in self.dimensions:
            raise ConfigError(f"checklist {self.name!r}: no dimension may be named {OVERALL!r}")
        seen: set[str] = set()
        for question in self.questions:
            if question.id in seen:
                raise ConfigError(f"checklist {self.name!r}: two questions have the id {question.id!r}")
            seen.add(question.id)
            if question.dimension not in self.dimensions:
                place = f"checklist {self.name!r}, question {question.id!r}"
                raise UnknownNameError("dimension", question.dimension, self.dimensions, where=place)
            if not 0 < question.weight < math.inf:
                raise ConfigError(
                    f"checklist {self.name!r}, question {question.id!r}: the weight must be positive and finite, "
                    f"not {question.weight}"
                )

    def by_dimension(self) -> dict[str, list[Question]]:
        """Questions of each dimension, in order; a dimension without questions has an empty list."""
        groups: dict[str, list[Question]] = {name: [] for name in self.dimensions}
        for question in self.questions:
            groups[question.dimension].append(question)
        return groups

    def fingerprint(self) -> str:
        """Hash of all that can change a verdict or a score; name and provenance cannot."""
        return tagged_hash("checklist/1", self.to_json())

    def to_json(self) -> dict[str, Json]:
        """Task, scales and questions as JSON values, without name and provenance."""
        return {
            "task": self.task,
            "scale": self.scale,
            "dimensions": {
                name: {"scale": dimension.scale, "description": dimension.description}
                for name, dimension in self.dimensions.items()
            },
            "questions": [
                {
                    "id": q.id,
                    "text": q.text,
                    "dimension": q.dimension,
                    "weight": q.weight,
                    "violation": q.violation,
                    "requirement": q.requirement,
                    "may_not_apply": q.may_not_apply,
                    "source": q.source,
                }
                for q in self.questions
            ],
        }


def checklist_from_json(name: str, value: Mapping[str, Json], *, provenance: Mapping[str, Json]) -> Checklist:
    """Rebuilds a checklist from `Checklist.to_json`."""
    data = cast(Mapping[str, Any], value)

    def scale(pair: Sequence[float] | None) -> Scale | None:
        return None if pair is None else (pair[0], pair[1])

    return Checklist(
        name=name,
        task=data["task"],
        scale=scale(data["scale"]),
        dimensions={
            key: Dimension(scale=scale(item["scale"]), description=item["description"])
            for key, item in data["dimensions"].items()
        },
        questions=tuple(Question(**item) for item in data["questions"]),
        provenance=provenance,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one or more calls; 0 where the server did not say.

    Attributes:
        input_tokens: Tokens read, those read from the provider's cache included.
        output_tokens: Tokens written, hidden reasoning included.
        cached_input_tokens: The part of `input_tokens` that the provider or engine had already read.
        calls: Calls that were really made.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            calls=self.calls + other.calls,
        )

    def split(self, n: int) -> list["Usage"]:
        """Shares for the `n` verdicts of one call, whole numbers that add up to this usage exactly."""

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
        return [Usage(input_tokens=i, output_tokens=o, cached_input_tokens=c, calls=k) for i, o, c, k in columns]


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What tokens cost, in US dollars per million; a local model costs 0."""

    input_usd: float
    output_usd: float

    def of(self, usage: Usage) -> float:
        """Cost of `usage` in US dollars, without discounts for cached input."""
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A quote that the judge gives for its answer.

    Attributes:
        quote: The words as the judge wrote them.
        field: The example's field that holds them ("output", "input", …), or None.
        verified: Whether they stand in that field, up to white space and quotation marks.
    """

    quote: str
    field: str | None = None
    verified: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One judge's answer to one question about one example.

    Attributes:
        answer: "yes", "no", or None when there is none.
        reason: Why there is no answer; set exactly when `answer` is None.
        probability: P(yes) in [0, 1], from judges that give one.
        explanation: The judge's words; for `reason` "error", what went wrong.
        evidence: Quotes, verified or not.
        judge: Name of the judge.
        usage: Tokens paid for this verdict in this run; zero when `cached`.
        cached: Whether every reply under it came from the reply cache, paid for by other work.
        replies: Keys of the raw replies in the store, in order of asking.
    """

    answer: Answer | None
    reason: Reason | None = None
    probability: float | None = None
    explanation: str | None = None
    evidence: tuple[Evidence, ...] = ()
    judge: str = ""
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    replies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.answer is None) == (self.reason is None):
            raise ValueError("a verdict has either an answer or a reason for having none")


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictRow:
    """A verdict in its place in a run.

    Attributes:
        unit: Index of the sentence the question was asked of; None for the whole output.
        repeat: 0 for the first time of asking, 1 for the second, …
    """

    example_id: str
    question_id: str
    dimension: str
    unit: int | None = None
    repeat: int = 0
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A number for one example and one dimension (or overall).

    Attributes:
        value: In [0, 1]; None when nothing was answered, never 0 for that.
        scaled: `value` on the dimension's scale; None without value or scale.
        n_answered: Questions answered yes or no.
        n_asked: Questions planned; those found not applicable are in neither.
    """

    value: float | None
    scaled: float | None = None
    n_answered: int
    n_asked: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number over examples, with its uncertainty.

    Attributes:
        value: None when undefined.
        low: Lower end of the 95 % interval; None when it cannot be given.
        high: Upper end.
        n: Examples the number rests on.
        method: How the interval was made, or why there is none.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Role
    content: str


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
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = 0.0
    seed: int | None = None
    schema: Mapping[str, Json] | None = None
    top_logprobs: int = 0
    repeat: int = 0

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values, for hashing and storing."""
        return {
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
