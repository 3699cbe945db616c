import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from bineval.errors import ConfigError, DataError
from bineval.io.checklists import load_checklist, save_checklist
from bineval.judging.runs import Run
from bineval.methods.evaluate import evaluate
from bineval.methods.weights import learn_weights
from bineval.types import Checklist, Dimension, Example, Question, Scale
from support.asking import deciding

WORDS = ("sun", "sea", "star")


def checklist(scale: Scale | None = (1, 5), words: tuple[str, ...] = WORDS) -> Checklist:
    return Checklist(
        name="words",
        dimensions={"content": Dimension(scale=scale)},
        questions=tuple(Question(id=word, text=f"Does it say {word}?", dimension="content") for word in words),
    )


def examples(n: int, worth: Mapping[str, float], *, labels: bool = False, seed: int = 0) -> list[Example]:
    """Outputs with each word in half of them, rated by what each word is worth, with some noise."""
    generator = random.Random(seed)
    found = []
    for i in range(n):
        there = [word for word in WORDS if generator.random() < 0.5]
        rating = 3 + sum(worth[word] * (1 if word in there else -1) for word in WORDS) + generator.gauss(0, 0.2)
        human = float(rating > 3) if labels else min(max(rating, 1), 5)
        found.append(
            Example(id=f"e{i}", output=" ".join(there) or "none", group=f"g{i // 2}", human={"content": human})
        )
    return found


def says(output: str, question: str) -> str:
    return "yes" if question.removeprefix("Does it say ").removesuffix("?") in output.split() else "no"


@contextmanager
def judged(folder: Path, data: list[Example], questions: Checklist | None = None) -> Iterator[Run]:
    judge = deciding(says)
    with evaluate(data, questions or checklist(), judge=judge, name="r", store=folder / "s.db") as run:
        yield run


def test_weights_follow_what_people_count_and_help(tmp_path: Path) -> None:
    with judged(tmp_path, examples(200, {"sun": 1.2, "sea": 0.4, "star": 0.1})) as run:
        report = learn_weights(run)
    [item] = report.dimensions
    assert (item.fit, item.n, item.n_groups, item.n_folds, item.dropped) == ("ridge", 200, 100, 10, ())
    assert sum(item.weights.values()) == pytest.approx(3, abs=1e-3)
    # In the ratio of what the words are worth: 1.2 to 0.4 to 0.1 is 2.12, 0.71, 0.18.
    assert list(item.weights.values()) == pytest.approx([2.12, 0.71, 0.18], abs=0.1)
    assert item.effect == "helped"
    assert [part.figure for part in item.comparisons] == ["spearman", "pearson", "mae"]
    assert [question.weight for question in report.checklist.questions] == list(item.weights.values())
    provenance = report.checklist.provenance["weights"]
    assert provenance == {
        "run": "r",
        "judge": "scripted/judge",
        "seed": 0,
        "dimensions": {"content": {"n": 200, "effect": "helped"}},
        "dropped": [],
    }


def test_the_checklists_own_weights_are_figured_as_the_run_scores(tmp_path: Path) -> None:
    own_weights = dict(zip(WORDS, (1.0, 1.0, 4.0), strict=True))
    questions = checklist()
    weighted = replace(
        questions, questions=tuple(replace(item, weight=own_weights[item.id]) for item in questions.questions)
    )
    with judged(tmp_path, examples(60, {"sun": 0.8, "sea": 0.5, "star": 0.3}), weighted) as run:
        [item] = learn_weights(run).dimensions
        pairs = [(example.human["content"], scores["content"].scaled) for example, scores in run.scores()]
    human, scaled = zip(*pairs, strict=True)
    own = {part.figure: part.own.value for part in item.comparisons}
    assert own["spearman"] == pytest.approx(stats.spearmanr(human, scaled).statistic)
    assert own["pearson"] == pytest.approx(stats.pearsonr(human, scaled).statistic)
    assert own["mae"] == pytest.approx(sum(abs(a - b) for a, b in zip(human, scaled, strict=True)) / 60)
    for part in item.comparisons:
        assert part.own.value is not None
        assert part.learned.value is not None
        assert part.change.value == pytest.approx(part.learned.value - part.own.value)


