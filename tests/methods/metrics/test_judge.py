from pathlib import Path

import pytest

import bineval
from bineval.errors import ConfigError
from bineval.methods.metrics.catalog import metric_plan
from bineval.methods.metrics.judge import MetricJudge
from bineval.types import Checklist, Dimension, Example, Question

FLUENCY = Question(id="fluency", text="How fluent it is.", dimension="fluency", asks="rating")
COHERENCE = Question(id="coherence", text="How coherent it is.", dimension="coherence", asks="rating")
RATED = Checklist(
    name="rated",
    questions=(FLUENCY, COHERENCE),
    dimensions={"fluency": Dimension(), "coherence": Dimension()},
)
EXAMPLE = Example(id="e", output="The cat sat on the mat.", reference="The cat lay on a mat.")


def rouge() -> MetricJudge:
    return metric_plan("rouge").build(lambda model: model, checklist=RATED)


def test_every_question_is_rated_with_the_metric() -> None:
    verdicts = rouge().ask(EXAMPLE, [COHERENCE, FLUENCY])
    assert [verdict.rating for verdict in verdicts] == [pytest.approx(4 / 6)] * 2
    assert {(verdict.answer, verdict.reason, verdict.judge) for verdict in verdicts} == {(None, None, "rouge-l")}
    assert rouge().ask(EXAMPLE, []) == []


def test_an_example_without_a_reference_is_unanswered_and_says_why() -> None:
    (verdict,) = rouge().ask(Example(id="e", output="The cat sat."), [FLUENCY])
    assert (verdict.rating, verdict.reason) == (None, "error")
    assert "example e has no reference" in (verdict.explanation or "")
    assert "--against" in (verdict.explanation or "")


def test_an_empty_output_is_rated() -> None:
    (verdict,) = rouge().ask(Example(id="e", output="", reference="The cat sat."), [FLUENCY])
    assert verdict.rating == 0


def test_a_number_that_is_none_is_no_rating() -> None:
    class Undefined:
        name = "undefined"
        settings: dict[str, str] = {}  # noqa: RUF012 - as the protocol has it
        per_dimension = False

        def score(self, example: Example, dimension: str) -> float:
            return float("nan")

    (verdict,) = MetricJudge(Undefined(), name="undefined").ask(EXAMPLE, [FLUENCY])
    assert (verdict.rating, verdict.reason) == (None, "error")


def test_a_metric_of_dimensions_is_asked_for_each() -> None:
    class Length:
        name = "length"
        settings: dict[str, str] = {}  # noqa: RUF012 - as the protocol has it
        per_dimension = True

        def score(self, example: Example, dimension: str) -> float:
            return float(len(dimension))

    verdicts = MetricJudge(Length(), name="length").ask(EXAMPLE, [FLUENCY, COHERENCE, FLUENCY])
    assert [verdict.rating for verdict in verdicts] == [7, 9, 7]


def test_it_makes_no_call() -> None:
    judge = rouge()
    assert judge.first_requests(EXAMPLE, [FLUENCY]) == []
    assert judge.parameters_changed() == {}
    assert judge.batches([FLUENCY, COHERENCE]) == [[FLUENCY, COHERENCE]]
    assert metric_plan("rouge").models() == ()


@pytest.mark.parametrize(
    "question",
    [
        Question(id="q", text="Is it fluent?", dimension="fluency"),
        Question(id="q", text="How fluent it is.", dimension="fluency", asks="rating", per="sentence"),
    ],
)
def test_a_question_that_a_metric_cannot_answer_is_refused(question: Question) -> None:
    checklist = Checklist(name="mixed", questions=(question,), dimensions={"fluency": Dimension()})
    with pytest.raises(ConfigError, match="rates whole outputs by dimension; it cannot answer question 'q'"):
        metric_plan("rouge").build(lambda model: model, checklist=checklist)


def test_a_run_by_a_metric_is_a_run_like_any_other(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "output": "The cat sat on the mat.", "reference": "The cat lay on a mat."},
        {"id": "b", "output": "Rain came.", "references": ["A dog ran.", "Rain came."]},
        {"id": "c", "output": "Rain came."},
    ]
    store = tmp_path / "runs.db"
    for _ in range(2):  # the second time it is resumed
        with bineval.evaluate(rows, RATED, judge=metric_plan("rouge"), name="rouge", store=store) as run:
            found = {
                (row.example_id, row.dimension): (row.verdict.rating, row.verdict.reason) for row in run.verdicts()
            }
    assert found["a", "fluency"] == found["a", "coherence"] == (pytest.approx(4 / 6), None)
    assert found["b", "fluency"] == (1, None)
    assert found["c", "fluency"] == (None, "error")
    with pytest.raises(ConfigError, match="against: reference in the run, input now"):
        bineval.evaluate(rows, RATED, judge=metric_plan("rouge", against="input"), name="rouge", store=store)
