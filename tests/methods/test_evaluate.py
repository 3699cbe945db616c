import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import BudgetExceeded, ConfigError, DataError, ModelAuthError, StoreError, UnknownNameError
from bineval.io.checklists import save_checklist
from bineval.judging.chat import ChatSettings
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions
from bineval.judging.runner import Progress
from bineval.judging.runs import Run
from bineval.methods.evaluate import evaluate, prepare
from bineval.models.base import Capabilities, Wrapper
from bineval.models.budget import Budget
from bineval.models.catalog import ModelOptions
from bineval.models.limits import Limits
from bineval.models.scripted import Scripted
from bineval.models.stack import CallPolicy
from bineval.store.database import Store
from bineval.store.runs import find_run, run_names
from bineval.types import Example, Question, Reply, Request, Usage
from support.asking import CHECKLIST, CON_1, answer, deciding
from support.weighing import word

EXAMPLES = [Example(id=f"e{i}", output=f"text {i}") for i in range(4)]
N = len(EXAMPLES) * len(CHECKLIST.questions)


def chatting(**settings: Any) -> RunOptions:
    return RunOptions(judge=JudgeOptions(chat=ChatSettings(**settings)))


class Asked:
    """A judge that counts what it is asked; it says no to the output "text 0"."""

    def __init__(self, name: str = "scripted/judge", fails: Callable[[int], bool] = lambda _: False) -> None:
        self.outputs: list[str] = []
        self._fails = fails
        self.model = deciding(self._decide, name)

    def _decide(self, output: str, _: str) -> str:
        self.outputs.append(output)
        if self._fails(len(self.outputs)):
            raise ModelAuthError("out of quota", model="scripted/judge")
        return "no" if output == "text 0" else "yes"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def names(place: Path) -> list[str]:
    with Store(place) as store:
        return run_names(store)


def go(place: Path, asked: Asked, examples: list[Example] = EXAMPLES, **more: Any) -> list[str | None]:
    """Runs, and returns the answers."""
    checklist = more.pop("checklist", CHECKLIST)
    with evaluate(examples, checklist, judge=asked.model, store=place, **more) as run:
        return [row.verdict.answer for row in run.verdicts()]


# What can be given


def test_files_and_a_model_s_name_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BINEVAL_STORE", raising=False)
    Path("logs.jsonl").write_text('{"id": "a", "output": "A"}\n{"id": "b", "output": "B"}\n', encoding="utf-8")
    Path("judge.json").write_text(json.dumps([{"reply": '{"answer": "yes"}'}]), encoding="utf-8")
    save_checklist(CHECKLIST, "checks.yaml")
    with evaluate("logs.jsonl", "checks.yaml", judge="scripted/judge.json") as run:
        assert run.status().n_answered == 6
        assert run.name.startswith("logs-summary-judge.json-")
    assert Path("bineval.db").exists()


def test_rows_from_memory_are_taken_with_the_names_of_other_tools(place: Path) -> None:
    data = [{"prompt": "Why?", "response": "Because."}, {"prompt": "How?", "response": "Like that."}]
    with evaluate(data, CHECKLIST, judge=Asked().model, store=place) as run:
        assert [(example.input, example.output) for example in run.examples()] == [
            ("Why?", "Because."),
            ("How?", "Like that."),
        ]
        assert run.name.startswith("data-summary-judge-")


def test_every_question_of_every_example_is_answered(place: Path) -> None:
    asked = Asked()
    assert go(place, asked) == ["no"] * 3 + ["yes"] * 9
    assert len(asked.outputs) == N