def test_a_checklist_that_weighs_as_people_do_gains_nothing(tmp_path: Path) -> None:
    worth = {"sun": 1.2, "sea": 0.4, "star": 0.1}
    data, questions = examples(200, worth), checklist()
    with judged(tmp_path, data, questions) as run:
        assert learn_weights(run).dimensions[0].effect == "helped"
    weighted = replace(questions, questions=tuple(replace(item, weight=worth[item.id]) for item in questions.questions))
    (tmp_path / "weighted").mkdir()
    with judged(tmp_path / "weighted", data, weighted) as run:
        # The learned ones are the same, and help beside equal ones alone.
        assert learn_weights(run).dimensions[0].effect != "helped"


def test_where_people_count_all_alike_nothing_is_gained(tmp_path: Path) -> None:
    with judged(tmp_path, examples(120, {"sun": 0.6, "sea": 0.6, "star": 0.6})) as run:
        report = learn_weights(run)
    assert list(report.dimensions[0].weights.values()) == pytest.approx([1, 1, 1], abs=0.1)
    assert report.dimensions[0].effect != "helped"


def test_noise_is_not_reported_as_a_gain(tmp_path: Path) -> None:
    generator = random.Random(5)
    data = [
        replace(example, human={"content": float(generator.randint(1, 5))})
        for example in examples(40, dict.fromkeys(WORDS, 0.0))
    ]
    with judged(tmp_path, data) as run:
        report = learn_weights(run)
    # Fitted and figured on the same rows, any weights would seem to gain.
    assert all(item.effect != "helped" for item in report.dimensions)


def test_figures_of_pure_noise_show_no_agreement(tmp_path: Path) -> None:
    words = tuple(f"w{i}x" for i in range(12))
    rhos = []
    for seed in range(4):
        generator = random.Random(seed)
        data = [
            Example(
                id=f"e{i}",
                output=" ".join(word for word in words if generator.random() < 0.5) or "none",
                human={"content": float(generator.randint(1, 5))},
            )
            for i in range(60)
        ]
        folder = tmp_path / str(seed)
        folder.mkdir()
        with judged(folder, data, checklist(words=words)) as run:
            rhos += [item.comparisons[0].learned.value or 0.0 for item in learn_weights(run).dimensions]
    # Weights of twelve questions fitted on the same 60 rows reach a rho of 0.26 here.
    assert len(rhos) == 4
    assert abs(sum(rhos) / 4) < 0.1


def test_a_question_against_people_is_left_out_of_the_checklist(tmp_path: Path) -> None:
    with judged(tmp_path, examples(200, {"sun": 1.0, "sea": 0.4, "star": -0.4})) as run:
        report = learn_weights(run)
        again = learn_weights(run)
    assert report == again
    assert report.dimensions[0].dropped == ("star",)
    assert list(report.dimensions[0].weights) == ["sun", "sea"]
    assert sum(report.dimensions[0].weights.values()) == pytest.approx(2, abs=1e-3)
    save_checklist(report.checklist, tmp_path / "c.yaml")
    assert [(item.id, item.weight) for item in load_checklist(tmp_path / "c.yaml").questions] == list(
        report.dimensions[0].weights.items()
    )


def test_ratings_of_0_and_1_are_fitted_as_labels(tmp_path: Path) -> None:
    data = examples(200, {"sun": 0.4, "sea": 0.2, "star": 0.1}, labels=True)
    with judged(tmp_path, data, checklist(scale=None)) as run:
        [item] = learn_weights(run).dimensions
    assert item.fit == "logistic"
    assert [part.figure for part in item.comparisons] == ["spearman", "pearson", "brier", "accuracy"]
    assert item.weights["sun"] > 2 * item.weights["sea"]
    brier, accuracy = item.comparisons[2:]
    assert brier.change.high is not None
    assert brier.change.high < 0
    assert accuracy.learned.value is not None
    assert accuracy.learned.value > 0.9


