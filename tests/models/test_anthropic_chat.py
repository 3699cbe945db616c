import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bineval.errors import (
    ConfigError,
    MissingDependencyError,
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
)
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.types import Message, Request, Usage
from support.provider_server import Answer, ProviderServer, Received, message, refuse

pytest.importorskip("anthropic", reason="the extra `anthropic` is not installed")

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string", "maxLength": 3}}}


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


@pytest.fixture
def model(server: ProviderServer) -> Model:
    server.answer(message())
    return open_model("anthropic/judge", ModelOptions(base_url=server.root, timeout_s=5))


def request(**parts: Any) -> Request:
    messages = (Message(role="system", content="Rules."), Message(role="user", content="Is it?"))
    return Request(messages=messages, **{"max_tokens": 50, **parts})


def test_the_system_text_stands_apart_and_the_schema_is_sent_natively(server: ProviderServer, model: Model) -> None:
    reply = model.complete(request(schema=SCHEMA))
    (received,) = server.received
    assert received.path == "/v1/messages"
    # Version 1 of the SDK sends the first of these headers, version 2 the second.
    assert "sk-ant-secret" in received.headers.get("x-api-key", received.headers.get("authorization", ""))
    assert received.headers["anthropic-version"]
    strict = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    assert received.body == {
        "model": "judge",
        "system": "Rules.",
        "messages": [{"role": "user", "content": "Is it?"}],
        "max_tokens": 50,
        "temperature": 0.0,
        "output_config": {"format": {"type": "json_schema", "schema": strict}},
    }
    assert reply.params_used == {"max_tokens": 50, "temperature": 0.0, "output_config": "json_schema"}


def test_without_system_text_none_is_sent(server: ProviderServer, model: Model) -> None:
    model.complete(Request(messages=(Message(role="user", content="?"),), max_tokens=5, temperature=None))
    assert set(server.received[0].body) == {"model", "messages", "max_tokens"}


def test_a_reply_has_text_usage_and_the_model_that_answered(model: Model) -> None:
    reply = model.complete(request())
    assert (reply.text, reply.finish_reason, reply.model, reply.reasoning) == ("yes", "stop", "served", None)
    assert reply.usage == Usage(input_tokens=12, output_tokens=3, calls=1)


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
CACHED = {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (message(stop_reason="stop_sequence"), {"finish_reason": "stop"}),
        (message(stop_reason="max_tokens"), {"finish_reason": "length"}),
        (message(stop_reason="model_context_window_exceeded"), {"finish_reason": "length"}),
        (message(stop_reason="pause_turn"), {"finish_reason": "other"}),
        (message(content=[], stop_reason="refusal"), {"finish_reason": "refused", "text": "", "refusal": None}),
        (
            message(stop_reason="refusal", stop_details={"type": "refusal", "explanation": "No."}),
            {"finish_reason": "refused", "refusal": "No."},
        ),
        (message(content=[THOUGHT, {"type": "text", "text": "no"}]), {"text": "no", "reasoning": "Hm."}),
        (message(content=[{"type": "text", "text": "n"}, {"type": "text", "text": "o"}]), {"text": "no"}),
        (message(usage=CACHED), {"usage": Usage(input_tokens=95, output_tokens=1, cached_input_tokens=70, calls=1)}),
        (message(usage=None), {"usage": Usage(calls=1)}),
    ],
)
def test_answers_in_many_shapes_become_replies(
    server: ProviderServer, model: Model, answer: Answer, expected: dict[str, Any]
) -> None:
    server.answer(answer)
    reply = model.complete(request())
    assert {name: getattr(reply, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (refuse(401, "invalid x-api-key", type="authentication_error"), ModelAuthError, "invalid x-api-key"),
        (refuse(402, "pay first", type="billing_error"), ModelAuthError, "pay first"),
        (
            refuse(400, "Your credit balance is too low to go on", type="invalid_request_error"),
            ModelAuthError,
            "credit",
        ),
        (
            refuse(429, "spent", type="rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
            ModelAuthError,
            "spent",
        ),
        (refuse(404, "model: judge", type="not_found_error"), ModelNotFoundError, "model: judge"),
        (refuse(429, "slow down", type="rate_limit_error"), ModelBusyError, "slow down"),
        (refuse(529, "overloaded", type="overloaded_error"), ModelBusyError, "overloaded"),
        (refuse(400, "prompt is too long: 9 tokens > 8 maximum"), ModelRequestError, "never cut"),
        (refuse(400, "input length and `max_tokens` exceed context limit: 7 + 2 > 8"), ModelRequestError, "never cut"),
        (refuse(413, "big", type="request_too_large"), ModelRequestError, "never cut"),
        (refuse(400, "max_tokens: 50 > 40, the most for this model"), ModelRequestError, "max_tokens: 50"),
        (Answer(body={"type": "error", "error": {"type": "overloaded_error", "message": "x"}}), ModelBusyError, "x"),
        (Answer(body={"hello": 1}), ModelRequestError, "check the base URL"),
        (Answer(hang_up=True), ModelBusyError, "no connection"),
    ],
)
def test_failures_become_errors_that_say_what_to_do(
    server: ProviderServer, model: Model, answer: Answer, error: type[ModelError], words: str
) -> None:
    server.answer(answer)
    with pytest.raises(ModelError) as caught:
        model.complete(request())
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert len(server.received) == 1


def test_an_error_keeps_the_providers_request_id_and_wait(server: ProviderServer, model: Model) -> None:
    server.answer(Answer(status=429, body={}, headers={"request-id": "req_1", "retry-after": "9"}))
    with pytest.raises(ModelBusyError) as caught:
        model.complete(request())
    assert (caught.value.request_id, caught.value.retry_after_s) == ("req_1", 9.0)


def test_parameters_that_the_server_refuses_are_left_out(server: ProviderServer, model: Model) -> None:
    def old(received: Received) -> Answer:
        for field in ("output_config", "temperature"):
            if field in received.body:
                return refuse(400, f"{field}: Extra inputs are not permitted", type="invalid_request_error")
        return message()

    server.behavior = old
    reply = model.complete(request(schema=SCHEMA))
    assert reply.params_used == {"max_tokens": 50}
    assert model.dropped_parameters() == {"response_format": "dropped", "temperature": "dropped"}


def test_what_the_api_does_not_have_is_reported_as_dropped(server: ProviderServer, model: Model) -> None:
    model.complete(request(seed=1, top_logprobs=5))
    assert set(server.received[0].body) == {"model", "messages", "system", "max_tokens", "temperature"}
    assert model.dropped_parameters() == {"seed": "dropped", "logprobs": "dropped"}


def test_the_url_that_is_really_called_identifies_the_model(
    server: ProviderServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model.identity == {"provider": "anthropic", "model": "judge", "base_url": server.root}
    assert open_model("anthropic/judge").identity["base_url"] == "https://api.anthropic.com"
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        open_model("anthropic/judge")


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bineval\[anthropic\]'"):
        open_model("anthropic/judge")
