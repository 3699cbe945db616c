import gc
import resource
from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

from bineval.errors import ModelRequestError
from bineval.models.catalog import ModelOptions
from bineval.models.llama_context import BATCH_TOKENS, MOST_BRANCHES, Branch, shared_length
from bineval.models.llamacpp import LlamaCpp
from bineval.models.registry import find
from bineval.types import Message, Reply, Request, TokenLogprob
from support.threads import Together

MODEL = find("smollm2-135m")
pytestmark = pytest.mark.skipif(not MODEL.path.is_file(), reason="not here: bineval models pull smollm2-135m")
pytest.importorskip("llama_cpp", reason="the in-process engine is not installed")

# How far apart the probabilities of one token may be when it is computed alone and in a batch (quantized arithmetic).
TOLERANCE = 0.07
STATM = Path("/proc/self/statm")
ARTICLE = "The ferry to the island leaves at nine and carries bicycles for a small fee. " * 8
QUESTIONS = [f"Does sentence {i} speak of the ferry and its price?" for i in range(MOST_BRANCHES + 3)]


@pytest.fixture(scope="module")
def model(one_core: None) -> LlamaCpp:
    return LlamaCpp("smollm2-135m", ModelOptions())


def request(question: str, **changes: object) -> Request:
    rules = Message(role="system", content="Answer with one word, yes or no.")
    user = Message(role="user", content=f"{ARTICLE}\n\nQuestion: {question}")
    return replace(Request(messages=(rules, user), max_tokens=1, top_logprobs=5), **changes)  # type: ignore[arg-type]


def first(reply: Reply) -> TokenLogprob:
    assert reply.logprobs is not None
    return reply.logprobs[0]


def difference(one: Reply, other: Reply) -> float:
    """Largest difference of the probabilities of the first token's alternatives that both replies list."""
    left, right = dict(first(one).top), dict(first(other).top)
    return max(abs(exp(left[token]) - exp(right[token])) for token in left.keys() & right.keys())


def test_what_requests_share_is_read_once_and_counted_so(model: LlamaCpp) -> None:
    model.forget()
    replies = model.complete_many([request(question) for question in QUESTIONS[:8]])
    usages = [reply.usage for reply in replies]
    assert [usage.calls for usage in usages] == [1] * 8
    assert usages[0].cached_input_tokens == 0
    shared = usages[1].cached_input_tokens
    assert shared > 130
    assert all(usage.cached_input_tokens == shared for usage in usages[1:])
    # What is left of each is its question and the end of the turn.
    assert all(0 < usage.input_tokens - shared < 40 for usage in usages)
    # The next batch about the same text finds all of it read.
    again = model.complete_many([request(question) for question in QUESTIONS[8:16]])
    assert again[0].usage.cached_input_tokens >= shared - 2


def test_a_batch_answers_as_single_calls_do_within_the_tolerance(model: LlamaCpp) -> None:
    requests = [request(question) for question in QUESTIONS[:12]]
    together = model.complete_many(requests)
    one_by_one = [model.complete(item) for item in requests]
    alone = []
    for item in requests[:4]:
        model.forget()
        alone.append(model.complete(item))
    assert max(difference(a, b) for a, b in zip(together, one_by_one, strict=True)) <= TOLERANCE
    assert max(difference(a, b) for a, b in zip(together, alone, strict=False)) <= TOLERANCE


def test_any_number_of_requests_fits_whatever_the_grouping(model: LlamaCpp) -> None:
    requests = [request(question) for question in QUESTIONS]
    many = model.complete_many(requests)
    grouped = [
        reply for start in range(0, len(QUESTIONS), 30) for reply in model.complete_many(requests[start : start + 30])
    ]
    backwards = model.complete_many(requests[::-1])[::-1]
    for other in (grouped, backwards):
        assert max(difference(a, b) for a, b in zip(many, other, strict=True)) <= TOLERANCE


def test_replies_of_different_lengths_and_shapes_are_written_side_by_side(model: LlamaCpp) -> None:
    yes = request("Say yes.", schema={"enum": ["yes"]}, max_tokens=8, top_logprobs=0)
    color = request("Name a color.", max_tokens=5, top_logprobs=0)
    word = request("Say a word.", max_tokens=1, top_logprobs=0)
    together = model.complete_many([yes, color, word, yes])
    assert [reply.text.strip() for reply in (together[0], together[3])] == ['"yes"', '"yes"']
    assert [reply.finish_reason for reply in together[1:3]] == ["length", "length"]
    assert [reply.usage.output_tokens for reply in together[1:3]] == [5, 1]
    assert all(reply.logprobs is None for reply in together)


def test_replies_that_fit_the_context_only_one_at_a_time_are_written_in_turn(model: LlamaCpp) -> None:
    long = [request(f"Say {word}.", schema={"enum": [word]}, max_tokens=6000) for word in ("yes", "no", "so")]
    assert [reply.text.strip() for reply in model.complete_many(long)] == ['"yes"', '"no"', '"so"']
    short = [request(question) for question in QUESTIONS[:2]]
    mixed = model.complete_many([long[0], *short, long[1]])
    assert max(difference(a, b) for a, b in zip(mixed[1:3], map(model.complete, short), strict=True)) <= TOLERANCE
    assert model._engine is not None
    assert model._engine._context is not None
    assert model._engine._context.n_ctx == 8192, "what the model was trained for, and no more"


