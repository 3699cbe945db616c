import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bineval.errors import ConfigError
from bineval.models.chat_tokens import ChatTokenizer
from bineval.models.registry import find
from bineval.models.token_choice import TokenChooser

MODEL = find("smollm2-135m")
pytestmark = pytest.mark.skipif(not MODEL.path.is_file(), reason="not here: bineval models pull smollm2-135m")
llama_cpp = pytest.importorskip("llama_cpp", reason="the in-process engine is not installed")

YES_OR_NO = json.dumps({"type": "string", "enum": ["yes", "no"]})


@pytest.fixture(scope="module")
def llama() -> Iterator[Any]:
    """The real model, for its vocabulary."""
    model = llama_cpp.Llama(str(MODEL.path), n_ctx=64, verbose=False)
    yield model
    model.close()


@pytest.fixture(scope="module")
def tokenizer(llama: Any) -> ChatTokenizer:
    return ChatTokenizer(llama)


@pytest.fixture(scope="module")
def token_of(llama: Any) -> Callable[[str], int]:
    """Gives the id of a text that is one token."""

    def single(text: str) -> int:
        (token,) = llama.tokenize(text.encode(), add_bos=False)
        return int(token)

    return single


def random_logits(tokenizer: ChatTokenizer, seed: int) -> Any:
    n = llama_cpp.llama_vocab_n_tokens(tokenizer.vocab)
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


def write(tokenizer: ChatTokenizer, *, schema: str | None, temperature: float, seed: int | None = None) -> str:
    """A reply of at most ten tokens, each from logits of its own."""
    tokens = []
    with TokenChooser(tokenizer.vocab, schema=schema, temperature=temperature, seed=seed) as chooser:
        for i in range(10):
            token = chooser.choose(random_logits(tokenizer, i))
            if tokenizer.ends_turn(token):
                break
            tokens.append(token)
    return tokenizer.text(tokens)


def test_without_a_schema_temperature_0_takes_the_most_probable_token(tokenizer: ChatTokenizer) -> None:
    logits = random_logits(tokenizer, 1)
    with TokenChooser(tokenizer.vocab, schema=None, temperature=0, seed=None) as chooser:
        assert chooser.choose(logits) == logits.argmax()


@pytest.mark.parametrize("temperature", [0, 0.8, 5])
def test_whatever_the_logits_the_reply_follows_the_schema_to_its_end(
    tokenizer: ChatTokenizer, temperature: float
) -> None:
    for seed in range(3):
        assert json.loads(write(tokenizer, schema=YES_OR_NO, temperature=temperature, seed=seed)) in ("yes", "no")


def test_a_token_that_the_schema_refuses_gives_way_to_the_most_probable_that_it_allows(
    tokenizer: ChatTokenizer, token_of: Callable[[str], int]
) -> None:
    logits = np.zeros(llama_cpp.llama_vocab_n_tokens(tokenizer.vocab), dtype=np.float32)
    logits[token_of("maybe")], logits[token_of('"')] = 9, 5
    before = logits.copy()
    with TokenChooser(tokenizer.vocab, schema=YES_OR_NO, temperature=0, seed=None) as chooser:
        assert chooser.choose(logits) == token_of('"')
    np.testing.assert_array_equal(logits, before)


def test_allowed_tokens_are_drawn_as_from_them_alone(tokenizer: ChatTokenizer, token_of: Callable[[str], int]) -> None:
    logits = np.full(llama_cpp.llama_vocab_n_tokens(tokenizer.vocab), -30, dtype=np.float32)
    logits[token_of("x")], logits[token_of("7")], logits[token_of("3")] = 2, 1, 0
    drawn = []
    for seed in range(400):
        with TokenChooser(tokenizer.vocab, schema='{"type": "integer"}', temperature=1, seed=seed) as chooser:
            drawn.append(chooser.choose(logits))
    assert set(drawn) == {token_of("7"), token_of("3")}
    # e^1 / (e^1 + e^0) = 0.731; the standard error of a share of 400 is 0.022.
    assert drawn.count(token_of("7")) / 400 == pytest.approx(0.731, abs=0.09)


def test_the_same_seed_chooses_the_same_tokens(tokenizer: ChatTokenizer) -> None:
    texts = [write(tokenizer, schema=None, temperature=1, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_schema_that_the_engine_cannot_follow_is_an_error_before_anything_is_written(
    tokenizer: ChatTokenizer,
) -> None:
    with pytest.raises(ConfigError, match="cannot follow the JSON schema"):
        TokenChooser(tokenizer.vocab, schema='{"type": "string", "pattern": "("}', temperature=0, seed=None)
