import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bineval.errors import (
    ConfigError,
    ModelRequestError,
)
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.types import Message, Price, Request, TokenLogprob, Usage
from support.provider_server import Answer, ProviderServer, Received, completion, refuse

KEY = "sk-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string", "maxLength": 3}}}


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="module")
def steady(server: ProviderServer) -> Model:
    """A model for tests in which nothing is learned about the server; opening one takes longer than using it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        return open_model("openai/judge", ModelOptions(base_url=server.base_url, timeout_s=5))


@pytest.fixture
def model(server: ProviderServer) -> Model:
    server.answer(completion())
    return open_model("openai/judge", ModelOptions(base_url=server.base_url, timeout_s=5))


def request(text: str = "Is it?", **parts: Any) -> Request:
    messages = (Message(role="system", content="Rules."), Message(role="user", content=text))
    return Request(messages=messages, **{"max_tokens": 50, **parts})


# ---- what is sent ----------------------------------------------------------------------------------------------------


def test_a_request_is_sent_with_all_its_parameters(server: ProviderServer, model: Model) -> None:
    reply = model.complete(request(seed=4, schema=SCHEMA, top_logprobs=7))
    (received,) = server.received
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    strict = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    assert received.body == {
        "model": "judge",
        "messages": [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Is it?"}],
        "max_tokens": 50,
        "temperature": 0.0,
        "seed": 4,
        "logprobs": True,
        "top_logprobs": 7,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": strict}},
    }
    assert reply.params_used == {
        "max_tokens": 50,
        "temperature": 0.0,
        "seed": 4,
        "logprobs": True,
        "top_logprobs": 7,
        "response_format": "json_schema",
    }


def test_what_a_request_leaves_open_is_not_sent(server: ProviderServer, model: Model) -> None:
    model.complete(request(temperature=None))
    assert set(server.received[0].body) == {"model", "messages", "max_tokens"}


def test_a_lone_surrogate_in_a_message_or_a_reply_becomes_a_replacement_character(
    server: ProviderServer, model: Model
) -> None:
    server.answer(completion("good \ud83d"))
    reply = model.complete(request("half an emoji \ud83d, a whole one 😀"))
    assert server.received[0].body["messages"][1]["content"] == "half an emoji \ufffd, a whole one 😀"
    assert reply.text == "good \ufffd"


# ---- what comes back -------------------------------------------------------------------------------------------------


def test_a_reply_has_text_usage_and_the_model_that_answered(server: ProviderServer, steady: Model) -> None:
    server.answer(completion())
    reply = steady.complete(request())
    assert (reply.text, reply.finish_reason, reply.model) == ("yes", "stop", "served")
    assert reply.usage == Usage(input_tokens=12, output_tokens=3, calls=1)
    assert (reply.reasoning, reply.refusal, reply.logprobs) == (None, None, None)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (completion(choice={"finish_reason": "length"}), {"finish_reason": "length", "text": "yes"}),
        (completion(choice={"finish_reason": "content_filter"}), {"finish_reason": "refused", "refusal": None}),
        (completion(choice={"finish_reason": "tool_calls"}), {"finish_reason": "other"}),
        (completion(choice={"finish_reason": None}), {"finish_reason": "other"}),
        (completion(None), {"text": ""}),
        (
            completion(choice={"message": {"content": None, "refusal": "I will not."}}),
            {"text": "", "refusal": "I will not.", "finish_reason": "refused"},
        ),
        (completion(choice={"message": {"content": "yes", "refusal": ""}}), {"refusal": None, "finish_reason": "stop"}),
        (
            completion(choice={"message": {"content": "yes", "reasoning_content": "First …"}}),
            {"reasoning": "First …", "text": "yes"},
        ),
        (completion(choice={"message": {"content": "yes", "reasoning": "Then …"}}), {"reasoning": "Then …"}),
        (
            completion(
                choice={"message": {"content": [{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}]}}
            ),
            {"text": "yes", "reasoning": None},
        ),
        (
            completion(
                choice={
                    "message": {
                        "content": [
                            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                            {"type": "text", "text": "no"},
                        ]
                    }
                }
            ),
            {"text": "no", "reasoning": "Hm."},
        ),
        (completion(usage=None), {"usage": Usage(calls=1)}),
        (completion(usage={"prompt_tokens": 5, "completion_tokens": None}), {"usage": Usage(input_tokens=5, calls=1)}),
        (
            completion(
                usage={"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}
            ),
            {"usage": Usage(input_tokens=9, output_tokens=1, cached_input_tokens=8, calls=1)},
        ),
    ],
)
def test_answers_in_many_shapes_become_replies(
    server: ProviderServer, steady: Model, answer: Answer, expected: dict[str, Any]
) -> None:
    server.answer(answer)
    reply = steady.complete(request())
    assert {name: getattr(reply, name) for name in expected} == expected


def test_log_probabilities_are_read_when_asked_for(server: ProviderServer, steady: Model) -> None:
    top = [{"token": "yes", "logprob": -0.1, "bytes": None}, {"token": "no", "logprob": -2.5}]
    server.answer(
        completion(choice={"logprobs": {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": top}]}})
    )
    expected = (TokenLogprob(token="yes", logprob=-0.1, top=(("yes", -0.1), ("no", -2.5))),)
    assert steady.complete(request(top_logprobs=2)).logprobs == expected
    assert steady.complete(request()).logprobs is None


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"tokens": ["yes"]}])
def test_missing_log_probabilities_are_missing(server: ProviderServer, steady: Model, logprobs: object) -> None:
    server.answer(completion(choice={"logprobs": logprobs}))
    assert steady.complete(request(top_logprobs=2)).logprobs is None


def test_an_infinite_log_probability_is_left_out_of_the_alternatives(server: ProviderServer, steady: Model) -> None:
    top = [{"token": "yes", "logprob": 0}, {"token": "no", "logprob": float("-inf")}]
    server.answer(completion(choice={"logprobs": {"content": [{"token": "yes", "logprob": 0, "top_logprobs": top}]}}))
    assert steady.complete(request(top_logprobs=2)).logprobs == (
        TokenLogprob(token="yes", logprob=0.0, top=(("yes", 0.0),)),
    )


# ---- parameters that a server refuses --------------------------------------------------------------------------------

FULL = request(seed=1, schema=SCHEMA, top_logprobs=20)


def picky(*refused: tuple[str, Answer]) -> Any:
    """A server that refuses the first of the dotted fields that it finds in a request."""

    def behavior(received: Received) -> Answer:
        for path, answer in refused:
            value: Any = received.body
            for name in path.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                return answer
        return completion()

    return behavior


def test_new_models_get_the_new_name_of_max_tokens(server: ProviderServer, model: Model) -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    server.behavior = picky(("max_tokens", refuse(400, message, param="max_tokens", code="unsupported_parameter")))
    reply = model.complete(request())
    assert reply.params_used == {"max_completion_tokens": 50, "temperature": 0.0}
    assert model.dropped_parameters() == {"max_tokens": "sent as max_completion_tokens"}
    model.complete(request())
    assert len(server.received) == 3, "what was learned is kept"


@pytest.mark.parametrize(
    ("field", "refusal", "report"),
    [
        ("temperature", refuse(400, "Only the default value is supported.", param="temperature"), "dropped"),
        ("temperature", refuse(400, "`temperature` may not be set with this model"), "dropped"),
        ("temperature", refuse(400, "upstream", metadata={"raw": "temperature: no"}), "dropped"),
        ("seed", Answer(status=422, body={"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}), "dropped"),
        ("logprobs", refuse(400, "logprobs is not supported with this model"), "dropped"),
        ("logprobs", Answer(status=400, body={"error": "no logprobs here"}), "dropped"),
        ("response_format", Answer(status=400, body={"message": "json_schema? No."}), "dropped"),
        ("response_format", refuse(400, "cannot build a grammar"), "dropped"),
    ],
)
def test_a_refused_parameter_is_left_out_whatever_shape_the_refusal_has(
    server: ProviderServer, model: Model, field: str, refusal: Answer, report: str
) -> None:
    server.behavior = picky((field, refusal))
    reply = model.complete(FULL)
    assert reply.text == "yes"
    assert field not in reply.params_used
    assert model.dropped_parameters() == {field: report}


def test_a_low_cap_on_alternatives_is_met(server: ProviderServer, model: Model) -> None:
    def few(received: Received) -> Answer:
        if received.body.get("top_logprobs", 0) > 5:
            return refuse(400, "top_logprobs must be at most 5", param="top_logprobs")
        return completion()

    server.behavior = few
    assert model.complete(FULL).params_used["top_logprobs"] == 5
    assert model.dropped_parameters() == {"logprobs": "sent as at most 5 top_logprobs"}


def test_a_schema_is_offered_in_each_form_that_servers_know(server: ProviderServer, model: Model) -> None:
    loc = ["body", "response_format", "type"]
    detail = {"detail": [{"type": "literal_error", "loc": loc, "msg": "Input should be 'text' or 'json_object'"}]}
    server.behavior = picky(("response_format.json_schema", Answer(status=422, body=detail)))
    model.complete(FULL)
    assert server.received[-1].body["response_format"] == {"type": "json_object", "schema": SCHEMA}
    assert model.dropped_parameters() == {"response_format": "sent as json_object with schema"}

    server.behavior = picky(
        ("response_format.schema", refuse(400, "Unknown parameter", param="response_format.schema"))
    )
    reply = model.complete(FULL)
    assert server.received[-1].body["response_format"] == {"type": "json_object"}
    assert reply.params_used["response_format"] == "json_object"
    assert model.dropped_parameters() == {"response_format": "sent as json_object"}

    server.behavior = picky(("response_format", refuse(400, "Unknown parameter", param="response_format")))
    assert "response_format" not in model.complete(FULL).params_used
    assert model.dropped_parameters() == {"response_format": "dropped"}


def test_a_server_that_refuses_everything_is_asked_a_bounded_number_of_times(
    server: ProviderServer, model: Model
) -> None:
    words = "max_tokens, temperature, seed, logprobs and response_format are wrong"
    server.answer(refuse(400, words))
    with pytest.raises(ModelRequestError, match="are wrong"):
        model.complete(FULL)
    # First forms, then one more call for each later form: max_tokens 1, temperature 1, seed 1, logprobs 2, format 3.
    assert len(server.received) == 1 + 1 + 1 + 1 + 2 + 3


def test_many_threads_learn_together(server: ProviderServer, model: Model) -> None:
    server.behavior = picky(
        ("max_tokens", refuse(400, "no", param="max_tokens")),
        ("response_format.json_schema", refuse(400, "no", param="response_format")),
    )
    with ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(lambda _: model.complete(FULL), range(128)))
    assert {reply.params_used["response_format"] for reply in replies} == {"json_object with schema"}
    assert model.dropped_parameters() == {
        "max_tokens": "sent as max_completion_tokens",
        "response_format": "sent as json_object with schema",
    }


# ---- keys, base URLs, options ----------------------------------------------------------------------------------------


def test_without_base_url_a_missing_key_is_found_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_model("openai/judge")


def test_an_own_server_needs_no_key(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server.answer(completion())
    open_model("openai/judge", ModelOptions(base_url=server.base_url)).complete(request())
    assert server.received[0].headers["authorization"] == "Bearer none"


def test_the_key_may_be_in_another_variable(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "k-2")
    options = ModelOptions(base_url=server.base_url, api_key_env="OTHER_KEY")
    server.answer(completion())
    open_model("openai/judge", options).complete(request())
    assert server.received[0].headers["authorization"] == "Bearer k-2"
    monkeypatch.delenv("OTHER_KEY")
    with pytest.raises(ConfigError, match="OTHER_KEY"):
        open_model("openai/judge", options)


@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "sk-é"])
def test_a_key_with_stray_characters_is_named_but_not_shown(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        open_model("openai/judge")
    assert key not in str(caught.value)


def test_the_url_that_is_really_called_identifies_the_model(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_model("openai/judge").identity["base_url"] == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    model = open_model("openai/judge")
    assert model.identity == {"provider": "openai", "model": "judge", "base_url": server.base_url}
    server.answer(completion())
    assert model.complete(request()).text == "yes"


def test_a_password_in_the_base_url_is_no_part_of_the_identity() -> None:
    model = open_model("openai/judge", ModelOptions(base_url="https://me:secret@judge.example/v1/?token=1"))
    assert model.identity["base_url"] == "https://judge.example/v1"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "http://x:port/v1", ""])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        open_model("openai/judge", ModelOptions(base_url=url))


def test_a_price_is_what_the_user_says_or_unknown() -> None:
    price = Price(input_usd=1.0, output_usd=2.0)
    assert open_model("openai/judge", ModelOptions(price=price)).price == price
    assert open_model("openai/judge").price is None


def test_a_model_name_may_hold_slashes_and_colons(server: ProviderServer) -> None:
    server.answer(completion())
    model = open_model("openai/meta/llama:8b", ModelOptions(base_url=server.base_url))
    model.complete(request())
    assert server.received[0].body["model"] == "meta/llama:8b"
    assert (model.name, model.count_tokens(request()), model.max_concurrency) == ("openai/meta/llama:8b", None, None)


def test_sixty_four_calls_run_at_once(server: ProviderServer, model: Model) -> None:
    server.answer(Answer(body=completion().body, delay_s=0.3))
    started = time.monotonic()
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda _: model.complete(request()), range(64)))
    assert time.monotonic() - started < 64 * 0.3 / 4, "far less than one after the other"


def test_opening_a_model_imports_no_other_providers_sdk() -> None:
    code = """
import sys
from bineval.models.catalog import ModelOptions, open_model
open_model("openai/judge", ModelOptions(base_url="http://localhost:1/v1"))
print(*sorted({"anthropic", "litellm", "llama_cpp", "torch"} & sys.modules.keys()))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == ""