@pytest.mark.parametrize(
    ("options", "words"),
    [({"repeats": 0}, "repeats must be at least 1, not 0"), ({"limit": 0}, "limit must be at least 1, not 0")],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RunOptions(**options)


def test_what_cannot_be_run_is_refused_before_there_is_a_run(place: Path) -> None:
    asked = Asked()
    with pytest.raises(ConfigError, match="data: there is no example in it"):
        evaluate([], CHECKLIST, judge=asked.model, store=place)
    with pytest.raises(ConfigError, match="checklist 'summary' has no question"):
        evaluate(EXAMPLES, dataclasses.replace(CHECKLIST, questions=()), judge=asked.model, store=place)
    with pytest.raises(DataError):
        evaluate([EXAMPLES[0], EXAMPLES[0]], CHECKLIST, judge=asked.model, store=place)
    with pytest.raises(UnknownNameError, match="did you mean openai"):
        evaluate(EXAMPLES, CHECKLIST, judge="opnai/x", store=place)
    assert not place.exists()
    assert asked.outputs == []


# Resuming


def test_the_same_call_resumes_by_its_name_and_asks_nothing_twice(place: Path) -> None:
    asked = Asked(fails=lambda n: n >= 6)
    with pytest.raises(ModelAuthError):
        go(place, asked)
    n_before = len(asked.outputs)
    (name,) = names(place)
    asked = Asked()
    assert go(place, asked) == ["no"] * 3 + ["yes"] * 9
    assert names(place) == [name]
    # The call that failed, and those that were under way then, gave no verdict.
    assert N - n_before < len(asked.outputs) < N


def test_a_budget_over_sittings_counts_what_earlier_ones_spent(place: Path) -> None:
    asked = Asked()
    for cap in (5, 5, 7):
        with pytest.raises(BudgetExceeded):
            go(place, asked, options=RunOptions(policy=CallPolicy(budget=Budget(max_calls=cap))))
        assert len(asked.outputs) == cap
    go(place, asked, options=RunOptions(policy=CallPolicy(budget=Budget(max_calls=N))))
    assert len(asked.outputs) == N


@pytest.mark.parametrize("mode", ["independent", "dimension", "all"])
def test_a_resumed_run_is_the_same_as_an_uninterrupted_one(tmp_path: Path, mode: Any) -> None:
    asking = JudgeOptions(chat=ChatSettings(mode=mode))
    whole = evaluate(
        EXAMPLES,
        CHECKLIST,
        judge=Asked().model,
        store=tmp_path / "a.db",
        options=RunOptions(judge=asking),
    )
    for cap in (1, 2, 3, 5, 100):
        options = RunOptions(judge=asking, policy=CallPolicy(budget=Budget(max_calls=cap)))
        try:
            parts = evaluate(EXAMPLES, CHECKLIST, judge=Asked().model, store=tmp_path / "b.db", options=options)
        except BudgetExceeded:
            continue
    assert list(parts.verdicts()) == list(whole.verdicts())
    assert parts.usage() == whole.usage()
    assert parts.status() == whole.status()
    assert parts.manifest == whole.manifest


def test_a_larger_limit_extends_a_run_and_a_smaller_one_takes_nothing_back(place: Path) -> None:
    asked = Asked()
    assert len(go(place, asked, options=RunOptions(limit=1))) == 3
    assert len(go(place, asked, options=RunOptions(limit=3))) == 9
    assert len(go(place, asked, options=RunOptions(limit=2))) == 9
    assert len(go(place, asked)) == len(asked.outputs) == N
    assert len(names(place)) == 1


def test_a_smaller_limit_still_finishes_what_the_run_covers(place: Path) -> None:
    options = RunOptions(policy=CallPolicy(budget=Budget(max_calls=4)))
    with pytest.raises(BudgetExceeded):
        go(place, Asked(), options=options)
    job = prepare(EXAMPLES, CHECKLIST, judge=Asked().model, options=RunOptions(limit=1))
    with Store(place) as store:
        assert job.forecast(store, None).n_verdicts == N - 4
    assert len(go(place, Asked(), options=RunOptions(limit=1))) == N


def test_what_cannot_change_an_answer_may_change(place: Path) -> None:
    with pytest.raises(BudgetExceeded):
        go(place, Asked(), options=RunOptions(policy=CallPolicy(budget=Budget(max_calls=3))))
    policy = CallPolicy(limits=Limits(concurrency=1, requests_per_minute=100_000), notice=print)
    assert len(go(place, Asked(), options=RunOptions(policy=policy))) == N


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"examples": EXAMPLES[:3]}, "data: "),
        ({"checklist": dataclasses.replace(CHECKLIST, task="Other.")}, "checklist: "),
        ({"asked": Asked("scripted/other")}, "judge.model.script: judge in the run, other now"),
        ({"options": RunOptions(repeats=2)}, "repeats: 1 in the run, 2 now"),
        (
            {"options": chatting(temperature=0.7)},
            "judge.temperature: 0.0 in the run, 0.7 now",
        ),
        (
            {"options": chatting(mode="all")},
            "judge.mode: independent in the run, all now",
        ),
    ],
)
def test_a_run_that_differs_is_refused_and_what_differs_is_named(
    place: Path, change: dict[str, Any], words: str
) -> None:
    go(place, Asked(), name="mine")
    more: dict[str, Any] = {"asked": Asked(), **change}
    asked: Asked = more["asked"]
    with pytest.raises(ConfigError, match=words.replace(".", r"\.")) as caught:
        go(place, **more, name="mine")
    assert str(caught.value).startswith("run 'mine' cannot be resumed")
    assert "use another --name" in str(caught.value)
    assert asked.outputs == []


