import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bineval.errors import ConfigError, ModelRequestError, UnknownNameError
from bineval.hashing import Json
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.llamacpp import LlamaCpp
from bineval.models.registry import find
from bineval.types import Message, Request

MODEL = find("smollm2-135m")
pytestmark = pytest.mark.skipif(not MODEL.path.is_file(), reason="not here: bineval models pull smollm2-135m")
pytest.importorskip("llama_cpp", reason="the in-process engine is not installed")

ANSWER: dict[str, Json] = {
    "type": "object",
    "properties": {
        "explanation": {"type": "string", "maxLength": 8},
        "answer": {"type": "string", "enum": ["yes", "no"]},
    },
    "required": ["explanation", "answer"],
    "additionalProperties": False,
}
TRAINED_CONTEXT = 8192


@pytest.fixture(scope="module")
def model(one_core: None) -> LlamaCpp:
    """The real model, loaded once."""
    return LlamaCpp("smollm2-135m", ModelOptions())


def request(text: str = "Name a color.", **changes: object) -> Request:
    rules = Message(role="system", content="You answer in a few words.")
    asked = Request(messages=(rules, Message(role="user", content=text)), max_tokens=6)
    return replace(asked, **changes)  # type: ignore[arg-type]


def test_it_opens_by_registry_name_and_by_path_as_the_same_model() -> None:
    by_name, by_path = open_model("llamacpp/smollm2-135m"), open_model(f"llamacpp/{MODEL.path}")
    assert by_name.identity == by_path.identity == {"provider": "llamacpp", "sha256": MODEL.sha256}
    assert by_name.price is not None
    assert (by_name.price.input_usd, by_name.price.output_usd, by_name.max_concurrency) == (0, 0, 1)


def test_greedy_replies_are_deterministic_and_cut_at_the_cap(model: LlamaCpp) -> None:
    first, again = model.complete(request()), model.complete(request(seed=5))
    assert first.text == again.text != ""
    assert first.finish_reason == "length"
    assert (first.usage.output_tokens, first.usage.calls) == (6, 1)
    assert (first.logprobs, first.refusal) == (None, None)
    assert first.params_used == {"max_tokens": 6, "temperature": 0.0, "seed": None, "top_logprobs": 0}


def test_the_same_seed_gives_the_same_text_and_no_seed_is_no_former_seed(model: LlamaCpp) -> None:
    def drawn(seed: int | None) -> str:
        return model.complete(request("Write any words.", temperature=0.8, seed=seed)).text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) > 1
    assert len({drawn(seed) for seed in (2, None, None, None)}) > 1, "a seed must not outlive its request"


def test_a_temperature_that_nobody_set_is_reported_as_it_was_used(model: LlamaCpp) -> None:
    assert model.complete(request(temperature=None, max_tokens=1)).params_used["temperature"] == 0.8


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_replies_follow_the_schema_with_the_explanation_first(model: LlamaCpp, seed: int | None) -> None:
    temperature = 0.0 if seed is None else 1.5
    reply = model.complete(request("Is snow white?", schema=ANSWER, temperature=temperature, seed=seed, max_tokens=60))
    assert reply.finish_reason == "stop"
    answer = json.loads(reply.text)
    assert list(answer) == ["explanation", "answer"]
    assert answer["answer"] in ("yes", "no")
    assert len(answer["explanation"]) <= 8


def test_log_probabilities_are_normalized_and_ranked(model: LlamaCpp) -> None:
    reply = model.complete(request(top_logprobs=5))
    assert reply.logprobs is not None
    assert len(reply.logprobs) == reply.usage.output_tokens
    assert "".join(token.token for token in reply.logprobs) == reply.text
    for token in reply.logprobs:
        values = [logprob for _, logprob in token.top]
        assert len(values) == 5
        assert values == sorted(values, reverse=True)
        assert 0 < sum(map(math.exp, values)) <= 1 + 1e-9
        assert token.top[0] == (token.token, token.logprob), "a greedy choice is the most probable token"


def test_log_probabilities_cover_the_whole_vocabulary(model: LlamaCpp) -> None:
    reply = model.complete(request(top_logprobs=49_152, max_tokens=1))
    assert reply.logprobs is not None
    assert sum(math.exp(logprob) for _, logprob in reply.logprobs[0].top) == pytest.approx(1)


