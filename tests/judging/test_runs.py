from collections.abc import Iterator
from pathlib import Path

import pytest

from bineval.errors import BudgetExceeded, ModelRequestError, UnknownNameError
from bineval.judging.chat import ChatSettings
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions
from bineval.judging.runs import Run, RunStatus
from bineval.methods.evaluate import evaluate
from bineval.models.budget import Budget
from bineval.models.catalog import ModelOptions
from bineval.models.scripted import Scripted
from bineval.models.stack import CallPolicy
from bineval.store.database import Store
from bineval.store.runs import begin_run
from bineval.types import Example, Price, Reply, Request, Score, Usage
from support.asking import CHECKLIST, answers, deciding

EXAMPLES = [
    Example(id="a", output="A", group="g", system="one", human={"fluency": 4.0}),
    Example(id="b", output="B", group="g", system="two"),
    Example(id="c", output="C"),
]
ALL_AT_ONCE = JudgeOptions(chat=ChatSettings(mode="all"))
ALL = RunOptions(judge=ALL_AT_ONCE)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


WORDS = [
    {"con-1": "yes", "con-2": "no", "flu-1": "yes"},
    {"con-1": "no", "con-2": "not_applicable", "flu-1": "yes"},
    {"con-1": "perhaps", "con-2": "not_applicable", "flu-1": "perhaps"},
]


@pytest.fixture
def run(place: Path) -> Iterator[Run]:
    by_output = dict(zip("ABC", WORDS, strict=True))
    model = deciding(lambda output, key: by_output[output][key])
    with evaluate(EXAMPLES, CHECKLIST, judge=model, store=place, name="r", options=ALL) as run:
        yield run


def test_scores_come_with_every_example_in_the_order_of_the_data(run: Run) -> None:
    scores = {example.id: result for example, result in run.scores()}
    assert list(scores) == ["a", "b", "c"]
    # a: consistency yes, no; overall yes, no, yes
    assert scores["a"]["consistency"] == Score(value=0.5, scaled=3.0, n_answered=2, n_asked=2)
    assert scores["a"]["overall"] == Score(value=2 / 3, scaled=pytest.approx(200 / 3), n_answered=3, n_asked=3)
    # b: one question does not apply
    assert scores["b"]["consistency"] == Score(value=0.0, scaled=1.0, n_answered=1, n_asked=1)
    # c: nothing is answered
    assert scores["c"]["fluency"] == Score(value=None, scaled=None, n_answered=0, n_asked=1)


def test_the_status_counts_every_kind_of_verdict(run: Run) -> None:
    assert run.status() == RunStatus(
        n_planned=9, n_done=9, n_answered=5, n_not_applicable=2, n_unanswered=2, n_cached=0
    )
    assert run.status().finished
    assert run.status().unanswered_share == pytest.approx(2 / 7)


def test_a_share_without_any_verdict_that_applies_is_0_and_a_run_without_a_plan_is_not_finished() -> None:
    counts = {"n_answered": 0, "n_not_applicable": 0, "n_unanswered": 0, "n_cached": 0}
    assert RunStatus(n_planned=0, n_done=0, **counts).unanswered_share == 0.0
    assert not RunStatus(n_planned=0, n_done=0, **counts).finished
    assert not RunStatus(n_planned=2, n_done=1, **counts).finished
    assert RunStatus(n_planned=2, n_done=2, **counts).finished


def test_a_run_that_was_cut_off_before_it_had_a_plan_is_not_finished(place: Path) -> None:
    facts = {"judge_name": "scripted/x", "n_examples": 0, "n_planned": 0}
    with Store(place) as store:
        run = Run(begin_run(store, "r", identity={}, facts=facts, checklist=CHECKLIST))
        assert not run.status().finished
        assert list(run.scores()) == []


def test_a_run_can_be_opened_again_with_all_that_is_in_it(run: Run, place: Path) -> None:
    with Run.open(Store(place), "r") as again:
        assert list(again.examples()) == EXAMPLES
        assert again.checklist == CHECKLIST
        assert list(again.verdicts()) == list(run.verdicts())
        assert list(again.scores()) == list(run.scores())
        assert (again.name, again.judge) == ("r", "scripted/judge")
        assert again.manifest["repeats"] == 1
        assert {"data", "checklist", "judge", "versions", "parameters_changed", "n_planned"} <= again.manifest.keys()


def test_a_run_that_is_not_there_comes_with_the_nearest(run: Run, place: Path) -> None:
    with Store(place) as store, pytest.raises(UnknownNameError, match="known: r"):
        Run.open(store, "other")


def test_examples_that_are_not_judged_yet_have_no_scores(place: Path) -> None:
    model = deciding(lambda *_: "yes")
    options = RunOptions(judge=ALL_AT_ONCE, policy=CallPolicy(budget=Budget(max_calls=1)))
    with pytest.raises(BudgetExceeded):
        evaluate(EXAMPLES, CHECKLIST, judge=model, store=place, name="r", options=options)
    with Run.open(Store(place), "r") as run:
        values = {example.id: scores["overall"].value for example, scores in run.scores()}
        assert values == {"a": 1.0, "b": None, "c": None}
        assert not run.status().finished


def test_an_example_whose_rows_are_missing_in_the_middle_takes_none_from_its_neighbors(place: Path) -> None:
    def reply(output: str, key: str) -> str:
        if output == "B":
            raise ModelRequestError("too long", model="m")
        return "yes" if output == "A" else "no"

    with evaluate(EXAMPLES, CHECKLIST, judge=deciding(reply), store=place, options=ALL) as run:
        assert [scores["overall"].value for _, scores in run.scores()] == [1.0, None, 0.0]


def test_usage_and_cost_are_those_of_all_sittings(place: Path) -> None:
    price = Price(input_usd=2.0, output_usd=10.0)
    usage = Usage(input_tokens=1000, output_tokens=100, calls=1)

    def reply(request: Request) -> Reply:
        return Reply(text=answers({"con-1": "yes", "con-2": "yes", "flu-1": "yes"}), usage=usage)

    model = Scripted("paid", ModelOptions(price=price), script=reply)
    for limit in (1, 3):
        options = RunOptions(judge=ALL_AT_ONCE, limit=limit)
        with evaluate(EXAMPLES, CHECKLIST, judge=model, store=place, name="r", options=options) as run:
            # An example costs 1,000 * 2 / 1e6 + 100 * 10 / 1e6 = 0.003 dollars.
            assert run.usage().calls == limit
            assert run.usage().cost_usd == pytest.approx(0.003 * limit)
