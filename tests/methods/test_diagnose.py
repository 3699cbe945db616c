import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bineval.errors import ConfigError
from bineval.judging.job import RunOptions
from bineval.judging.runs import Run
from bineval.methods.diagnose import diagnose, prune
from bineval.methods.evaluate import evaluate
from bineval.store.database import Store
from bineval.types import Checklist, Dimension, Example, Question
from support.asking import deciding
from support.weighing import weighing

CHECKLIST = Checklist(
    name="words",
    dimensions={"content": Dimension(scale=(1, 5)), "form": Dimension()},
    questions=tuple(
        Question(id=f"{name[:3]}-{word}", text=f"Does it say {word}?", dimension=name)
        for name, words in (("content", ("sun", "sea", "star")), ("form", ("dot",)))
        for word in words
    ),
    provenance={"generator": "hand"},
)


def examples(n: int = 60) -> list[Example]:
    """ "sun" in two of three, "sea" in one of two, "star" exactly where "sun" is; people count sun and sea."""
    found = []
    for i in range(n):
        words = [word for word, is_there in (("sun star", i % 3), ("sea", i % 2), ("dot", i % 5)) if is_there]
        human = {"content": 1 + 2.0 * bool(i % 3) + 2.0 * (i % 2), "form": float(bool(i % 5))}
        found.append(Example(id=f"e{i}", output=" ".join(words) or "none", group=f"g{i // 2}", human=human))
    return found


def says(output: str, question: str) -> str:
    return "yes" if question.removeprefix("Does it say ").removesuffix("?") in output.split() else "no"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    store = tmp_path_factory.mktemp("diagnose") / "s.db"
    with evaluate(examples(), CHECKLIST, judge=deciding(says), name="r", store=store) as run:
        yield run


def test_everything_comes_from_the_saved_verdicts(run: Run) -> None:
    found = diagnose(run)
    assert (found.run, found.judge, found.n_examples, found.has_probabilities) == ("r", "scripted/judge", 60, False)
    assert [item.question_id for item in found.questions] == ["con-sun", "con-sea", "con-star", "for-dot"]
    assert [item.yes_rate.value for item in found.questions] == [pytest.approx(2 / 3), 0.5, pytest.approx(2 / 3), 0.8]
    assert [item.dimension for item in found.dimensions] == ["content", "form"]
    assert found.dimensions[0].phi.values[0][2] == 1.0
    assert "con-star: redundant with con-sun at φ 1.00 (n = 60)" in [finding.text for finding in found.findings]
    assert found == diagnose(run)


def test_ratings_that_are_answers_are_labels_and_a_file_takes_their_place(run: Run, tmp_path: Path) -> None:
    dot = diagnose(run).questions[3]
    assert (dot.human_bias.value, dot.human_bias.n) == (0.0, 60)
    path = tmp_path / "labels.jsonl"
    rows = [{"example_id": f"e{i}", "question_id": "con-sea", "answer": "yes"} for i in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = diagnose(run, path)
    assert (found.questions[1].human_bias.value, found.questions[1].human_bias.n) == (-0.5, 20)
    assert found.questions[3].human_bias.value is None


def test_a_smaller_checklist_is_chosen_on_one_part_and_reported_on_the_other(run: Run) -> None:
    found = prune(run, test_share=0.4, seed=3)
    assert (found.n_choosing, found.n_reported, found.of) == (36, 24, "answers")
    assert found.dropped == ("con-star",)
    content, form = found.dimensions
    assert (content.by, content.kept) == ("people", ("con-sun", "con-sea"))
    assert content.total is not None
    assert content.total.n == 24
    # People count sun and sea alike, so that without star the score is their rating.
    assert content.total.human_change.value is not None
    assert content.total.human_change.value > 0
    assert (form.kept, form.alone, form.total) == (("for-dot",), {}, None)
    assert [item.id for item in found.checklist.questions] == ["con-sun", "con-sea", "for-dot"]
    assert found.checklist.provenance == {
        "generator": "hand",
        "pruned": {"run": "r", "dropped": ["con-star"], "test_share": 0.4, "seed": 3},
    }
    assert prune(run, test_share=0.4, seed=3) == found


def test_a_judge_with_probabilities_is_looked_into_by_them(tmp_path: Path) -> None:
    from support.probable import OPTIONS

    judge = weighing(lambda output, question: 0.9 if says(output, question) == "yes" else 0.6)
    with evaluate(examples(20), CHECKLIST, judge=judge, name="p", store=tmp_path / "s.db", options=OPTIONS) as run:
        found = diagnose(run)
        smaller = prune(run)
    assert found.has_probabilities
    assert found.dimensions[0].phi.values[0][1] is None
    assert found.dimensions[0].probability is not None
    assert found.dimensions[0].probability.values[0][2] == pytest.approx(1)
    assert smaller.of == "P(yes)"


def test_repeats_and_sentences_are_values_of_their_question(tmp_path: Path) -> None:
    calls: dict[str, int] = {}

    def swaying(output: str, question: str) -> str:
        calls[output + question] = calls.get(output + question, 0) + 1
        return "yes" if calls[output + question] == 1 else "no"

    checklist = Checklist(
        name="few",
        dimensions={"c": Dimension()},
        questions=(Question(id="c1", text="Is it so?", dimension="c"),),
    )
    data = [Example(id=f"e{i}", output=f"text {i}") for i in range(6)]
    with evaluate(
        data, checklist, judge=deciding(swaying), name="r", store=tmp_path / "s.db", options=RunOptions(repeats=2)
    ) as run:
        [item] = diagnose(run).questions
    assert (item.yes_rate.value, item.flips.value, item.n_failed) == (0.5, 1.0, 6)


def test_one_group_cannot_be_split(tmp_path: Path) -> None:
    data = [Example(id=f"e{i}", output="sun", group="one") for i in range(4)]
    with evaluate(data, CHECKLIST, judge=deciding(says), name="r", store=tmp_path / "s.db") as run:
        assert diagnose(run).questions[0].yes_rate.method == "no interval: fewer than 5 groups"
        with pytest.raises(ConfigError, match="1 group of examples cannot be split in two"):
            prune(run)


def test_a_run_without_verdicts_is_an_error(tmp_path: Path) -> None:
    from bineval.errors import BudgetExceeded
    from bineval.models.budget import Budget
    from bineval.models.stack import CallPolicy

    options = RunOptions(policy=CallPolicy(budget=Budget(max_calls=0)))
    with pytest.raises(BudgetExceeded):
        evaluate(examples(4), CHECKLIST, judge=deciding(says), name="r", store=tmp_path / "s.db", options=options)
    with (
        Store(tmp_path / "s.db") as store,
        pytest.raises(ConfigError, match="run r has no verdicts yet: run it first"),
    ):
        diagnose(Run.open(store, "r"))