def test_a_run_that_never_got_an_answer_makes_way_for_a_corrected_one(place: Path) -> None:
    with pytest.raises(ModelAuthError):
        go(place, Asked(fails=lambda _: True), name="mine")
    assert go(place, Asked("scripted/other"), name="mine", checklist=dataclasses.replace(CHECKLIST, task="Other."))
    assert names(place) == ["mine"]


def test_a_run_that_another_process_works_on_is_left_alone(place: Path) -> None:
    with pytest.raises(ModelAuthError):
        go(place, Asked(fails=lambda _: True), name="mine")
    with Store(place) as store, store.writing() as connection:
        connection.exec_driver_sql("UPDATE runs SET owner = 'elsewhere|1|5|0123abcd'")
    for model in (Asked(), Asked("scripted/other")):
        with pytest.raises(StoreError, match="is being worked on by process 1 on elsewhere"):
            go(place, model, name="mine")
        assert model.outputs == []
    assert names(place) == ["mine"]


def test_a_run_is_given_back_however_it_ends(place: Path) -> None:
    def owner() -> str | None:
        with Store(place) as store, store.reading() as connection:
            value: str | None = connection.exec_driver_sql("SELECT owner FROM runs").scalar()
            return value

    for fails in (True, False):
        asked = Asked(fails=lambda n, fails=fails: fails and n > 3)  # type: ignore[misc]
        try:
            go(place, asked, name="mine")
        except ModelAuthError:
            assert fails
        assert owner() is None


# What a run keeps


def test_another_run_takes_equal_answers_from_the_cache(place: Path) -> None:
    asked = Asked()
    first = go(place, asked, name="first")
    with evaluate(EXAMPLES, CHECKLIST, judge=asked.model, store=place, name="second") as run:
        assert [row.verdict.answer for row in run.verdicts()] == first
        assert run.status().n_cached == N
        assert run.usage() == Usage()
    assert len(asked.outputs) == N


def test_repeats_are_asked_and_kept_one_by_one(place: Path) -> None:
    asked = Asked()
    with evaluate(EXAMPLES, CHECKLIST, judge=asked.model, store=place, options=RunOptions(repeats=3)) as run:
        rows = list(run.verdicts())
        assert run.status().n_planned == len(rows) == len(asked.outputs) == 3 * N
    assert [row.repeat for row in rows] == [0, 1, 2] * N
    assert not any(row.verdict.cached for row in rows)


def test_the_manifest_says_what_made_the_run(place: Path) -> None:
    with evaluate(EXAMPLES, CHECKLIST, judge=Asked().model, store=place, name="mine") as run:
        manifest = run.manifest
    assert manifest["name"] == "mine"
    assert manifest["checklist"] == CHECKLIST.fingerprint()
    assert manifest["judge_name"] == "scripted/judge"
    assert (manifest["n_examples"], manifest["n_planned"], manifest["repeats"]) == (4, N, 1)
    judge = manifest["judge"]
    assert isinstance(judge, dict)
    assert {"model", "mode", "temperature", "seed", "max_tokens", "prompts"} <= judge.keys()


