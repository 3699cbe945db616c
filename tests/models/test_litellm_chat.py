import importlib.util
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
from bineval.types import Message, Price, Request, Usage
from support.provider_server import Answer, ProviderServer, Received, completion, refuse

with_litellm = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="the extra `litellm` is not installed"
)
# litellm's own code warns on import and use; that is no concern of ours.
pytestmark = [pytest.mark.filterwarnings("ignore")]

KEY = "sk-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture
def model(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("OWN_KEY", KEY)
    server.answer(completion())
    options = ModelOptions(base_url=server.base_url, api_key_env="OWN_KEY", timeout_s=5)
    return open_model("litellm/openai/judge", options)


def request(**parts: Any) -> Request:
    messages = (Message(role="system", content="Rules."), Message(role="user", content="Is it?"))
    return Request(messages=messages, **{"max_tokens": 50, **parts})


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bineval\[litellm\]'"):
        open_model("litellm/openai/judge")


@with_litellm
def test_a_reply_has_text_usage_and_the_model_that_answered(server: ProviderServer, model: Model) -> None:
    reply = model.complete(request(schema=SCHEMA))
    assert (reply.text, reply.finish_reason) == ("yes", "stop")
    assert reply.usage == Usage(input_tokens=12, output_tokens=3, calls=1)
    (received,) = server.received
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body["messages"][0] == {"role": "system", "content": "Rules."}
    assert received.body["response_format"]["type"] == "json_schema"
    assert reply.params_used["response_format"] == "json_schema"


@with_litellm
def test_litellm_prints_nothing_on_failure(
    server: ProviderServer, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer(refuse(401, "who?"))
    with pytest.raises(ModelAuthError):
        model.complete(request())
    assert capsys.readouterr().out == ""


@with_litellm
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refuse(401, f"bad key {KEY}", code="invalid_api_key"), ModelAuthError),
        (refuse(429, "no quota", code="insufficient_quota"), ModelAuthError),
        (refuse(404, "no such model", code="model_not_found"), ModelNotFoundError),
        (refuse(429, "slow down"), ModelBusyError),
        (refuse(500, "oops"), ModelBusyError),
        (refuse(503, "later"), ModelBusyError),
        (Answer(hang_up=True), ModelBusyError),
        (refuse(400, "maximum context length is 8 tokens", code="context_length_exceeded"), ModelRequestError),
        (refuse(400, "nonsense"), ModelRequestError),
    ],
)
def test_failures_become_our_errors_after_one_call(
    server: ProviderServer, model: Model, answer: Answer, error: type[ModelError]
) -> None:
    server.answer(answer)
    with pytest.raises(ModelError) as caught:
        model.complete(request())
    assert type(caught.value) is error
    assert KEY not in str(caught.value)
    assert len(server.received) == 1


@with_litellm
def test_the_wait_that_the_server_asks_for_is_kept(server: ProviderServer, model: Model) -> None:
    server.answer(Answer(status=429, body={"error": {"message": "slow"}}, headers={"Retry-After": "7"}))
    with pytest.raises(ModelBusyError) as caught:
        model.complete(request())
    assert caught.value.retry_after_s == 7.0


@with_litellm
def test_no_reply_in_time_is_busy(server: ProviderServer) -> None:
    server.answer(Answer(delay_s=0.6))
    model = open_model("litellm/openai/judge", ModelOptions(base_url=server.base_url, timeout_s=0.2))
    with pytest.raises(ModelBusyError):
        model.complete(request())


@with_litellm
def test_a_refused_parameter_is_left_out(server: ProviderServer, model: Model) -> None:
    def behavior(received: Received) -> Answer:
        return refuse(400, "temperature: no", param="temperature") if "temperature" in received.body else completion()

    server.behavior = behavior
    assert "temperature" not in model.complete(request()).params_used
    assert model.dropped_parameters() == {"temperature": "dropped"}


@with_litellm
def test_the_price_comes_from_litellm_unless_the_user_or_a_base_url_says_otherwise() -> None:
    listed = open_model("litellm/openai/gpt-4o").price
    assert listed is not None
    assert 0 < listed.input_usd < listed.output_usd < 1000, "dollars per million tokens"
    assert open_model("litellm/openai/gpt-4o", ModelOptions(base_url="http://localhost:1/v1")).price is None
    own = Price(input_usd=1.0, output_usd=2.0)
    assert open_model("litellm/openai/gpt-4o", ModelOptions(price=own)).price == own
    assert open_model("litellm/openai/no-such-model").price is None


@with_litellm
def test_a_provider_that_litellm_does_not_know_is_found_before_any_call() -> None:
    with pytest.raises(ConfigError, match="litellm knows no such provider"):
        open_model("litellm/nobody-at-all")
