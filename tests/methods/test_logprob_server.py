"""A run of kind logprob over real HTTP, from the request's fields to the verdicts."""

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions
from bineval.judging.runs import Run
from bineval.methods.evaluate import evaluate
from bineval.models.catalog import ModelOptions
from bineval.models.limits import Limits
from bineval.models.stack import CallPolicy
from bineval.store.database import Store
from bineval.types import Example
from support.asking import CHECKLIST
from support.provider_server import Answer, ProviderServer, Received, completion, refuse

EXAMPLES = [Example(id=f"e{i}", output=f"The mayor spoke {i} times.") for i in range(5)]
N_QUESTIONS = len(CHECKLIST.questions)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer(lambda received: word({"Yes": 0.6, " yes": 0.1, "No": 0.2, "The": 0.1})) as server:
        yield server


def word(masses: Mapping[str, float], **choice: Any) -> Answer:
    """A completion of one token with these probabilities; `choice` replaces parts of it."""
    entries = [{"token": token, "logprob": math.log(p), "bytes": list(token.encode())} for token, p in masses.items()]
    logprobs = {"content": [{**entries[0], "top_logprobs": entries}]}
    return completion(next(iter(masses)), choice={"finish_reason": "length", "logprobs": logprobs, **choice})


def go(server: ProviderServer, place: Path, *, concurrency: int = 4) -> Run:
    options = RunOptions(
        judge=JudgeOptions(kind="logprob"),
        model=ModelOptions(base_url=server.base_url),
        policy=CallPolicy(limits=Limits(concurrency=concurrency)),
    )
    return evaluate(EXAMPLES, CHECKLIST, judge="openai/served", name="run", store=place, options=options)


def test_probabilities_are_those_of_the_server_and_a_finished_run_asks_nothing(
    server: ProviderServer, tmp_path: Path
) -> None:
    for _ in range(2):
        with go(server, tmp_path / "store.db") as run:
            verdicts = [row.verdict for row in run.verdicts()]
            assert run.status().finished
    assert len(server.received) == len(verdicts) == len(EXAMPLES) * N_QUESTIONS
    for verdict in verdicts:
        # yes = .6 + .1 = .7, no = .2: P = .7 / .9; outside = .1
        assert (verdict.answer, verdict.probability) == ("yes", pytest.approx(7 / 9))
        assert verdict.outside_mass == pytest.approx(0.1)
    body = server.received[0].body
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"], body["temperature"]) == (True, 20, 1, 0.0)
    assert "response_format" not in body


def test_the_first_question_of_an_example_is_answered_before_the_others_are_sent(
    server: ProviderServer, tmp_path: Path
) -> None:
    events: list[tuple[str, str]] = []  # appended by the server's threads

    def behavior(received: Received) -> Answer:
        output = received.body["messages"][1]["content"].split("\n\nQuestion: ")[0]
        events.append((output, "begins"))
        time.sleep(0.01)
        events.append((output, "is answered"))
        return word({"Yes": 0.8, "No": 0.2})

    server.behavior = behavior
    with go(server, tmp_path / "store.db", concurrency=8) as run:
        assert run.status().n_answered == len(EXAMPLES) * N_QUESTIONS
    for output in {output for output, _ in events}:
        of_this = [what for name, what in events if name == output]
        assert len(of_this) == 2 * N_QUESTIONS
        assert of_this[:2] == ["begins", "is answered"]


def test_a_server_that_gives_few_alternatives_is_met_and_the_manifest_says_so(
    server: ProviderServer, tmp_path: Path
) -> None:
    def behavior(received: Received) -> Answer:
        if received.body["top_logprobs"] > 5:
            return refuse(400, "top_logprobs must be at most 5", param="top_logprobs")
        return word({"Yes": 0.8, "No": 0.2})

    server.behavior = behavior
    with go(server, tmp_path / "store.db") as run:
        assert run.status().n_answered == len(EXAMPLES) * N_QUESTIONS
        assert run.manifest["parameters_changed"] == {"logprobs": "sent as at most 5 top_logprobs"}
    # The first question is asked alone: it met the refusal, and no other did.
    assert len(server.received) == len(EXAMPLES) * N_QUESTIONS + 1


def _refusing(received: Received) -> Answer:
    return refuse(400, "logprobs is not supported") if "logprobs" in received.body else completion("Yes")


@pytest.mark.parametrize(
    ("behavior", "n_calls"),
    [
        (_refusing, 3),
        (lambda _: completion("Yes"), 1),
        (lambda _: word({"Yes": 0.8}, logprobs=None), 1),
        (lambda _: word({"Yes": 0.8}, logprobs={"content": []}), 1),
        (
            lambda _: word({"Yes": 0.8}, logprobs={"content": [{"token": "Yes", "logprob": -0.2, "top_logprobs": []}]}),
            1,
        ),
    ],
    ids=["refused", "left out", "null", "an empty list", "the written token alone"],
)
def test_a_server_without_them_stops_the_run_at_its_first_reply(
    server: ProviderServer, tmp_path: Path, behavior: Any, n_calls: int
) -> None:
    server.behavior = behavior
    with pytest.raises(ConfigError, match=r"openai/served gave no log probabilities .*: use --kind chat"):
        go(server, tmp_path / "store.db")
    assert len(server.received) == n_calls
    with Store(tmp_path / "store.db") as store:
        assert list(Run.open(store, "run").verdicts()) == []
