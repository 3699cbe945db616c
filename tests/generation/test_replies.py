import json

import pytest

from bineval.generation.replies import (
    DescriptionEntry,
    QuestionEntry,
    RequirementEntry,
    questions_form,
    read_entries,
    requirements_form,
)

Q = QuestionEntry(requirement="R1", question="Is it short?", violation="It is long.")
ROW = {"requirement": "R1", "question": "Is it short?", "violation": "It is long."}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"questions": [ROW]}),
        json.dumps([ROW]),
        json.dumps({"result": {"Questions": [ROW]}}),
        json.dumps(ROW),
        f"```json\n{json.dumps(ROW)}\n```",
        json.dumps({"questions": [ROW, {"question": "..."}, {"question": ""}, {"requirement": "R2"}, 3, None]}),
        json.dumps(
            {"questions": [{"Requirement": ["R1"], "text": " Is it  short?", "violation": "It is long.", "x": 1}]}
        ),
        json.dumps({"questions": [ROW, ROW]}),
    ],
)
def test_a_question_is_read_from_any_reasonable_form(text: str) -> None:
    assert read_entries(text, QuestionEntry) == [Q]


def test_a_question_may_lack_its_requirement_and_violation() -> None:
    assert read_entries('{"question": "Is it short?"}', QuestionEntry) == [QuestionEntry(question="Is it short?")]


@pytest.mark.parametrize("text", ["", "Is it short?", "{", '"questions"', '{"questions": "Is it short?"}', "[[]]"])
def test_a_reply_without_entries_gives_none(text: str) -> None:
    assert read_entries(text, QuestionEntry) == []


def test_requirements_and_descriptions_are_told_apart() -> None:
    text = json.dumps(
        {
            "requirements": [{"text": "Short.", "dimension": "form"}],
            "dimensions": [{"name": "form", "description": "How it is said."}],
        }
    )
    assert read_entries(text, RequirementEntry) == [RequirementEntry(text="Short.", dimension="form")]
    assert read_entries(text, DescriptionEntry) == [DescriptionEntry(name="form", description="How it is said.")]


def test_the_schema_lists_ids_and_bounds_the_number_of_entries() -> None:
    form = questions_form(["R1", "R2"])
    entries = form.schema()["properties"]["questions"]  # type: ignore[index,call-overload]
    assert (entries["minItems"], entries["maxItems"]) == (2, 7)
    assert entries["items"]["properties"]["requirement"]["enum"] == ["R1", "R2"]
    again = form.schema_for_mending(2)["properties"]["questions"]  # type: ignore[index,call-overload]
    assert (again["minItems"], again["maxItems"]) == (1, 4)


def test_descriptions_are_asked_for_only_when_the_model_chooses_the_dimensions() -> None:
    own, given = requirements_form([]), requirements_form(["form"])
    assert list(own.schema()["properties"]) == ["requirements", "dimensions"]  # type: ignore[call-overload]
    assert list(given.schema()["properties"]) == ["requirements"]  # type: ignore[call-overload]
    assert "description" in own.shape
    assert "description" not in given.shape
