"""`bineval run --judge openai/…` against an HTTP server on the loopback interface."""

import itertools
import json
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.command_line import N_VERDICTS, Finished, Folder
from support.provider_server import Answer, ProviderServer, Received, completion, refuse

YES = completion(json.dumps({"explanation": "It does.", "answer": "yes"}))
AT_ONCE = {"retry-after-ms": "1"}


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        server.answer(YES)
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def arguments(base_url: str, *more: str) -> list[str]:
    judge = ("--judge", "openai/tester", "--base-url", base_url)
    return ["run", "data.jsonl", "--checklist", "checklist.yaml", "--name", "remote", *judge, *more]


def run(folder: Folder, server: ProviderServer, *more: str) -> Finished:
    finished = folder.bineval(*arguments(server.base_url, *more), env={"OPENAI_API_KEY": "sk-test"})
    assert "Traceback" not in finished.err
    return finished


def test_every_question_is_one_request_with_the_key_and_a_schema(folder: Folder, server: ProviderServer) -> None:
    finished = run(folder, server, "--json")
    assert finished.code == 0
    assert len(server.received) == N_VERDICTS
    assert {received.headers["authorization"] for received in server.received} == {"Bearer sk-test"}
    assert {received.body["model"] for received in server.received} == {"tester"}
    assert {received.body["response_format"]["type"] for received in server.received} == {"json_schema"}
    # 12 tokens read and 3 written a call, as the server says
    assert finished.json["usage"] == {
        "calls": N_VERDICTS, "input_tokens": 144, "output_tokens": 36, "cached_input_tokens": 0
    }  # fmt: skip
    assert finished.json["cost_usd"] is None
    assert "cost unknown (no --price given)" in finished.err
    assert finished.json["manifest"]["parameters_changed"] == {}
    assert "sk-test" not in finished.out + finished.err


def test_a_price_that_nobody_gave_is_unknown_and_never_zero(folder: Folder, server: ProviderServer) -> None:
    forecast = run(folder, server, "--dry-run", "--json")
    assert forecast.json["cost_usd"] is None
    assert "cost unknown\nto know the cost, give --price" in forecast.err
    refused = run(folder, server, "--max-cost", "1")
    assert refused.code == 1
    assert "--max-cost cannot be kept: the price of openai/tester is unknown; give --price" in refused.err
    assert server.received == []


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (refuse(401, "Incorrect API key provided", code="invalid_api_key"), "check the API key"),
        (refuse(404, "There is no model tester", code="model_not_found"), "check the model's name and --base-url"),
        (refuse(429, "You exceeded your current quota", code="insufficient_quota"), "the account's billing and quota"),
    ],
)  # fmt: skip
def test_what_no_further_call_can_change_costs_a_single_call(
    folder: Folder, server: ProviderServer, answer: Answer, advice: str
) -> None:
    server.answer(answer)
    finished = run(folder, server, "--json")
    assert (finished.code, finished.out) == (1, "")
    assert len(server.received) == 1
    assert answer.body["error"]["message"] in finished.err
    assert advice in finished.err
    assert "0 of 12 verdicts are kept in run remote" in finished.err


def test_what_was_corrected_after_a_wrong_key_may_differ_and_a_dry_run_agrees(
    folder: Folder, server: ProviderServer
) -> None:
    server.answer(refuse(401, "Incorrect API key provided"))
    assert run(folder, server).code == 1
    server.answer(YES)
    assert run(folder, server, "--mode", "all", "--dry-run", "--json").json["n_calls"] == 4
    assert run(folder, server, "--mode", "all", "--max-unanswered", "1").code == 0


def test_a_key_that_is_missing_is_said_before_any_call(folder: Folder, server: ProviderServer) -> None:
    finished = run(folder, server, "--api-key-env", "NO_SUCH_KEY")
    assert finished.code == 1
    assert "NO_SUCH_KEY" in finished.err
    assert server.received == []


def test_rate_limits_are_waited_for_and_nothing_is_skipped(folder: Folder, server: ProviderServer) -> None:
    count = itertools.count()

    def every_third_is_too_many(received: Received) -> Answer:
        if next(count) % 3 == 2:
            return Answer(status=429, body={"error": {"message": "Too many requests"}}, headers=AT_ONCE)
        return YES

    server.behavior = every_third_is_too_many
    finished = run(folder, server, "--json", "--concurrency", "3")
    assert finished.code == 0
    assert finished.json["status"]["n_answered"] == N_VERDICTS
    assert "Too many requests; trying again in " in finished.err
    asked = Counter(received.body["messages"][1]["content"] for received in server.received)
    assert len(asked) == N_VERDICTS


