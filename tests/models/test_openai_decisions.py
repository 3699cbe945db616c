import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from bineval.errors import ConfigError, ModelError, ModelNotFoundError, ModelRequestError
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.sizing import input_tokens
from bineval.types import Message, Predicate, Request, Usage
from support.provider_server import Answer, ProviderServer, refuse

KEY = "sk-secret-0123456789"
STATE = {"output": "The sky is blue.", "input": "Describe the sky."}
BLUE = Predicate(id="blue", instructions="About `output`: Does it say blue?", yes="The word.", no="It says grey.")
LONG = Predicate(id="long", instructions="About `output`: Is it long?")


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture(scope="module")
def model(server: ProviderServer) -> Iterator[Model]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield open_model("decisions/gpt-x", ModelOptions(base_url=server.base_url, timeout_s=5))


def request(state: object = STATE) -> Request:
    text = json.dumps(state, ensure_ascii=False)
    return Request(messages=(Message(role="user", content=text),), max_tokens=1, predicates=(BLUE, LONG))


def decided(*answers: object, **top: Any) -> Answer:
    details = {"cached_tokens": 32, "cache_write_tokens": 0}
    usage = {
        "input_tokens": 40,
        "input_tokens_details": details,
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 42,
    }
    return Answer(body={"model": "gpt-x-2026-10-01", "answers": list(answers), "usage": usage, **top})


def predicate(name: object, probability: object) -> dict[str, object]:
    return {"type": "predicate", "name": name, "probability": probability}


def values(model: Model) -> object:
    return json.loads(model.complete(request()).text)


def test_state_and_questions_are_sent_as_the_official_client_sends_them(server: ProviderServer, model: Model) -> None:
    server.answer(decided(predicate("blue", 0.9), predicate("long", 0.2)))
    reply = model.complete(request())
    questions: list[Any] = [
        {
            "type": "predicate",
            "name": "blue",
            "instructions": "About `output`: Does it say blue?\nCounts as yes: The word.\nCounts as no: It says grey.",
        },
        {"type": "predicate", "name": "long", "instructions": "About `output`: Is it long?"},
    ]
    content: list[Any] = [{"type": "input_json", "data": STATE}]
    with openai.OpenAI(api_key=KEY, base_url=server.base_url) as client:
        decision = client.decisions.create(
            model="gpt-x", input=[{"role": "user", "content": content}], questions=questions
        )
    ours, theirs = server.received
    assert ours.path == theirs.path == "/v1/decisions"
    assert ours.body == theirs.body
    assert ours.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(reply.text) == {answer.name: answer.probability for answer in decision.answers}  # type: ignore[union-attr]
    assert reply.model == "gpt-x-2026-10-01"
    assert reply.usage == Usage(input_tokens=40, output_tokens=2, cached_input_tokens=32, calls=1)


@pytest.mark.parametrize(
    ("answers", "kept"),
    [
        ([predicate("blue", 0.9), {"type": "refusal", "name": "long"}], {"blue": 0.9, "long": "refused"}),
        ([predicate("blue", "high"), predicate("long", None)], {"blue": "high", "long": None}),
        ([predicate("blue", 0.9)], {"blue": 0.9}),
        ([predicate("blue", 0.9), predicate("long", 0.1), predicate("more", 0.5)], {"blue": 0.9, "long": 0.1}),
        # Swapped, so that nobody knows which is meant.
        ([predicate("long", 0.1), predicate("blue", 0.9)], {}),
        ([predicate(None, 0.1), predicate("long", 0.1)], {"long": 0.1}),
        ([0.5, predicate("long", 0.1)], {"long": 0.1}),
    ],
)
def test_an_answer_counts_only_at_its_place_and_under_its_name(
    server: ProviderServer, model: Model, answers: list[object], kept: dict[str, object]
) -> None:
    server.answer(decided(*answers))
    assert values(model) == kept


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (decided(), ModelRequestError, "answered none of the questions"),
        # SGLang has an API of its own at this path.
        (Answer(body={"decisions": [{"label": "yes"}]}), ModelRequestError, "check the base URL"),
        (decided(answers={"blue": 0.5}), ModelRequestError, "without a list of answers"),
        (Answer(status=404, body={"detail": "Not Found"}), ModelNotFoundError, "--base-url"),
        (Answer(status=501, body={"error": "not here"}), ModelNotFoundError, "not here"),
        (refuse(400, "long", code="context_length_exceeded"), ModelRequestError, "never cut"),
    ],
)
def test_failures_are_told(
    server: ProviderServer, model: Model, answer: Answer, error: type[ModelError], words: str
) -> None:
    server.answer(answer)
    with pytest.raises(ModelError, match=words) as caught:
        model.complete(request())
    assert type(caught.value) is error


def test_a_state_beyond_the_limit_of_the_api_is_an_error_before_any_call(server: ProviderServer, model: Model) -> None:
    # {"output":"…"} is 13 bytes and the text, of two bytes a character: 2 · 131,065 + 13 = 262,143 of 262,144 bytes.
    server.answer(decided(predicate("blue", 0.9)))
    model.complete(request({"output": "ä" * 131_065}))
    too_long = request({"output": "ä" * 131_066})
    for ask in (model.complete, lambda request: input_tokens(model, request)):
        with pytest.raises(ModelRequestError, match="takes 262145 bytes as JSON, this API at most 262144"):
            ask(too_long)
    assert len(server.received) == 1


def test_a_missing_key_is_found_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_model("decisions/gpt-x")


def test_it_says_what_it_is(server: ProviderServer, model: Model) -> None:
    assert model.identity == {"provider": "decisions", "model": "gpt-x", "base_url": server.base_url}
    assert (model.capabilities.generates, model.capabilities.max_predicates) == (False, 400)
    with pytest.raises(ConfigError, match="writes no text"):
        model.complete(Request(messages=(Message(role="user", content="Hello"),), max_tokens=5))
