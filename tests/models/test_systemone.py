import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bineval.errors import (
    ConfigError,
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
)
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.systemone import full_url
from bineval.types import Message, Predicate, Price, Request, Usage
from support.decision_servers import mock, sparrow
from support.provider_server import Answer, ProviderServer, refuse

KEY = "ts-secret-0123456789"
STATE = {"output": "The sky is blue – “blue”.", "input": "Describe the sky."}
BLUE = Predicate(id="blue", instructions="About `output`: Does it say blue?", no="It says grey.")
LONG = Predicate(id="ist es läng-lich?", instructions="About `output`: Is it long?")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture(scope="module")
def model(server: ProviderServer) -> Model:
    return open_model("systemone/judge", ModelOptions(base_url=server.root, timeout_s=5))


def request(*predicates: Predicate, state: object = STATE) -> Request:
    text = json.dumps(state, ensure_ascii=False)
    return Request(messages=(Message(role="user", content=text),), max_tokens=1, predicates=predicates or (BLUE, LONG))


def decided(answers: object, **top: Any) -> Answer:
    usage = {"input_tokens": 40, "output_tokens": 2}
    return Answer(body={"model": "judge-1.2.3", "answers": answers, "usage": usage, **top})


def noul(probability: object) -> dict[str, object]:
    return {"type": "noul", "noul": probability}


# ---- what is sent ----------------------------------------------------------------------------------------------------


def test_state_and_questions_are_sent_in_their_order_and_nothing_else(server: ProviderServer, model: Model) -> None:
    server.answer(decided({"blue": noul(0.9), LONG.id: noul(0.2)}))
    model.complete(request())
    (received,) = server.received
    assert received.path == "/v1/systemone"
    assert received.body == {
        "model": "judge",
        "state": STATE,
        "questions": {
            "blue": {"type": "noul", "instructions": BLUE.instructions, "criteria": {"false": "It says grey."}},
            LONG.id: {"type": "noul", "instructions": LONG.instructions},
        },
    }
    assert list(received.body["state"]) == ["output", "input"]
    assert "authorization" not in received.headers, "no key, no header"


def test_a_lone_surrogate_becomes_a_replacement_character(server: ProviderServer, model: Model) -> None:
    server.answer(decided({"a": noul(0.9)}))
    model.complete(request(Predicate(id="a", instructions="Is it \ud83d?"), state={"output": "half \ud83d 😀"}))
    body = server.received[0].body
    assert (body["state"]["output"], body["questions"]["a"]["instructions"]) == ("half \ufffd 😀", "Is it \ufffd?")


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:1", "http://h:1/v1/systemone"),
        ("http://h:1/", "http://h:1/v1/systemone"),
        ("http://h:1/v1", "http://h:1/v1/systemone"),
        ("http://h:1/v1/systemone", "http://h:1/v1/systemone"),
        ("https://h/inference/v1/", "https://h/inference/v1/systemone"),
        ("https://h/serving/systemone", "https://h/serving/systemone"),
        ("https://h/gateway", "https://h/gateway/v1/systemone"),
        ("https://me:pw@h/v1?version=3", "https://me:pw@h/v1/systemone?version=3"),
    ],
)
def test_the_base_url_may_be_the_root_its_v1_or_the_full_url(base_url: str, url: str) -> None:
    assert full_url(base_url) == url


def test_the_full_url_without_secrets_identifies_the_model() -> None:
    model = open_model("systemone/org/judge:2", ModelOptions(base_url="https://me:pw@judge.example/v1?token=1"))
    assert model.name == "systemone/org/judge:2"
    assert model.identity == {
        "provider": "systemone",
        "model": "org/judge:2",
        "base_url": "https://judge.example/v1/systemone",
    }


def test_without_a_server_there_is_an_error_and_no_guess(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"systemone/judge .*--base-url, or set TYPESAFE_BASE_URL"):
        open_model("systemone/judge")
    monkeypatch.setenv("TYPESAFE_BASE_URL", server.root)
    assert open_model("systemone/judge").identity["base_url"] == f"{server.root}/v1/systemone"
    with pytest.raises(ConfigError, match="base URL 'localhost:8000'"):
        open_model("systemone/judge", ModelOptions(base_url="localhost:8000"))