class Dropping(Wrapper):
    """A model whose server refuses the temperature as soon as it is asked."""

    def __init__(self, inner: Scripted) -> None:
        super().__init__(inner)
        self._dropped: dict[str, str] = {}

    def complete(self, request: Request) -> Reply:
        self._dropped = {"temperature": "dropped"}
        return self.inner.complete(request)

    def dropped_parameters(self) -> dict[str, str]:
        return self._dropped


def test_parameters_that_the_server_refused_stay_in_the_manifest(place: Path) -> None:
    for _ in range(2):  # the second sitting asks nothing
        with evaluate(EXAMPLES, CHECKLIST, judge=Dropping(Asked().model), store=place, name="mine") as run:
            assert run.manifest["parameters_changed"] == {"temperature": "dropped"}


def test_progress_is_told_from_the_first_to_the_last_verdict(place: Path) -> None:
    seen: list[Progress] = []
    go(place, Asked(), on_progress=seen.append)
    assert (seen[0].n_done, seen[-1].n_done, seen[-1].n_planned) == (0, N, N)


def test_the_store_is_closed_when_a_run_fails(place: Path) -> None:
    with pytest.raises(ModelAuthError):
        go(place, Asked(fails=lambda _: True))
    place.unlink()  # nothing holds it


# Questions of each sentence

PER_SENTENCE = dataclasses.replace(
    CHECKLIST,
    questions=(Question(id="true", text="Is it true?", dimension="consistency", per="sentence"), CON_1),
)
SPLIT = [Example(id="a", output="One is. Two is."), Example(id="b", output="")]


def test_a_run_plans_a_verdict_for_each_sentence(place: Path) -> None:
    # a: 2 sentences and the whole; b: the empty text and the whole. 5 verdicts, asked twice.
    job = prepare(SPLIT, PER_SENTENCE, judge=Asked().model, options=RunOptions(repeats=2))
    with Store(place) as store:
        before = job.forecast(store, "mine")
        run = Run(job.execute(store, "mine"))
        assert before.n_verdicts == run.manifest["n_planned"] == run.status().n_done == 10
        assert run.status().finished


def test_the_splitter_is_part_of_a_run_only_where_something_is_split(place: Path) -> None:
    with evaluate(SPLIT, PER_SENTENCE, judge=Asked().model, store=place) as run:
        assert run.manifest["sentence_splitter"] == f"sentencex {metadata.version('sentencex')}"
    with evaluate(SPLIT, CHECKLIST, judge=Asked().model, store=place) as run:
        assert "sentence_splitter" not in run.manifest


def test_sentences_of_two_splitters_are_not_mixed_in_one_run(place: Path) -> None:
    go(place, Asked(), name="mine", examples=SPLIT, checklist=PER_SENTENCE)
    with Store(place) as store, store.writing() as connection:
        # As after an upgrade of the package.
        connection.exec_driver_sql("UPDATE runs SET identity = replace(identity, 'sentencex 1.', 'sentencex 0.')")
    with pytest.raises(ConfigError, match=r"sentence_splitter: sentencex 0\.\S+ in the run, sentencex 1\."):
        go(place, Asked(), name="mine", examples=SPLIT, checklist=PER_SENTENCE)


def test_a_language_that_cannot_be_split_is_found_before_any_call(place: Path) -> None:
    asked = Asked()
    with pytest.raises(ConfigError, match="language 'xx'"):
        go(place, asked, examples=SPLIT, checklist=dataclasses.replace(PER_SENTENCE, language="xx"))
    assert asked.outputs == []


# Forecasts