def test_log_probabilities_are_those_before_the_constraint(model: LlamaCpp) -> None:
    free = model.complete(request("Is snow white?", top_logprobs=2, max_tokens=1))
    bound = model.complete(request("Is snow white?", top_logprobs=2, max_tokens=1, schema=ANSWER))
    assert free.logprobs is not None
    assert bound.logprobs is not None
    assert bound.text.startswith("{")
    assert dict(bound.logprobs[0].top) == pytest.approx(dict(free.logprobs[0].top))
    assert bound.logprobs[0].logprob < free.logprobs[0].logprob


def test_what_a_request_shares_with_the_one_before_is_counted_as_cached(model: LlamaCpp) -> None:
    example = "The sky is blue and the sea is green. " * 5
    model.complete(request(f"{example}Is it night?", max_tokens=1))
    reply = model.complete(request(f"{example}Does it rain?", max_tokens=1))
    assert reply.usage.input_tokens - 15 < reply.usage.cached_input_tokens < reply.usage.input_tokens
    again = model.complete(request(f"{example}Does it rain?", max_tokens=1))
    assert again.usage.cached_input_tokens == again.usage.input_tokens - 1
    assert again.text == reply.text, "what is reused changes nothing"


@pytest.mark.parametrize("text", ["", "Name a color.", "☁ <|im_end|> ☁" * 20])
def test_counted_tokens_are_the_tokens_read(model: LlamaCpp, text: str) -> None:
    asked = request(text, max_tokens=1)
    assert model.count_tokens(asked) == model.complete(asked).usage.input_tokens


def test_a_request_that_cannot_fit_is_refused_before_anything_is_generated(model: LlamaCpp) -> None:
    long = request("word " * TRAINED_CONTEXT)
    for verb in (model.count_tokens, model.complete):
        with pytest.raises(ModelRequestError) as caught:
            verb(long)
        message = str(caught.value)
        assert message.startswith("llamacpp/smollm2-135m: ")
        assert f"do not fit its context of {TRAINED_CONTEXT}; nothing was cut" in message
    short = request(max_tokens=TRAINED_CONTEXT)
    with pytest.raises(ModelRequestError, match=f"up to {TRAINED_CONTEXT} of reply .*: lower --max-reply-tokens, use"):
        model.count_tokens(short)


def test_the_context_grows_with_the_request(model: LlamaCpp) -> None:
    before = model.complete(request()).text
    # The first context has 4096 tokens; only the room for the reply makes this request larger.
    grown = model.complete(request("Say yes.", schema={"enum": ["yes"]}, max_tokens=5000))
    assert (grown.text.strip(), grown.finish_reason) == ('"yes"', "stop")
    assert model._engine is not None
    assert model._engine._context is not None
    assert model._engine._context.n_ctx == 6144
    assert model.complete(request()).text == before


def test_many_threads_get_the_replies_of_one(model: LlamaCpp) -> None:
    asked = [request(f"Name something {quality}.", max_tokens=2) for quality in ("red", "soft", "old", "big")]
    expected = [model.complete(item).text for item in asked]
    with ThreadPoolExecutor(8) as pool:
        assert [reply.text for reply in pool.map(model.complete, asked * 2)] == expected * 2


def test_a_model_that_is_not_here_is_said_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.gguf: there is no such model file"):
        open_model("llamacpp/nowhere.gguf")
    with pytest.raises(UnknownNameError, match="did you mean smollm2-135m"):
        open_model("llamacpp/smollm2-135")
    monkeypatch.setenv("BINEVAL_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="bineval models pull smollm2-135m"):
        open_model("llamacpp/smollm2-135m")


@pytest.mark.parametrize("options", [ModelOptions(base_url="http://localhost:1/v1"), ModelOptions(api_key_env="KEY")])
def test_options_of_a_server_are_refused(options: ModelOptions) -> None:
    with pytest.raises(ConfigError, match="llamacpp/smollm2-135m runs in this process: it takes no base URL"):
        open_model("llamacpp/smollm2-135m", options)


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    part = tmp_path / "part.gguf"
    with MODEL.path.open("rb") as whole:
        part.write_bytes(whole.read(1_000_000))
    with pytest.raises(ConfigError, match=r"part\.gguf: llama\.cpp cannot load it"):
        open_model(f"llamacpp/{part}").complete(request())