def test_what_was_computed_is_counted_to_the_token(model: LlamaCpp) -> None:
    model.forget()
    requests = [request(question) for question in QUESTIONS[:10]]
    replies = model.complete_many(requests)
    computed = sum(reply.usage.input_tokens - reply.usage.cached_input_tokens for reply in replies)
    shared = replies[1].usage.cached_input_tokens
    assert computed == shared + sum(model.count_tokens(item) - shared for item in requests)
    assert model.complete_many(requests)[0].usage.cached_input_tokens == shared


def test_each_request_of_a_batch_is_drawn_by_its_own_seed(model: LlamaCpp) -> None:
    seeds = [1, 2, 3, 4, 5, 6, 7, 8, 1]
    drawn = [request("Say any words.", temperature=1.0, seed=s, max_tokens=3, top_logprobs=0) for s in seeds]
    together = [reply.text for reply in model.complete_many(drawn)]
    assert together[0] == together[-1]
    assert len(set(together)) > 2
    alone = [model.complete(item).text for item in drawn]
    # Where two tokens are nearly as probable, the batch's arithmetic may draw the other one.
    assert sum(a == b for a, b in zip(together, alone, strict=True)) >= 7


def test_what_the_engine_cannot_read_leaves_it_usable(model: LlamaCpp) -> None:
    before = model.complete(request(QUESTIONS[0]))
    assert model._engine is not None
    assert model._engine._context is not None
    with pytest.raises(ModelRequestError, match=r"could not read 1 tokens \(status -1\)"):
        model._engine._context.read([Branch(sequence=0, position=5, tokens=[1])])
    after = model.complete(request(QUESTIONS[0]))
    assert after.usage.cached_input_tokens == 0
    assert difference(before, after) <= TOLERANCE


def test_batches_of_several_threads_take_turns(model: LlamaCpp) -> None:
    batches = [[request(question) for question in QUESTIONS[start : start + 3]] for start in (0, 3, 6)]
    expected = [model.complete_many(batch) for batch in batches]
    outcomes = Together(lambda i: model.complete_many(batches[i % 3]), 6, n_threads=3).outcomes()
    for i, replies in enumerate(outcomes):
        assert isinstance(replies, list), replies
        assert max(difference(a, b) for a, b in zip(replies, expected[i % 3], strict=True)) <= TOLERANCE


@pytest.mark.skipif(not STATM.exists(), reason="the system does not say how much memory a process has")
def test_the_memory_of_a_model_that_nobody_holds_is_free_again(one_core: None) -> None:
    def use() -> int:
        LlamaCpp("smollm2-135m", ModelOptions()).complete(request(QUESTIONS[0]))
        gc.collect()
        return int(STATM.read_text().split()[1]) * resource.getpagesize()

    # The context alone has some 110 MB.
    first, *_, last = (use() for _ in range(4))
    assert last - first < 110e6


def test_requests_without_anything_in_common_are_answered_too(model: LlamaCpp) -> None:
    one = Request(messages=(Message(role="user", content="Is water wet?"),), max_tokens=1, top_logprobs=5)
    together = model.complete_many([one, request(QUESTIONS[0])])
    apart = [model.complete(one), model.complete(request(QUESTIONS[0]))]
    assert max(difference(a, b) for a, b in zip(together, apart, strict=True)) <= TOLERANCE


def test_equal_requests_get_equal_replies(model: LlamaCpp) -> None:
    twins = model.complete_many([request(QUESTIONS[0]), request(QUESTIONS[0])])
    assert difference(*twins) <= TOLERANCE


def test_one_request_that_is_too_long_is_named_before_anything_is_read(model: LlamaCpp) -> None:
    model.forget()
    long = request("Is it long? " * 3000)
    with pytest.raises(ModelRequestError, match="do not fit its context of 8192"):
        model.complete_many([request(QUESTIONS[0]), long])
    assert model.complete(request(QUESTIONS[0])).usage.cached_input_tokens == 0


def test_a_text_that_is_longer_than_one_step_of_the_engine_is_read_in_parts(model: LlamaCpp) -> None:
    long = "The ferry leaves at nine. " * 360
    asked = [replace(request(q), messages=(Message(role="user", content=f"{long}\n{q}"),)) for q in QUESTIONS[:3]]
    together = model.complete_many(asked)
    assert together[2].usage.cached_input_tokens > BATCH_TOKENS
    assert difference(together[1], model.complete(asked[1])) <= TOLERANCE


@pytest.mark.parametrize(
    ("conversations", "expected"),
    [([[1, 2, 3]], 3), ([[1, 2, 3], [1, 2, 4]], 2), ([[1, 2], [1, 2, 3]], 2), ([[], [1]], 0), ([[2], [1]], 0)],
)
def test_the_shared_beginning_is_as_long_as_all_agree(conversations: list[list[int]], expected: int) -> None:
    assert shared_length(conversations) == expected
