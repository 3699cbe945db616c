import email.utils
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bineval.errors import (
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
)
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.types import Message, Request
from support.provider_server import Answer, ProviderServer, completion, refuse

KEY = "sk-secret-0123456789"
REQUEST = Request(messages=(Message(role="user", content="Is it?"),), max_tokens=50)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def _key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield


@pytest.fixture(scope="module")
def model(server: ProviderServer) -> Model:
    return open_model("openai/judge", ModelOptions(base_url=server.base_url, timeout_s=5))


FAILURES: list[tuple[Answer, type[ModelError], str]] = [
    (refuse(401, "Incorrect API key", code="invalid_api_key"), ModelAuthError, "Incorrect API key"),
    (refuse(403, "not for you"), ModelAuthError, "not for you"),
    (refuse(402, "no balance"), ModelAuthError, "no balance"),
    (refuse(429, "quota", code="insufficient_quota"), ModelAuthError, "quota"),
    (refuse(429, "not active", type="billing_not_active"), ModelAuthError, "not active"),
    (refuse(404, "no such model", code="model_not_found"), ModelNotFoundError, "no such model"),
    (refuse(403, "no access to the model", code="model_not_found"), ModelNotFoundError, "no access"),
    (Answer(status=404, body={"detail": "Not Found"}), ModelNotFoundError, "--base-url"),
    (Answer(status=405, body={"detail": "Method Not Allowed"}), ModelNotFoundError, "--base-url"),
    (refuse(429, "slow down", code="rate_limit_exceeded"), ModelBusyError, "slow down"),
    (refuse(408, "too slow"), ModelBusyError, "too slow"),
    (refuse(409, "conflict"), ModelBusyError, "conflict"),
    (refuse(500, "oops"), ModelBusyError, "oops"),
    (refuse(500, "1 validation error:\n  {'loc': ('body', 'messages')}"), ModelRequestError, "1 validation error"),
    (Answer(status=503, body="<html><h1>Service\n Unavailable</h1></html>"), ModelBusyError, "Service Unavailable"),
    (refuse(501, "not implemented"), ModelRequestError, "not implemented"),
    (refuse(400, "the limit of tries is 3"), ModelRequestError, "limit of tries"),
    (refuse(413, "too large"), ModelRequestError, "too large"),
    (Answer(status=400, body={"error": "plain words"}), ModelRequestError, "plain words"),
    (Answer(status=400, body={"object": "error", "message": "old shape", "code": 400}), ModelRequestError, "old shape"),
    (Answer(status=400, body=[{"error": {"message": "in a list"}}]), ModelRequestError, "in a list"),
    (
        Answer(status=422, body={"detail": [{"loc": ["body", "messages", 0], "msg": "no text", "input": "all of it"}]}),
        ModelRequestError,
        "body.messages.0: no text",
    ),
    (
        Answer(status=422, body={"message": {"detail": [{"loc": ["body", "n"], "msg": "extra"}]}}),
        ModelRequestError,
        "body.n: extra",
    ),
    (Answer(status=400, body={}), ModelRequestError, "HTTP 400"),
    # Errors that come with status 200.
    (Answer(body={"error": {"code": 429, "message": "slow"}}), ModelBusyError, "HTTP 429"),
    (Answer(body={"error": {"code": 401, "message": "who?"}}), ModelAuthError, "who?"),
    (Answer(body={"error": {"code": "rate_limit_exceeded", "message": "slow"}}), ModelBusyError, "slow"),
    (Answer(body={"error": {"message": "no idea"}}), ModelRequestError, "no idea"),
    (completion(choices=[]), ModelBusyError, "no choices"),
    (completion(choices=[{"error": {"code": 502, "message": "upstream"}}]), ModelBusyError, "upstream"),
    (Answer(body="<html>Log in</html>"), ModelRequestError, "check the base URL"),
    (Answer(body={"hello": "world"}), ModelRequestError, "check the base URL"),
    (Answer(body=[1, 2]), ModelRequestError, "check the base URL"),
    (Answer(hang_up=True), ModelBusyError, "no connection"),
    # An input that is too long, in the words of several servers.
    (refuse(400, "long", code="context_length_exceeded"), ModelRequestError, "never cut"),
    (refuse(400, "long", type="exceed_context_size_error"), ModelRequestError, "never cut"),
    (
        refuse(400, "This model's maximum context length is 8 tokens; lower max_tokens", param="max_tokens"),
        ModelRequestError,
        "never cut",
    ),
    (refuse(400, "the request exceeds the available context size"), ModelRequestError, "never cut"),
    (refuse(400, "The input token count (9) exceeds the maximum number"), ModelRequestError, "never cut"),
]