def test_a_decision_model_writes_no_text(model: Model) -> None:
    capabilities = model.capabilities
    assert (capabilities.generates, capabilities.decides, capabilities.top_logprobs) == (False, True, 0)
    with pytest.raises(ConfigError, match="writes no text"):
        model.complete(Request(messages=(Message(role="user", content="Hello"),), max_tokens=5))


def test_opening_one_imports_no_sdk() -> None:
    code = """
import sys
from bineval.models.catalog import ModelOptions, open_model
open_model("systemone/judge", ModelOptions(base_url="http://localhost:1"))
print(*sorted({"anthropic", "openai", "litellm", "llama_cpp", "torch"} & sys.modules.keys()))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == ""


# ---- what comes back -------------------------------------------------------------------------------------------------


def test_the_reply_holds_what_was_said_to_each_question_as_it_came(server: ProviderServer, model: Model) -> None:
    answers = {"blue": {**noul(0.25), "confidence": 0.9}, "nobody-asked": noul(1)}
    server.answer(decided(answers))
    reply = model.complete(request())
    assert json.loads(reply.text) == {"blue": 0.25}, "one question has no answer, one answer no question"
    assert (reply.model, reply.finish_reason) == ("judge-1.2.3", "stop")
    assert reply.usage == Usage(input_tokens=40, output_tokens=2, calls=1)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (noul(1), 1),
        (noul("0.5"), "0.5"),
        (noul(None), None),
        (noul(True), True),
        ({"type": "noul"}, None),
        ({"type": "boolean", "noul": 0.5}, 0.5),
        ({"type": "refusal"}, "refused"),
        (0.5, None),
        (None, None),
    ],
)
def test_odd_answers_are_kept_and_not_judged_here(
    server: ProviderServer, model: Model, said: object, kept: object
) -> None:
    server.answer(decided({"blue": said}))
    assert json.loads(model.complete(request()).text) == {"blue": kept}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage(calls=1)),
        ({"input_tokens": None, "output_tokens": 0}, Usage(calls=1)),
        ({"input_tokens": 7.0}, Usage(input_tokens=7, calls=1)),
        ("many", Usage(calls=1)),
    ],
)
def test_usage_may_be_missing(server: ProviderServer, model: Model, usage: object, expected: Usage) -> None:
    server.answer(decided({"blue": noul(0.5)}, usage=usage))
    assert model.complete(request()).usage == expected


def test_input_that_a_filter_stops_is_a_refusal(server: ProviderServer, model: Model) -> None:
    server.answer(refuse(400, "filtered", code="content_filter"))
    assert (model.complete(request()).refusal, model.complete(request()).text) == ("filtered", "")


# ---- errors ----------------------------------------------------------------------------------------------------------

FAILURES: list[tuple[Answer, type[ModelError], str]] = [
    (Answer(body={"answers": {}}), ModelRequestError, "answered none of the questions"),
    (Answer(body={"model": "x"}), ModelRequestError, "JSON without answers by question"),
    (Answer(body={"answers": [noul(0.5)]}), ModelRequestError, "check the base URL"),
    (Answer(body={"answers": None}), ModelRequestError, "check the base URL"),
    (Answer(body="<html>Log in</html>"), ModelRequestError, "text/html that is no JSON object"),
    (Answer(body={"error": {"code": 429, "message": "slow"}}), ModelBusyError, "slow"),
    (
        Answer(status=400, body={"detail": {"error_type": "api_usage_error", "message": "odd"}}),
        ModelRequestError,
        "odd",
    ),
    (Answer(status=400, body={"error": "Unknown model: judge"}), ModelNotFoundError, "Unknown model: judge"),
    (
        Answer(status=403, body={"detail": {"error_type": "authentication_error", "message": "no key"}}),
        ModelAuthError,
        "no key",
    ),
    (
        Answer(status=422, body={"detail": {"error_type": "max_tokens_exceeded", "message": "70000 > 64000"}}),
        ModelRequestError,
        "never cut: 70000 > 64000",
    ),
    (
        Answer(status=422, body={"error": "no", "detail": {"error_type": "max_tokens_exceeded"}}),
        ModelRequestError,
        "cut",
    ),
    (Answer(status=422, body={"detail": [{"loc": ["body", "state"], "msg": "bad"}]}), ModelRequestError, "state: bad"),
    (Answer(status=413, body="too large"), ModelRequestError, "too large"),
    (Answer(status=429, body={}), ModelBusyError, "HTTP 429"),
    (Answer(status=501, body={"error": "no decision model"}), ModelNotFoundError, "no decision model"),
    (Answer(status=529, body={"detail": {"error_type": "overloaded", "message": "busy"}}), ModelBusyError, "busy"),
    (Answer(status=304), ModelRequestError, "HTTP 304"),
    (Answer(hang_up=True), ModelBusyError, "no connection to http://127.0.0.1"),
]


@pytest.mark.parametrize(("answer", "error", "words"), FAILURES)
def test_failures_become_errors_that_say_what_to_do(
    server: ProviderServer, model: Model, answer: Answer, error: type[ModelError], words: str
) -> None:
    server.answer(answer)
    with pytest.raises(ModelError) as caught:
        model.complete(request())
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert str(caught.value).startswith("systemone/judge")
    assert len(server.received) == 1, "nothing is tried again here"


def test_wait_and_request_id_are_kept(server: ProviderServer, model: Model) -> None:
    headers = {"retry-after-ms": "250", "Retry-After": "9", "x-typesafe-request-id": "req-7"}
    server.answer(Answer(status=529, body={}, headers=headers))
    with pytest.raises(ModelBusyError) as caught:
        model.complete(request())
    assert (caught.value.retry_after_s, caught.value.request_id) == (0.25, "req-7")


def test_no_answer_in_time_is_busy(server: ProviderServer) -> None:
    server.answer(Answer(delay_s=0.6))
    model = open_model("systemone/judge", ModelOptions(base_url=server.root, timeout_s=0.2))
    with pytest.raises(ModelBusyError, match=r"no reply from http://127\.0\.0\.1:\d+/v1/systemone within 0\.2 s"):
        model.complete(request())


# ---- real servers ----------------------------------------------------------------------------------------------------


def test_a_real_model_answers_as_it_answers_the_formats_own_client() -> None:
    sdk = pytest.importorskip("typesafe_sdk")
    with sparrow() as url:
        price = Price(input_usd=1.0, output_usd=1.0)
        reply = open_model("systemone/any", ModelOptions(base_url=url, price=price)).complete(request())
        questions = {
            "blue": sdk.Noul(instructions=BLUE.instructions, criteria={"false": BLUE.no}),
            LONG.id: sdk.Noul(instructions=LONG.instructions),
        }
        with sdk.TypeSafeClient(api_key="none", base_url=url, model="any") as client:
            answers = client.system_one(STATE, questions).answers
    assert json.loads(reply.text) == {key: answer.noul for key, answer in answers.items()}
    assert reply.model == "sparrow-nano-general-v1.1"
    assert reply.usage == Usage(calls=1), "this server counts no tokens"


def test_the_key_is_sent_as_a_bearer_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock("--key", KEY) as url:
        options = ModelOptions(base_url=url)
        with pytest.raises(ModelAuthError, match="Must supply an API key"):
            open_model("systemone/mock", options).complete(request())
        monkeypatch.setenv("TYPESAFE_API_KEY", "wrong")
        with pytest.raises(ModelAuthError, match="Cannot authenticate") as caught:
            open_model("systemone/mock", options).complete(request())
        assert "wrong" not in str(caught.value)
        monkeypatch.setenv("MY_KEY", KEY)
        model = open_model("systemone/mock", ModelOptions(base_url=url, api_key_env="MY_KEY"))
        assert set(json.loads(model.complete(request()).text)) == {"blue", LONG.id}


def test_a_model_that_is_not_there_and_a_wrong_path_end_a_run_at_once() -> None:
    with mock() as url:
        for name, base_url in [("systemone/nobody", url), ("systemone/mock", f"{url}/other")]:
            with pytest.raises(ModelNotFoundError) as caught:
                open_model(name, ModelOptions(base_url=base_url)).complete(request())
            assert caught.value.stops_run
            assert caught.value.request_id == "req_mock"