def test_ratings_come_from_a_file_and_samples_are_averaged(tmp_path: Path) -> None:
    data = examples(80, {"sun": 1.0, "sea": 0.5, "star": 0.2})
    path = tmp_path / "ratings.jsonl"
    rows = [
        {"example_id": example.id, "dimension": "content", "value": example.human["content"] + shift, "repeat": repeat}
        for example in data
        for repeat, shift in enumerate((0, 0) if example.human["content"] in (1, 5) else (0.001, -0.001))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with judged(tmp_path, [replace(example, human={}) for example in data]) as run:
        from_file = learn_weights(run, path)
        with pytest.raises(ConfigError, match="0 rated examples with answers, and 3 questions need at least 20"):
            learn_weights(run)
        path.write_text(json.dumps({"example_id": "e0", "dimension": "content", "value": 6}) + "\n")
        with pytest.raises(DataError, match="6 is outside the scale of 'content', 1 to 5"):
            learn_weights(run, path)
    (tmp_path / "own").mkdir()
    with judged(tmp_path / "own", data) as run:
        own = learn_weights(run)
    assert from_file.dimensions[0].weights == pytest.approx(own.dimensions[0].weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda i, e: replace(e, human=e.human if i < 19 else {}),
            "19 rated examples with answers, and 3 questions need",
        ),
        (lambda i, e: replace(e, group=f"g{i % 4}"), "its rated examples are of 4 groups, and at least 5 are needed"),
        (lambda i, e: replace(e, human={"content": 3.0}), "its 40 ratings are all equal"),
    ],
)
def test_too_few_ratings_are_an_error_with_their_numbers(tmp_path: Path, change: object, message: str) -> None:
    data = [change(i, example) for i, example in enumerate(examples(40, dict.fromkeys(WORDS, 0.5)))]  # type: ignore[operator]
    with judged(tmp_path, data) as run, pytest.raises(ConfigError, match=message):
        learn_weights(run)


def test_labels_of_almost_one_kind_are_too_few(tmp_path: Path) -> None:
    data = [
        replace(example, human={"content": float(i < 4)})
        for i, example in enumerate(examples(40, dict.fromkeys(WORDS, 0.5)))
    ]
    with (
        judged(tmp_path, data, checklist(scale=None)) as run,
        pytest.raises(ConfigError, match="36 ratings of 0 and 4 of 1, and at least 5 of each are needed"),
    ):
        learn_weights(run)


def test_one_question_has_no_weight_to_learn(tmp_path: Path) -> None:
    with (
        judged(tmp_path, examples(40, dict.fromkeys(WORDS, 0.5)), checklist(words=("sun",))) as run,
        pytest.raises(ConfigError, match="cannot be learned: no dimension has several questions"),
    ):
        learn_weights(run)


def test_where_no_question_rises_with_the_ratings_weights_stay(tmp_path: Path) -> None:
    with judged(tmp_path, examples(100, dict.fromkeys(WORDS, -0.6))) as run:
        report = learn_weights(run)
    assert report.dimensions == ()
    assert report.notes == ("content: no question's value rises with the ratings; it keeps the weights it has",)
    assert [item.weight for item in report.checklist.questions] == [1, 1, 1]


def test_examples_without_an_answer_are_left_out(tmp_path: Path) -> None:
    data = examples(60, {"sun": 1.0, "sea": 0.5, "star": 0.2})
    silent = {example.output for example in data[:1]}

    def hesitant(output: str, question: str) -> str:
        return "perhaps" if output in silent else says(output, question)

    with evaluate(data, checklist(), judge=deciding(hesitant), name="r", store=tmp_path / "s.db") as run:
        [item] = learn_weights(run).dimensions
    assert item.n == sum(example.output not in silent for example in data)
    assert item.comparisons[0].change.n == item.n
