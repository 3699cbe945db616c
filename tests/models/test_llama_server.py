"""The smallest real model behind llama-cpp-python's own HTTP server, judged through `openai/…`."""

import importlib.util
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from bineval.errors import ModelRequestError
from bineval.judging.chat import ChatSettings
from bineval.judging.job import RunOptions
from bineval.judging.logprob import LogprobSettings
from bineval.judging.parsing import read_one
from bineval.judging.plans import JudgeOptions
from bineval.methods.evaluate import evaluate
from bineval.models.base import Model
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.registry import find
from bineval.types import Checklist, Dimension, Message, Question, Request

MODEL = find("smollm2-135m").path
SERVER_PACKAGES = ("llama_cpp", "uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings")
MISSING = [name for name in SERVER_PACKAGES if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(not MODEL.is_file(), reason="not here: bineval models pull smollm2-135m"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (llama-cpp-python[server])"),
]

READY_S = 120
NEGOTIATED = {"response_format": "sent as json_object with schema"}


@dataclass(frozen=True, kw_only=True)
class LlamaServer:
    """A running server; its log has a line for each request."""

    port: int
    log: Path

    @property
    def options(self) -> ModelOptions:
        return ModelOptions(base_url=f"http://127.0.0.1:{self.port}/v1", timeout_s=300)

    def statuses(self) -> list[int]:
        """HTTP status of each chat completion so far."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [int(line.split('HTTP/1.1" ')[1].split()[0]) for line in lines if '"POST /v1/chat/completions' in line]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """One thread and a short context: quick to start, and no other work is kept from the cores."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("llama") / "server.log"
    settings = {"model": MODEL, "port": port, "n_ctx": 2048, "n_threads": 1, "n_threads_batch": 1, "host": "127.0.0.1"}
    arguments = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "llama_cpp.server", *arguments],
            stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
    try:
        _wait_until_ready(process, port, log)
        yield LlamaServer(port=port, log=log)
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended: {log.read_text()}"
        try:
            if httpx2.get(f"http://127.0.0.1:{port}/v1/models").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    pytest.fail(f"the server is not ready after {READY_S} s: {log.read_text()}")


@pytest.fixture
def model(server: LlamaServer) -> Model:
    """A model that knows nothing yet of what the server takes."""
    return open_model("openai/smollm2", server.options)


def answer_schema(explanation: str) -> dict[str, object]:
    """Schema of a verdict whose explanation is this text, letter by letter."""
    return {
        "type": "object",
        "properties": {
            "explanation": {"type": "string", "pattern": f"^{explanation}$"},
            "answer": {"type": "string", "enum": ["yes", "no"]},
        },
        "required": ["explanation", "answer"],
        "additionalProperties": False,
    }


def request(text: str, **values: object) -> Request:
    return Request(messages=(Message(role="user", content=text),), **{"max_tokens": 40, **values})  # type: ignore[arg-type]


def test_a_schema_it_refuses_is_negotiated_once_down_to_the_form_it_takes(server: LlamaServer, model: Model) -> None:
    n_before = len(server.statuses())
    for text in ("Is snow white?", "Is coal white?"):
        reply = model.complete(request(text, schema=answer_schema("ok")))
        assert reply.params_used["response_format"] == "json_object with schema"
        assert list(json.loads(reply.text)) == ["explanation", "answer"]
        assert (reply.finish_reason, reply.model) == ("stop", "smollm2")
        assert reply.usage.input_tokens > 0
    assert model.dropped_parameters() == NEGOTIATED
    assert server.statuses()[n_before:] == [500, 200, 200], "it calls a request that it does not take an internal error"


def test_raw_line_breaks_inside_strings_survive(model: Model) -> None:
    reply = model.complete(request("Is snow white?", schema=answer_schema("one\ntwo")))
    assert "one\ntwo" in reply.text, "not escaped, as JSON would have it"
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.text)
    parsed = read_one(reply.text, "q", may_not_apply=False).answers["q"]
    assert (parsed.explanation, parsed.answer in ("yes", "no")) == ("one\ntwo", True)


def test_log_probabilities_come_through(model: Model) -> None:
    reply = model.complete(request("Say yes.", max_tokens=2, top_logprobs=5))
    assert reply.logprobs is not None
    assert "".join(token.token for token in reply.logprobs) == reply.text
    for token in reply.logprobs:
        assert token.top[0] == (token.token, token.logprob)
        assert sum(math.exp(logprob) for _, logprob in token.top) <= 1 + 1e-6


def test_a_text_that_is_too_long_for_it_is_final_and_never_cut(server: LlamaServer, model: Model) -> None:
    n_before = len(server.statuses())
    with pytest.raises(ModelRequestError, match=r"text is never cut: .*maximum context length is 2048 tokens"):
        model.complete(request("word " * 2100))
    assert server.statuses()[n_before:] == [400]


def test_a_logprob_judge_reads_probabilities_over_it(server: LlamaServer, tmp_path: Path) -> None:
    checklist = Checklist(
        name="snow",
        dimensions={"content": Dimension()},
        questions=tuple(
            Question(id=what, text=f"Is it about {what}?", dimension="content") for what in ("snow", "rain", "dogs")
        ),
    )
    data = [{"id": "a", "input": "Tell me about snow.", "output": "Snow is white."}]
    options = RunOptions(
        model=server.options, judge=JudgeOptions(kind="logprob", logprob=LogprobSettings(min_mass=0.0))
    )
    n_before = len(server.statuses())
    with evaluate(data, checklist, judge="openai/smollm2", store=tmp_path / "runs.db", options=options) as run:
        verdicts = [row.verdict for row in run.verdicts()]
    assert server.statuses()[n_before:] == [200] * 3
    for verdict in verdicts:
        assert verdict.answer in ("yes", "no"), verdict
        assert verdict.probability is not None
        assert verdict.outside_mass is not None
        assert (verdict.answer == "yes") == (verdict.probability > 0.5)
        assert verdict.usage.output_tokens == 1


def test_a_run_over_it_has_verdicts_and_asks_nothing_twice(server: LlamaServer, tmp_path: Path) -> None:
    questions = ("Is the text about snow?", "Does the text name a color?")
    checklist = Checklist(
        name="snow",
        dimensions={"content": Dimension(scale=(1, 5))},
        questions=tuple(Question(id=f"q{i}", text=text, dimension="content") for i, text in enumerate(questions)),
    )
    data = [{"id": "a", "input": "Tell me about snow.", "output": "Snow is white."}]
    options = RunOptions(model=server.options, judge=JudgeOptions(chat=ChatSettings(max_tokens=60)))
    n_before = len(server.statuses())
    for _ in range(2):
        with evaluate(data, checklist, judge="openai/smollm2", store=tmp_path / "runs.db", options=options) as run:
            verdicts = [row.verdict for row in run.verdicts()]
            assert [row.question_id for row in run.verdicts()] == ["q0", "q1"]
            assert all(verdict.answer in ("yes", "no") for verdict in verdicts), verdicts
            assert all(verdict.explanation and verdict.usage.input_tokens > 200 for verdict in verdicts)
            assert run.manifest["parameters_changed"] == NEGOTIATED
            assert run.status().finished
    calls = server.statuses()[n_before:]
    assert calls.count(500) == 1
    assert len(calls) - 1 == sum(verdict.usage.calls for verdict in verdicts)
