import numpy as np
import pytest

from bineval.diagnose.values import question_table, says_no, unit_ratings, weighted_scores
from bineval.errors import ConfigError
from bineval.scoring import score_rows
from bineval.types import Checklist, Dimension, Example, Question, Verdict, VerdictRow
from support.answered import answered, verdict

NAN = float("nan")


def test_a_row_is_an_example_and_a_column_a_question() -> None:
    run = answered({"c1": ["y", "n", "yn", "u"], "f1": ["-", "y", "yyn", "y"]})
    assert run.table.answers == pytest.approx(np.array([[1, NAN], [0, 1], [0.5, 2 / 3], [NAN, 1]]), nan_ok=True)
    assert run.table.columns("f") == [1]
    assert not run.table.has_probabilities
    assert run.table.values is run.table.answers


def test_probabilities_are_the_values_where_every_answer_has_one() -> None:
    run = answered({"c1": [0.9, 0.2, "u"]})
    assert run.table.has_probabilities
    assert run.table.values[:, 0] == pytest.approx(np.array([0.9, 0.2, NAN]), nan_ok=True)
    assert not answered({"c1": [0.9, "y"]}).table.has_probabilities
    assert not answered({"c1": ["u"]}).table.has_probabilities


def test_scores_of_the_table_are_those_of_the_run() -> None:
    checklist = Checklist(
        name="weighted",
        dimensions={"c": Dimension()},
        questions=(
            Question(id="c1", text="?", dimension="c", weight=3),
            Question(id="c2", text="?", dimension="c", per="sentence"),
            Question(id="c3", text="?", dimension="c", per="sentence", over_sentences="mean"),
        ),
    )
    words = {
        "a": {"c1": ["yn"], "c2": ["y", "n"], "c3": ["y", "n"]},
        "b": {"c1": ["u"], "c2": ["y", "u"], "c3": ["y", "-"]},
        "c": {"c1": ["u"], "c2": ["u"], "c3": ["-"]},
    }
    rows = [
        VerdictRow(
            example_id=example,
            question_id=key,
            dimension="c",
            unit=None if key == "c1" else unit,
            repeat=repeat,
            verdict=verdict(letter),
        )
        for example, questions in words.items()
        for key, units in questions.items()
        for unit, word in enumerate(units)
        for repeat, letter in enumerate(word)
    ]
    table = question_table(checklist, ((Example(id=key, output=""), key) for key in words), rows)
    scores = weighted_scores(table.answers, np.array([3.0, 1.0, 1.0]))
    expected = [score_rows(checklist, [row for row in rows if row.example_id == key])["c"].value for key in words]
    assert expected == [pytest.approx((3 * 0.5 + 0 + 0.5) / 5), 1.0, None]
    assert [None if np.isnan(score) else score for score in scores] == [pytest.approx(value) for value in expected]


def test_half_the_answers_no_is_no_and_unknown_is_not() -> None:
    assert says_no(np.array([1.0, 0.51, 0.5, 0.0, NAN])).tolist() == [False, False, True, True, False]


def test_a_part_keeps_its_rows_of_everything() -> None:
    part = answered({"c1": "yn"}, human={"c": [1, 2]}, groups=["x", "y"]).table.part([1])
    assert (part.example_ids, part.groups, part.answers.tolist()) == (("e1",), ("y",), [[0.0]])
    assert part.ratings["c"].tolist() == [2.0]


def test_ratings_are_mapped_by_their_scale() -> None:
    mapped, _ = unit_ratings(np.array([1.0, 4.0, NAN]), (1, 5))
    assert mapped == pytest.approx(np.array([0, 0.75, NAN]), nan_ok=True)
    # A scale may run down: 1 is the best.
    mapped, _ = unit_ratings(np.array([1.0, 4.0]), (5, 1))
    assert mapped == pytest.approx(np.array([1, 0.25]))
    assert unit_ratings(np.array([0.0, 0.5]), None)[0] is not None
    assert unit_ratings(np.array([1.0, 6.0]), (1, 5)) == (
        None,
        "undefined: ratings lie outside of the dimension's scale",
    )
    assert unit_ratings(np.array([1.0, 3.0]), None) == (
        None,
        "undefined: ratings lie outside of [0, 1], and the dimension has no scale",
    )


def test_ratings_of_dimensions_without_any_are_left_out() -> None:
    table = answered({"c1": "yn", "f1": "yn"}, human={"c": [None, 2]}).table
    assert list(table.ratings) == ["c"]
    assert table.ratings["c"] == pytest.approx(np.array([NAN, 2]), nan_ok=True)


def test_a_question_that_asks_for_a_rating_cannot_be_looked_into() -> None:
    checklist = Checklist(
        name="rated",
        dimensions={"c": Dimension()},
        questions=(Question(id="c1", text="How good?", dimension="c", asks="rating"),),
    )
    row = VerdictRow(example_id="a", question_id="c1", dimension="c", verdict=Verdict(answer=None, rating=0.5))
    with pytest.raises(ConfigError, match=r"checklist 'rated' asks for a rating in 'c1': .* yes or no"):
        question_table(checklist, [(Example(id="a", output=""), "a")], [row])
