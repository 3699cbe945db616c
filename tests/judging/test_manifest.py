import dataclasses
import json

import pytest

from bineval.hashing import canonical_json
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.manifest import checklist_differences, default_name, differences, run_facts, run_identity
from bineval.models.scripted import Scripted
from bineval.types import Checklist, Dimension, Example, Question
from bineval.version import __version__
from support.asking import CHECKLIST, Replies

EXAMPLES = [Example(id="a", output="A"), Example(id="b", output="B")]


def identity(
    examples: list[Example] = EXAMPLES,
    checklist: Checklist = CHECKLIST,
    settings: ChatSettings | None = None,
    repeats: int = 1,
    model: str = "scripted/function",
) -> dict[str, object]:
    scripted = Scripted.from_function(lambda _: "yes", model)
    judge = ChatJudge(scripted, task=checklist.task, settings=settings)
    return dict(run_identity(examples, checklist, judge, repeats=repeats))


def changed(**changes: object) -> list[str]:
    """Which parts of the identity another run would have."""
    return [line.split(":")[0] for line in differences(identity(), identity(**changes))]  # type: ignore[arg-type]


def test_the_same_run_has_no_differences_also_after_it_was_saved() -> None:
    assert differences(identity(), identity()) == []
    assert differences(json.loads(canonical_json(identity())), identity()) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "examples",
    [
        EXAMPLES[:1],
        EXAMPLES[::-1],
        [EXAMPLES[0], Example(id="b", output="B ")],
        [EXAMPLES[0], Example(id="c", output="B")],
        [EXAMPLES[0], Example(id="b", output="B", context="C")],
    ],
)
def test_other_data_are_another_run(examples: list[Example]) -> None:
    assert changed(examples=examples) == ["data"]


def test_whatever_can_change_an_answer_is_named_by_its_place() -> None:
    assert changed(repeats=2) == ["repeats"]
    assert changed(checklist=dataclasses.replace(CHECKLIST, task="Other.")) == ["checklist"]
    assert changed(settings=ChatSettings(temperature=0.7, mode="all")) == ["judge.mode", "judge.temperature"]
    assert changed(model="scripted/other") == ["judge.model.script"]
    assert changed(checklist=dataclasses.replace(CHECKLIST, name="renamed", provenance={})) == []


def test_a_difference_shows_both_values_and_long_hashes_short() -> None:
    old = {"judge": {"temperature": 0.0, "seed": None}, "data": "a" * 64, "mode": {"x": 1}}
    new = {"judge": {"temperature": 0.7, "seed": 3}, "data": "b" * 64, "mode": "all"}
    assert differences(old, new) == [
        "data: aaaaaaaaaaaa… in the run, bbbbbbbbbbbb… now",
        "judge.seed: absent in the run, 3 now",
        "judge.temperature: 0.0 in the run, 0.7 now",
        "mode: {'x': 1} in the run, all now",
    ]


def test_a_setting_that_is_new_and_off_is_no_difference() -> None:
    assert differences({"judge": {}}, {"judge": {"new option": None}}) == []


def test_the_facts_name_the_versions() -> None:
    versions = run_facts()["versions"]
    assert isinstance(versions, dict)
    assert versions["bineval"] == __version__
    assert {"python", "openai"} <= versions.keys()


@pytest.mark.parametrize(
    ("source", "model", "beginning"),
    [
        ("data/answers.jsonl.gz", "scripted/judge", "answers-summary-judge-"),
        ("data", "scripted/folder/my model.py", "data-summary-my-model.py-"),
        (".hidden", "scripted/judge", "data-summary-judge-"),
        ("Größe & Maß.csv", "scripted/judge", "Größe-Maß-summary-judge-"),
        ("x" * 100 + ".csv", "scripted/judge", "x" * 40 + "-summary-judge-"),
    ],
)
def test_a_name_is_made_from_data_checklist_and_judge(source: str, model: str, beginning: str) -> None:
    judge = ChatJudge(Scripted.from_function(lambda _: "yes", model), task=None)
    name = default_name(source, CHECKLIST, judge, run_identity(EXAMPLES, CHECKLIST, judge, repeats=1))
    assert name.startswith(beginning)
    assert len(name) == len(beginning) + 6


def test_other_data_of_the_same_file_name_have_another_name() -> None:
    judge = ChatJudge(Replies().model, task=None)
    names = {
        default_name("a.csv", CHECKLIST, judge, run_identity(examples, CHECKLIST, judge, repeats=1))
        for examples in (EXAMPLES, EXAMPLES[:1])
    }
    assert len(names) == 2


def test_a_changed_question_is_told_by_its_id_and_its_words() -> None:
    def checklist(text: str) -> Checklist:
        question = Question(id="ton-1", dimension="tone", text=text)
        return Checklist(name="c", dimensions={"tone": Dimension()}, questions=(question,))

    lines = checklist_differences(checklist("Is it polite?"), checklist("Is it calm?"))
    assert lines == ["checklist.questions.ton-1.text: Is it polite? in the run, Is it calm? now"]
