import json
from typing import Any, cast

import pytest

from bineval.judging.forms import Form, SeveralForm, SingleForm
from bineval.types import Question

PLAIN = Question(id="con-1", text="Are all names right?", dimension="consistency")
RICH = Question(
    id="con-2", text="Is every date right?", dimension="consistency", violation="It says May.", may_not_apply=True
)


def properties(form: Form, *questions: Question) -> dict[str, Any]:
    schema = cast(dict[str, Any], form.schema(questions))
    if "answers" in schema["properties"]:
        schema = schema["properties"]["answers"]["items"]
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    return cast(dict[str, Any], schema["properties"])


@pytest.mark.parametrize("form", [SingleForm(evidence=True), SeveralForm(evidence=True)])
def test_the_explanation_stands_before_the_answer_in_schema_and_words(form: Form) -> None:
    assert [name for name in properties(form, RICH) if name != "id"] == ["evidence", "explanation", "answer"]
    shape = form.shape([RICH])
    assert shape.index("evidence") < shape.index("explanation") < shape.index('"answer"')


@pytest.mark.parametrize("form", [SingleForm(evidence=False), SeveralForm(evidence=False)])
def test_evidence_is_asked_for_only_when_wanted(form: Form) -> None:
    assert "evidence" not in properties(form, RICH)
    assert "evidence" not in form.shape([RICH])


def test_not_applicable_is_offered_only_where_it_is_allowed() -> None:
    form = SingleForm(evidence=False)
    assert properties(form, PLAIN)["answer"]["enum"] == ["yes", "no"]
    assert properties(form, RICH)["answer"]["enum"] == ["yes", "no", "not_applicable"]
    assert "not_applicable" not in form.shape([PLAIN])
    assert '"not_applicable"' in form.shape([RICH])
    several = SeveralForm(evidence=False).values([PLAIN, RICH])["questions"].splitlines()
    assert ["not_applicable" in line for line in several] == [False, True]


def test_several_answers_are_one_for_each_id() -> None:
    schema = cast(dict[str, Any], SeveralForm(evidence=False).schema([PLAIN, RICH]))
    answers = schema["properties"]["answers"]
    assert (answers["minItems"], answers["maxItems"]) == (2, 2)
    assert answers["items"]["properties"]["id"]["enum"] == ["con-1", "con-2"]
    assert next(iter(answers["items"]["properties"])) == "id"


def test_the_example_of_a_no_is_shown_where_there_is_one() -> None:
    single, several = SingleForm(evidence=False), SeveralForm(evidence=False)
    assert single.values([PLAIN])["violation"] == ""
    assert single.values([RICH])["violation"] == 'An example of "no": It says May.\n'
    lines = several.values([PLAIN, RICH])["questions"].splitlines()
    assert lines[0] == "- id con-1: Are all names right?"
    assert lines[1].startswith('- id con-2: Is every date right? (An example of "no": It says May.)')


def test_a_question_is_asked_again_by_what_the_model_knows_it_by() -> None:
    assert SingleForm(evidence=False).names([PLAIN]) == "Are all names right?"
    assert SeveralForm(evidence=False).names([PLAIN, RICH]) == "the questions with the ids con-1, con-2"


def test_each_form_reads_the_reply_that_it_asks_for() -> None:
    entry = {"explanation": "x", "answer": "not_applicable"}
    assert SingleForm(evidence=False).read(json.dumps(entry), [RICH]).answers["con-2"].answer == "not_applicable"
    assert SingleForm(evidence=False).read(json.dumps(entry), [PLAIN]).problems.keys() == {"con-1"}
    reply = json.dumps({"answers": [{"id": "con-2", **entry}, {"id": "con-1", **entry}]})
    reading = SeveralForm(evidence=False).read(reply, [PLAIN, RICH])
    assert (reading.answers.keys(), reading.problems.keys()) == ({"con-2"}, {"con-1"})