def test_parameters_that_a_server_refuses_are_tried_once_and_stand_in_the_manifest(
    folder: Folder, server: ProviderServer
) -> None:
    def picky(received: Received) -> Answer:
        if "temperature" in received.body:
            return refuse(400, "Unsupported parameter", param="temperature", code="unsupported_parameter")
        if received.body["response_format"]["type"] == "json_schema":
            return refuse(400, "json_schema is not supported here", param="response_format.type")
        return YES

    server.behavior = picky
    finished = run(folder, server, "--json")
    assert finished.code == 0
    assert len(server.received) == N_VERDICTS + 2, "one refused call for each parameter"
    changed = {"temperature": "dropped", "response_format": "sent as json_object with schema"}
    assert finished.json["manifest"]["parameters_changed"] == changed
    again = run(folder, server, "--json")
    assert len(server.received) == N_VERDICTS + 2
    assert again.json["manifest"]["parameters_changed"] == changed, "a sitting that asks nothing forgets nothing"


def test_refusals_and_inputs_that_are_too_long_stay_unanswered_and_are_not_retried(
    folder: Folder, server: ProviderServer
) -> None:
    def choosy(received: Received) -> Answer:
        question = received.body["messages"][1]["content"]
        if "say blue" in question:
            return completion(None, choice={"message": {"content": None, "refusal": "I would rather not."}})
        if "fewer than" in question:
            return refuse(400, "maximum context length is 8 tokens", code="context_length_exceeded")
        return YES

    server.behavior = choosy
    finished = run(folder, server, "--json")
    assert finished.code == 4
    assert len(server.received) == N_VERDICTS
    reasons = {row["question_id"]: row["reasons"] for row in finished.json["questions"]}
    assert reasons == {"blue": {"refused": 4}, "short": {"error": 4}, "stop": {}}
    with folder.stored_run("remote") as stored:
        explanations = [row.verdict.explanation or "" for row in stored.verdicts()][:2]
    assert "I would rather not." in explanations[0]
    assert "text is never cut" in explanations[1]


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A run whose server is away."""

    folder: Folder
    process: "subprocess.Popen[str]"

    def end(self) -> str:
        """Waits for the end of the run, and returns what it said."""
        _, err = self.process.communicate(timeout=100)
        assert self.process.returncode == 1
        assert "Traceback" not in err
        return err


def begin(folder: Folder, base_url: str, *more: str) -> Outage:
    return Outage(folder=folder, process=folder.start(*arguments(base_url, *more)))


@pytest.fixture(scope="module")
def failing() -> Iterator[ProviderServer]:
    """A server that goes away after two replies."""
    with ProviderServer() as server:
        server.answer(YES, YES, Answer(status=503, body={"error": {"message": "upstream is down"}}))
        yield server


@pytest.fixture(scope="module", autouse=True)
def outages(tmp_path_factory: pytest.TempPathFactory, failing: ProviderServer) -> Iterator[tuple[Outage, Outage]]:
    """Runs of the last two tests, begun before the first since their tries take their time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed_port = free.getsockname()[1]
    never = begin(Folder(tmp_path_factory.mktemp("never")), f"http://127.0.0.1:{closed_port}/v1")
    # Eight at once, so that more calls in a row fail than are under way together.
    midway = begin(Folder(tmp_path_factory.mktemp("midway")), failing.base_url, "--repeats", "2")
    yield never, midway
    for outage in (never, midway):
        outage.process.kill()
        outage.process.communicate()


def test_a_server_that_is_not_there_ends_the_run_after_a_few_tries(outages: tuple[Outage, Outage]) -> None:
    err = outages[0].end()
    assert "no connection to http://127.0.0.1:" in err
    assert "trying again in" in err
    assert "0 of 12 verdicts are kept in run remote; the same command goes on from there" in err


def test_an_outage_midway_ends_the_run_and_the_same_command_goes_on(
    outages: tuple[Outage, Outage], failing: ProviderServer
) -> None:
    _, midway = outages
    err = midway.end()
    assert "error: openai/tester (HTTP 503): upstream is down" in err
    assert "\n2 of 24 verdicts are kept in run remote; the same command goes on from there" in err
    # Two replies; then at least 8 + 8 in a row failed, each after 6 tries, and not all 22 that were left.
    assert 2 + 16 * 6 <= len(failing.received) <= 2 + 22 * 6
    with midway.folder.stored_run("remote") as stored:
        assert stored.status().n_answered == 2
        assert {row.verdict.reason for row in stored.verdicts()} == {None, "error"}
    failing.answer(YES)
    resumed = run(midway.folder, failing, "--repeats", "2", "--json")
    assert resumed.code == 0
    assert len(failing.received) == 24 - 2, "what failed is asked again, and nothing else"
    assert resumed.json["status"]["n_answered"] == 24
