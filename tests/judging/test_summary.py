from pathlib import Path

import pytest

from bineval.judging.chat import ChatSettings
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions
from bineval.judging.runs import Run
from bineval.judging.summary import SummaryRow, summarize
from bineval.methods.evaluate import evaluate
from bineval.stats.intervals import mean_interval
from bineval.store.database import Store
from bineval.store.runs import PlacedRow, begin_run
from bineval.types import Checklist, Dimension, Example, Question, Verdict, VerdictRow
from support.asking import CHECKLIST, deciding


def run_over(place: Path, examples: list[Example], words: dict[str, str]) -> Run:
    """A run in which every question about an output gets the same word."""
    model = deciding(lambda output, _: words[output])
    options = RunOptions(judge=JudgeOptions(chat=ChatSettings(mode="all")))
    return evaluate(examples, CHECKLIST, judge=model, store=place, options=options)


def test_a_row_has_the_mean_over_examples_its_interval_and_its_counts(tmp_path: Path) -> None:
    examples = [Example(id=name, output=name) for name in "abcd"]
    with run_over(tmp_path / "s.db", examples, {"a": "yes", "b": "yes", "c": "no", "d": "perhaps"}) as run:
        rows = {row.dimension: row for row in summarize(run)}
    assert list(rows) == ["consistency", "fluency", "overall"]
    # (1 + 1 + 0) / 3; the example without any answer has no score and counts nowhere but in n_examples and n_asked.
    expected = mean_interval([("a", 1.0), ("b", 1.0), ("c", 0.0)])
    assert rows["consistency"] == SummaryRow(
        system=None,
        dimension="consistency",
        estimate=expected,
        soft=None,
        scaled=pytest.approx(2 / 3 * 4 + 1),
        n_examples=4,
        n_answered=6,
        n_asked=8,
    )
    assert rows["fluency"].scaled is None
    assert rows["overall"].scaled == pytest.approx(200 / 3)
    assert (rows["overall"].n_answered, rows["overall"].n_asked) == (9, 12)


def test_nothing_answered_is_undefined_and_never_0(tmp_path: Path) -> None:
    with run_over(tmp_path / "s.db", [Example(id="a", output="a")], {"a": "perhaps"}) as run:
        rows = summarize(run)
    assert {(row.estimate.value, row.estimate.n, row.scaled, row.n_examples) for row in rows} == {(None, 0, None, 1)}


def test_systems_have_rows_of_their_own_where_there_are_several(tmp_path: Path) -> None:
    examples = [
        Example(id="1", output="a", system="one"),
        Example(id="2", output="b", system="two"),
        Example(id="3", output="a", system="one"),
        Example(id="4", output="b"),
    ]
    with run_over(tmp_path / "s.db", examples, {"a": "yes", "b": "no"}) as run:
        rows = [row for row in summarize(run) if row.dimension == "overall"]
    assert [(row.system, row.estimate.value, row.n_examples) for row in rows] == [
        (None, 0.5, 4),
        ("one", 1.0, 2),
        ("two", 0.0, 1),
    ]


def test_one_system_is_not_shown_twice(tmp_path: Path) -> None:
    examples = [Example(id="1", output="a", system="one"), Example(id="2", output="b", system="one")]
    with run_over(tmp_path / "s.db", examples, {"a": "yes", "b": "no"}) as run:
        assert {row.system for row in summarize(run)} == {None}


def test_intervals_are_over_groups_and_a_group_is_no_example_of_the_same_name(tmp_path: Path) -> None:
    examples = [
        Example(id="1", output="a", group="doc"),
        Example(id="2", output="b", group="doc"),
        Example(id="doc", output="a"),
        *(Example(id=f"other {i}", output="b") for i in range(3)),
    ]
    with run_over(tmp_path / "s.db", examples, {"a": "yes", "b": "no"}) as run:
        row = summarize(run)[-1]
    assert row.estimate.n == 6
    assert "over 5 groups" in row.estimate.method


def test_the_seed_decides_the_interval(tmp_path: Path) -> None:
    examples = [Example(id=f"{i}", output="ab"[i % 3 == 0]) for i in range(20)]
    with run_over(tmp_path / "s.db", examples, {"a": "yes", "b": "no"}) as run:
        assert summarize(run, seed=1) == summarize(run, seed=1)
        assert summarize(run) == summarize(run, seed=0)


def soft_run(place: Path, probabilities: dict[str, float | None]) -> Run:
    """A run of one question; an example without a probability has a hard answer alone."""
    question = Question(id="q", text="?", dimension="d")
    checklist = Checklist(name="c", questions=(question,), dimensions={"d": Dimension(scale=(1, 5))})
    stored = begin_run(Store(place), "r", identity={}, facts={}, checklist=checklist)
    stored.add_examples([Example(id=name, output=name) for name in probabilities])
    stored.save(
        PlacedRow(
            position=i,
            question=0,
            row=VerdictRow(
                example_id=name, question_id="q", dimension="d", verdict=Verdict(answer="yes", probability=probability)
            ),
        )
        for i, (name, probability) in enumerate(probabilities.items())
    )
    return Run(stored)


def test_soft_scores_have_their_own_mean_and_interval_over_the_examples_that_have_one(tmp_path: Path) -> None:
    probabilities: dict[str, float | None] = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.95, "e": 0.6, "f": None}
    with soft_run(tmp_path / "s.db", probabilities) as run:
        (row, overall) = summarize(run)
    # (0.9 + 0.8 + 0.7 + 0.95 + 0.6) / 5 = 0.79; the hard score is over all six.
    assert row.soft == mean_interval([(("example", n), p) for n, p in probabilities.items() if p is not None])
    assert row.soft is not None
    assert row.soft.value == pytest.approx(0.79)
    assert (row.soft.n, row.estimate.n, row.estimate.value) == (5, 6, 1.0)
    assert overall.soft == row.soft


def test_without_any_probability_there_is_no_soft_score(tmp_path: Path) -> None:
    with soft_run(tmp_path / "s.db", {"a": None, "b": None}) as run:
        assert {row.soft for row in summarize(run)} == {None}