@pytest.mark.parametrize(("answer", "error", "words"), FAILURES)
def test_failures_become_errors_that_say_what_to_do(
    server: ProviderServer, model: Model, answer: Answer, error: type[ModelError], words: str
) -> None:
    server.answer(answer)
    with pytest.raises(ModelError) as caught:
        model.complete(REQUEST)
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert str(caught.value).startswith("openai/judge")
    assert len(server.received) == 1, "nothing is tried again here"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "1500", "Retry-After": "7"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-3"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_that_the_server_asks_for_is_kept(
    server: ProviderServer, model: Model, headers: dict[str, str], seconds: float | None
) -> None:
    server.answer(Answer(status=429, body={}, headers=headers))
    with pytest.raises(ModelBusyError) as caught:
        model.complete(REQUEST)
    assert caught.value.retry_after_s == seconds


def test_the_wait_may_be_a_date(server: ProviderServer, model: Model) -> None:
    date = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    server.answer(Answer(status=503, body={}, headers={"Retry-After": date}))
    with pytest.raises(ModelBusyError) as caught:
        model.complete(REQUEST)
    assert caught.value.retry_after_s == pytest.approx(89, abs=3)


def test_an_error_names_status_and_request(server: ProviderServer, model: Model) -> None:
    server.answer(Answer(status=500, body={}, headers={"x-request-id": "r-77"}))
    with pytest.raises(ModelBusyError, match=r"HTTP 500, request r-77") as caught:
        model.complete(REQUEST)
    assert (caught.value.status, caught.value.request_id) == (500, "r-77")


def test_a_key_that_the_server_repeats_is_not_shown(server: ProviderServer, model: Model) -> None:
    server.answer(refuse(401, f"bad key {KEY}"))
    with pytest.raises(ModelAuthError) as caught:
        model.complete(REQUEST)
    assert "bad key [key]" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "answer",
    [
        refuse(400, "filtered", code="content_filter"),
        refuse(400, "filtered", innererror={"code": "ResponsibleAIPolicyViolation"}),
        refuse(403, "filtered", code=403, metadata={"flagged_input": "x", "reasons": ["y"]}),
    ],
)
def test_input_that_a_filter_stops_is_a_refusal_and_no_error(
    server: ProviderServer, model: Model, answer: Answer
) -> None:
    server.answer(answer)
    reply = model.complete(REQUEST)
    assert (reply.finish_reason, reply.refusal, reply.text) == ("refused", "filtered", "")


def test_no_reply_in_time_is_busy_and_says_how_long_it_waited(server: ProviderServer) -> None:
    server.answer(Answer(delay_s=0.6))
    model = open_model("openai/judge", ModelOptions(base_url=server.base_url, timeout_s=0.2))
    with pytest.raises(ModelBusyError, match=r"no reply from http://127\.0\.0\.1:\d+/v1 within 0\.2 s"):
        model.complete(REQUEST)


def test_a_server_that_is_not_there_is_busy_and_named() -> None:
    with socket.socket() as taken:  # bound but not listening: nobody else can take the port, and it refuses
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelBusyError, match=f"no connection to {url}: "):
            open_model("openai/judge", ModelOptions(base_url=url)).complete(REQUEST)
