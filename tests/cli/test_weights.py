import json
import random

import pytest

from bineval.io.checklists import load_checklist
from bineval.methods.evaluate import evaluate
from bineval.types import Checklist, Dimension, Example, Question
from support.asking import deciding
from support.command_line import Folder

N = 120
WORTH = {"sun": 1.4, "sea": 0.4, "star": -0.2}


def says(output: str, question: str) -> str:
    return "yes" if question.removeprefix("Does it say ").removesuffix("?") in output.split() else "no"


def rated(n: int) -> list[Example]:
    generator = random.Random(0)
    found = []
    for i in range(n):
        words = [word for word in WORTH if generator.random() < 0.5]
        rating = 3 + sum(worth if word in words else -worth for word, worth in WORTH.items()) + generator.gauss(0, 0.1)
        found.append(
            Example(id=f"e{i}", output=" ".join(words) or "none", human={"content": min(max(rating, 1.0), 5.0)})
        )
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run "r" of rated examples, a run "few", and a file of ratings."""
    folder = Folder(tmp_path_factory.mktemp("weights"))
    checklist = Checklist(
        name="words",
        dimensions={"content": Dimension(scale=(1, 5))},
        questions=tuple(Question(id=word, text=f"Does it say {word}?", dimension="content") for word in WORTH),
    )
    store = folder.path / "bineval.db"
    evaluate(rated(N), checklist, judge=deciding(says), name="r", store=store).close()
    evaluate(rated(12), checklist, judge=deciding(says), name="few", store=store).close()
    rows = [{"example_id": item.id, "dimension": "content", "value": item.human["content"]} for item in rated(N)]
    folder.write("ratings.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_own_and_learned_weights_stand_side_by_side_and_the_checklist_is_written(folder: Folder) -> None:
    done = folder.bineval("weights", "r", "-o", "weighted.yaml")
    assert (done.code, done.err) == (0, "wrote weighted.yaml: 2 questions\n")
    lines = done.out.splitlines()
    assert lines[0] == "judge scripted/judge, run r"
    assert lines[2].split() == ["content", "weight", "by", "ridge,", "120", "rated", "examples,", "120", "groups"]
    assert "star: its weight is 0, which leaves it out of a checklist with these weights" in lines
    assert "content: learned weights helped: the change of Pearson's r decides" in lines
    assert [line.split()[0] for line in lines if line.startswith(("spearman", "pearson", "mae"))] == [
        "spearman",
        "pearson",
        "mae",
    ]
    assert ["own", "weights", "learned", "weights", "change"] in [line.split()[-5:] for line in lines]
    assert "own weights: those of the run's checklist; change: learned less own;" in lines
    assert max(len(line) for line in lines) <= 100
    weights = {question.id: question.weight for question in load_checklist(folder.path / "weighted.yaml").questions}
    assert list(weights) == ["sun", "sea"]
    assert weights["sun"] > 2 * weights["sea"]


def test_a_program_gets_everything_whether_ratings_are_in_the_data_or_in_a_file(folder: Folder) -> None:
    done = folder.bineval("weights", "r", "--json")
    assert done.err == "no checklist was written: give -o FILE\n"
    [content] = done.json["dimensions"]
    assert (content["dropped"], content["effect"], content["n_folds"]) == (["star"], "helped", 10)
    assert set(content["comparisons"][0]) == {"figure", "own", "learned", "change"}
    assert content["comparisons"][0]["change"]["low"] > 0
    assert [question["weight"] for question in done.json["checklist"]["questions"]] == list(content["weights"].values())
    assert folder.bineval("weights", "r", "--json", "--labels", "ratings.jsonl").json == done.json
    other = folder.bineval("weights", "r", "--json", "--seed", "1").json
    assert other["dimensions"][0]["comparisons"] != content["comparisons"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rr",), "error: unknown run 'rr' in bineval.db; did you mean r?"),
        (("few",), "content: 12 rated examples with answers, and 3 questions need at least 20: rate more examples"),
        (("r", "--labels", "nowhere.jsonl"), "error: nowhere.jsonl: cannot be read"),
        (("r", "-o", "nowhere/c.yaml"), "error: nowhere/c.yaml: cannot be written"),
    ],
)
def test_what_cannot_be_learned_is_said_in_words(folder: Folder, arguments: tuple[str, ...], message: str) -> None:
    done = folder.bineval("weights", *arguments)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert "Traceback" not in done.err
