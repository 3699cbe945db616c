import json
from dataclasses import replace
from pathlib import Path

import pytest

from bineval.errors import ConfigError, UnknownNameError
from bineval.judging.chat import ChatSettings
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions, SingleJudge
from bineval.judging.rating import SampledRatingJudge, WeightedRatingJudge
from bineval.methods.catalog import METHODS, MethodOptions, dimensions_checklist, prepare_method
from bineval.methods.evaluate import evaluate
from bineval.methods.factscore import FactscorePlan
from bineval.methods.geval import GEvalPlan
from bineval.models.base import Capabilities, Wrapper
from bineval.models.scripted import Scripted
from bineval.store.database import Store
from bineval.types import Checklist, Dimension, Example, Question, Reply, Request
from support.weighing import token, word

CHECKLIST = Checklist(
    name="sky",
    task="Describe the sky.",
    dimensions={
        "content": Dimension(scale=(1, 5), description="The text says what the sky looks like."),
        "form": Dimension(scale=(1, 3)),
    },
    questions=(Question(id="blue", text="Does the text say blue?", dimension="content"),),
)
ROWS = [
    {"id": "a", "input": "Describe.", "output": "The sky is blue.", "human": {"content": 5, "form": 3}},
    {"id": "b", "input": "Describe.", "output": "The sky.", "human": {"content": 2, "form": 3}},
]


