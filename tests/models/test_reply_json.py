import json
import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bineval.models.reply_json import reply_from_json, reply_to_json
from bineval.types import Reply, TokenLogprob, Usage


def kept_and_read(reply: Reply, *, cached: bool = True) -> Reply:
    """What becomes of a reply that is written as JSON text and read again."""
    text = json.dumps(reply_to_json(reply), ensure_ascii=True)
    return reply_from_json(json.loads(text), key="k" * 64, cached=cached)


# Every code point: NUL, lone surrogates and emoji too.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
finite = st.floats(allow_nan=False)
tokens = st.builds(
    TokenLogprob, token=texts, logprob=finite, top=st.lists(st.tuples(texts, finite), max_size=3).map(tuple)
)
replies = st.builds(
    Reply,
    text=texts,
    reasoning=st.none() | texts,
    refusal=st.none() | texts,
    logprobs=st.none() | st.lists(tokens, max_size=3),
    finish_reason=st.sampled_from(["stop", "length", "refused", "other"]),
    usage=st.builds(Usage, **dict.fromkeys(("input_tokens", "output_tokens", "calls"), st.integers(0, 2**53))),
    model=texts,
    params_used=st.dictionaries(texts, st.none() | st.booleans() | st.integers() | finite | texts, max_size=3),
)


@given(replies)
def test_every_reply_comes_back_as_it_was(reply: Reply) -> None:
    assert kept_and_read(reply) == replace(reply, key="k" * 64, cached=True)


def test_a_reply_paid_for_by_the_work_itself_is_not_called_cached() -> None:
    reply = Reply(text="yes", cached=True)
    assert kept_and_read(reply, cached=False) == replace(reply, key="k" * 64, cached=False)


def test_log_probabilities_keep_their_numbers_and_alternatives() -> None:
    token = TokenLogprob(token="yes", logprob=-0.1 - 0.2, top=(("yes", -0.30000000000000004), ("ye\0s", -math.inf)))
    read = kept_and_read(Reply(text="yes", logprobs=[token]))
    assert read.logprobs == [token]
    assert isinstance(read.logprobs[0].top[0], tuple)


def test_no_log_probabilities_are_not_the_same_as_none_asked_for() -> None:
    assert kept_and_read(Reply(text="")).logprobs is None
    assert kept_and_read(Reply(text="", logprobs=[])).logprobs == []
