"""G-Eval by its real parts: a server over HTTP, and a language model in this process."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError
from bineval.judging.job import RunOptions
from bineval.judging.rating import RateSettings
from bineval.judging.runs import Run
from bineval.methods.catalog import MethodOptions
from bineval.methods.evaluate import evaluate
from bineval.methods.geval import GEvalPlan, geval_checklist
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.registry import find
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.types import Checklist, Dimension, Verdict
from support.provider_server import Answer, ProviderServer, Received, completion

MODEL = find("smollm2-135m")
CHECKLIST = Checklist(name="sky", task="Describe the sky.", questions=(), dimensions={"form": Dimension(scale=(1, 5))})
ROWS = [{"id": "a", "input": "Describe.", "output": "The sky is blue."}]
STEPS = completion(json.dumps({"steps": [{"step": "Read."}, {"step": "Compare."}]}))


def number(masses: Mapping[str, float]) -> Answer:
    entries = [{"token": token, "logprob": math.log(p), "bytes": list(token.encode())} for token, p in masses.items()]
    logprobs = {"content": [{**entries[0], "top_logprobs": entries}]}
    return completion(next(iter(masses)), choice={"finish_reason": "length", "logprobs": logprobs})


def go(server: ProviderServer, place: Path, **options: Any) -> Run:
    model = ModelOptions(base_url=server.base_url)
    return evaluate(
        ROWS, CHECKLIST, judge="openai/served", method="geval", name="g", store=place,
        options=RunOptions(model=model), method_options=MethodOptions(**options),
    )  # fmt: skip


def test_ratings_are_weighted_by_the_probabilities_that_a_server_gives(tmp_path: Path) -> None:
    def behavior(received: Received) -> Answer:
        if "The quality:" in received.body["messages"][-1]["content"]:
            return STEPS
        return number({"4": 0.45, " 4": 0.05, "5": 0.3, "The": 0.2})

    with ProviderServer(behavior) as server:
        for _ in range(2):
            with go(server, tmp_path / "s.db") as run:
                ((_, scores),) = run.scores()
        assert len(server.received) == 2, "one call for the steps and one for the rating, both once"
        body = server.received[1].body
    # (4·.5 + 5·.3) / .8 = 4.375; (4.375 - 1) / 4 = .84375
    assert scores["form"].value == pytest.approx(0.84375)
    assert scores["form"].scaled == pytest.approx(4.375)
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)
    assert "1. Read.\n2. Compare." in body["messages"][-1]["content"]


def test_a_server_that_gives_no_log_probabilities_ends_the_run_and_samples_instead(tmp_path: Path) -> None:
    def behavior(received: Received) -> Answer:
        return STEPS if "The quality:" in received.body["messages"][-1]["content"] else completion("4")

    with ProviderServer(behavior) as server:
        with pytest.raises(ConfigError, match=r"openai/served gave no log probabilities .*--samples 20"):
            go(server, tmp_path / "s.db")
        with go(server, tmp_path / "s.db", n_samples=3) as run:
            ((_, scores),) = run.scores()
        assert scores["form"].scaled == 4.0
        assert [received.body["temperature"] for received in server.received[-3:]] == [1.0] * 3


@pytest.mark.skipif(not MODEL.path.is_file(), reason="not here: bineval models pull smollm2-135m")
def test_a_local_model_weighs_a_rating_and_draws_samples_that_differ(tmp_path: Path) -> None:
    # So small a model writes no steps of its own.
    checklist = geval_checklist(CHECKLIST, {"form": ("Read the text.", "Look for mistakes.")})
    model = open_model("llamacpp/smollm2-135m")

    def verdict(name: str, **plan: Any) -> Verdict:
        judge = GEvalPlan(model=model, **plan)
        with evaluate(ROWS, checklist, judge=judge, name=name, store=tmp_path / "s.db") as run:
            (row,) = run.verdicts()
            return row.verdict

    weighted = verdict("weighted", settings=RateSettings(min_mass=0.0))
    assert weighted.rating is not None
    assert 0 < weighted.rating < 1, "a weighted rating lies between the numbers"
    sampled = verdict("sampled", sampled=True, settings=RateSettings(n_samples=20))
    assert sampled.usage.calls == 20
    assert sampled.rating is None or len(set(re.findall(r"\d \(", sampled.explanation or ""))) > 1
    with Store(tmp_path / "s.db") as store:
        replies = [StoredReplies(store).get(key) for key in sampled.replies]
    texts = {reply[0]["text"] for reply in replies if reply}
    assert len(texts) > 1, "each sample is drawn by itself"