class Rater:
    """A scripted model that writes steps, scores and probabilities; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.model = Scripted.from_function(self.reply, "scripted/rater")

    def reply(self, request: Request) -> str | Reply:
        self.asked.append(request)
        text = request.messages[-1].content
        if "The quality:" in text:
            return '{"steps": [{"step": "1. Read the text."}, {"step": "Compare it with the task."}]}'
        good = "blue" in text.split("<<<BEGIN OUTPUT>>>\n")[1].split("\n<<<END")[0]
        if "Question:" in text:
            return token(0.8 if good else 0.3)
        if "JSON" in text:
            return json.dumps({"explanation": "It is so.", "score": 3 if good else 2})
        return word({"3": 0.5, "2": 0.5}) if good else word({"1": 1.0})


def values(store: Path, method: str, rater: Rater, **options: object) -> dict[str, tuple[float | None, float | None]]:
    with evaluate(ROWS, CHECKLIST, judge=rater.model, method=method, store=store, **options) as run:  # type: ignore[arg-type]
        return {
            f"{example.id} {name}": (score.value, score.scaled)
            for example, scores in run.scores()
            for name, score in scores.items()
            if name != "overall"
        }


def test_geval_follows_steps_that_are_written_once_and_kept_with_the_run(tmp_path: Path) -> None:
    rater = Rater()
    found = values(tmp_path / "s.db", "geval", rater, name="g")
    # content on 1 to 5, form on 1 to 3: 2.5 is (2.5 - 1) / 4 = .375 and (2.5 - 1) / 2 = .75; 1 is 0.
    assert found == {
        "a content": (pytest.approx(0.375), pytest.approx(2.5)),
        "a form": (pytest.approx(0.75), pytest.approx(2.5)),
        "b content": (0.0, 1.0),
        "b form": (0.0, 1.0),
    }
    assert len(rater.asked) == 2 + 4, "one call a dimension for its steps, and one a rating"
    again = Rater()
    again.model.identity = rater.model.identity
    assert values(tmp_path / "s.db", "geval", again, name="g") == found
    assert again.asked == [], "the steps come from the reply cache, and so the run resumes"
    with Store(tmp_path / "s.db") as store:
        from bineval.judging.runs import Run

        text = Run.open(store, "g").checklist.questions[0].text
    assert text.splitlines() == [
        "content (The text says what the sky looks like)",
        "",
        "Evaluation steps:",
        "1. Read the text.",
        "2. Compare it with the task.",
    ]


def test_steps_are_not_paid_for_where_the_judge_cannot_rate_on_the_scale(tmp_path: Path) -> None:
    rater = Rater()
    wide = replace(CHECKLIST, dimensions={name: Dimension(scale=(0, 10)) for name in CHECKLIST.dimensions})
    with pytest.raises(ConfigError, match="its scale is 0 to 10"):
        evaluate(ROWS, wide, judge=rater.model, method="geval", store=tmp_path / "s.db")
    assert rater.asked == []


def test_geval_samples_where_there_are_no_log_probabilities_or_where_it_is_told_to() -> None:
    plain = Rater().model
    silent = Rater().model
    silent.capabilities = Capabilities(top_logprobs=0)  # type: ignore[misc]
    wrap = lambda model: model  # noqa: E731
    kinds = [
        type(GEvalPlan(model=plain).build(wrap, checklist=CHECKLIST)),
        type(GEvalPlan(model=silent).build(wrap, checklist=CHECKLIST)),
        type(GEvalPlan(model=plain, sampled=True).build(wrap, checklist=CHECKLIST)),
    ]
    assert kinds == [WeightedRatingJudge, SampledRatingJudge, SampledRatingJudge]
    options = MethodOptions(n_samples=7)
    prepared = prepare_method("geval", CHECKLIST, SingleJudge(model=plain), options=options, wrap=wrap)
    assert isinstance(prepared.plan, GEvalPlan)
    assert (prepared.plan.sampled, prepared.plan.settings.n_samples) == (True, 7)


def test_the_cap_of_replies_reaches_samples_steps_and_facts() -> None:
    chat = ChatSettings(max_tokens=900, temperature=0.7)
    judge = SingleJudge(model=Rater().model, options=JudgeOptions(chat=chat))
    asked: list[Request] = []

    class Noted(Wrapper):
        def complete(self, request: Request) -> Reply:
            asked.append(request)
            return self.inner.complete(request)

    geval = prepare_method("geval", CHECKLIST, judge, wrap=Noted)
    assert {request.max_tokens for request in asked} == {900}
    assert isinstance(geval.plan, GEvalPlan)
    assert geval.plan.settings.max_tokens == 900
    factscore = prepare_method("factscore", CHECKLIST, judge)
    assert isinstance(factscore.plan, FactscorePlan)
    assert (factscore.plan.settings.max_tokens, factscore.plan.settings.temperature) == (900, 0.7)


def test_holistic_asks_for_one_score_with_an_explanation_a_dimension(tmp_path: Path) -> None:
    rater = Rater()
    found = values(tmp_path / "s.db", "holistic", rater, name="h")
    assert found["a content"] == (0.5, 3.0)  # (3 - 1) / 4
    assert found["a form"] == (1.0, 3.0)
    assert found["b form"] == (0.5, 2.0)
    assert len(rater.asked) == 4


def test_boolean_asks_one_question_a_dimension_of_the_same_judge(tmp_path: Path) -> None:
    prepared = prepare_method("boolean", CHECKLIST, SingleJudge(model=Rater().model))
    assert [question.text for question in prepared.checklist.questions] == [
        "Taken as a whole, does the text have this quality: content (The text says what the sky looks like)?",
        "Taken as a whole, does the text have this quality: form?",
    ]
    assert prepared.checklist.dimensions == CHECKLIST.dimensions
    assert prepared.checklist.task == CHECKLIST.task


def test_without_a_checklist_the_dimensions_are_those_that_people_rated(tmp_path: Path) -> None:
    with evaluate(ROWS, judge=Rater().model, method="holistic", store=tmp_path / "s.db") as run:
        assert list(run.checklist.dimensions) == ["content", "form"]
    with pytest.raises(ConfigError, match="no example has human labels"):
        dimensions_checklist([Example(id="a", output="x")], name="data")
    assert list(
        dimensions_checklist([Example(id="a", output="x", human={"overall": 3, "form": 2})], name="data").dimensions
    ) == ["form"], "every run has an overall score by itself"
    with pytest.raises(ConfigError, match="binary method asks the questions of a checklist"):
        evaluate(ROWS, judge=Rater().model, store=tmp_path / "s.db")


def test_a_metric_is_an_ordinary_run_on_no_scale(tmp_path: Path) -> None:
    rows = [{**row, "reference": "The sky is blue."} for row in ROWS]
    with evaluate(rows, CHECKLIST, method="rouge", store=tmp_path / "s.db") as run:
        scores = {example.id: score for example, score in run.scores()}
        assert run.usage().calls == 0
    # "The sky." shares 2 of its 2 words with 2 of the reference's 4: F1 = 2·1·.5 / 1.5 = 2/3.
    assert scores["a"]["content"].value == pytest.approx(1.0)
    assert scores["b"]["content"].value == pytest.approx(2 / 3)
    assert scores["b"]["content"].scaled is None


def test_what_does_not_fit_a_method_is_said_before_anything_is_asked() -> None:
    plan = SingleJudge(model=Rater().model)
    with pytest.raises(UnknownNameError, match="did you mean geval"):
        prepare_method("gevall", CHECKLIST, plan)
    with pytest.raises(ConfigError, match="method geval needs a judge"):
        prepare_method("geval", CHECKLIST, None)
    with pytest.raises(ConfigError, match="moverscore is left out"):
        prepare_method("moverscore", CHECKLIST, None)
    assert "moverscore" not in METHODS


def test_the_holistic_prompt_can_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "rate.md"
    file.write_text('+++\nsource = "mine"\nreply = "json"\n+++\n## user\nMy own words. $example JSON: $rating')
    rater = Rater()
    values(tmp_path / "s.db", "holistic", rater, method_options=MethodOptions(prompts={"rate": file}))
    assert all(request.messages[0].content.startswith("My own words.") for request in rater.asked)


def test_the_ratings_of_repeats_are_averaged(tmp_path: Path) -> None:
    scores = iter([1, 4])
    model = Scripted.from_function(
        lambda _: json.dumps({"explanation": "So.", "score": next(scores)}), "scripted/turns"
    )
    checklist = replace(CHECKLIST, dimensions={"content": Dimension(scale=(1, 5))}, questions=())
    options = RunOptions(repeats=2)
    with evaluate(ROWS[:1], checklist, judge=model, method="holistic", store=tmp_path / "s.db", options=options) as run:
        ((_, score),) = run.scores()
    # (0 + .75) / 2 = .375; .375 · 4 + 1 = 2.5
    assert (score["content"].value, score["content"].scaled) == (0.375, 2.5)