def test_a_forecast_is_what_then_happens_and_leaves_no_trace(place: Path) -> None:
    job = prepare(EXAMPLES, CHECKLIST, judge=Asked().model, options=RunOptions(limit=2))
    with Store(place) as store:
        before = job.forecast(store, None)
        assert run_names(store) == []
        run = job.execute(store, None)
        assert (before.n_verdicts, before.n_calls) == (run.n_verdicts(), run.usage().calls)
        assert before.input_tokens == run.usage().input_tokens
        after = job.forecast(store, None)
        assert (after.n_verdicts, after.n_calls, after.cost_usd) == (0, 0, (0.0, 0.0))
        other = prepare(EXAMPLES, CHECKLIST, judge=Asked().model, options=RunOptions(limit=3))
        assert (other.forecast(store, "another").n_cached, other.forecast(store, "another").n_calls) == (6, 3)


def test_a_forecast_of_a_run_that_differs_is_refused_too(place: Path) -> None:
    go(place, Asked(), name="mine")
    job = prepare(EXAMPLES, CHECKLIST, judge=Asked().model, options=RunOptions(repeats=2))
    with Store(place) as store:
        with pytest.raises(ConfigError, match="repeats: 1 in the run, 2 now"):
            job.forecast(store, "mine")
        assert find_run(store, "mine").n_verdicts() == N


def test_a_model_that_takes_one_call_at_a_time_gets_one_at_a_time(place: Path) -> None:
    class OneAtATime(Wrapper):
        max_concurrency = 1
        n_under_way = most = 0

        def complete(self, request: Request) -> Reply:
            self.n_under_way += 1
            self.most = max(self.most, self.n_under_way)
            reply = self.inner.complete(request)
            self.n_under_way -= 1
            return reply

    model = OneAtATime(Asked().model)
    with evaluate(EXAMPLES, CHECKLIST, judge=model, store=place) as run:
        assert run.status().finished
    assert model.most == 1


def test_a_reply_whose_verdict_was_never_saved_counts_against_the_budget_of_the_next_sitting(place: Path) -> None:
    asked = Asked()
    options = RunOptions(policy=CallPolicy(budget=Budget(max_calls=1), limits=Limits(concurrency=1)))
    with pytest.raises(BudgetExceeded):
        go(place, asked, name="capped", options=options)
    with Store(place) as store, store.writing() as connection:
        # As after a kill between the reply and its verdict.
        connection.exec_driver_sql("DELETE FROM verdicts")
    with pytest.raises(BudgetExceeded):
        go(place, asked, name="capped", options=options)
    assert len(asked.outputs) == 1


class Local(Scripted):
    """Answers all questions of an example together, as a local model does; keeps the size of each batch."""

    capabilities = Capabilities(shares_prefix=True)
    max_concurrency = 1
    sizes: list[int]

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        self.sizes.append(len(requests))
        return [super(Local, self).complete(request) for request in requests]

    def complete(self, request: Request) -> Reply:
        return self.complete_many([request])[0]


@pytest.mark.parametrize("kind", ["logprob", "chat"])
def test_a_budget_too_small_for_a_batch_is_used_up_and_what_it_paid_for_is_kept(place: Path, kind: Any) -> None:
    def script(request: Request) -> Reply:
        text = answer("yes") if request.schema else "Yes"
        return replace(word({"Yes": 0.9, "No": 0.1}), text=text, usage=Usage(input_tokens=7, output_tokens=1, calls=1))

    model = Local("x", ModelOptions(), script=script)
    model.sizes = []

    def sitting(max_calls: int) -> str:
        options = RunOptions(judge=JudgeOptions(kind=kind), policy=CallPolicy(budget=Budget(max_calls=max_calls)))
        with pytest.raises(BudgetExceeded) as caught:
            evaluate(EXAMPLES, CHECKLIST, judge=model, name="capped", store=place, options=options)
        return " ".join(caught.value.__notes__)

    # Three questions an example, twelve in all.
    assert "2 of 12 verdicts are kept" in sitting(2)
    assert model.sizes == [1, 1]
    assert "8 of 12 verdicts are kept" in sitting(8)
    assert model.sizes[2:] == [1, 3, 1, 1]
    with Store(place) as store:
        run = find_run(store, "capped")
        assert run.usage() == Usage(input_tokens=7 * 8, output_tokens=8, calls=8)
        assert not any(row.verdict.cached for row in run.rows())
