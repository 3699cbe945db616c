from dataclasses import replace
from typing import Any

from bineval.generation.lint import Finding, lint
from bineval.types import Checklist, Dimension, Question


def checklist(*questions: Question, dimensions: tuple[str, ...] = ("form", "content"), **more: Any) -> Checklist:
    used = [question.dimension for question in questions]
    named = {name: Dimension() for name in dimensions if name in used or more.get("keep_empty")}
    return Checklist(name="minutes", questions=questions, dimensions=named, provenance=more.get("provenance", {}))


def question(id_: str, text: str, dimension: str = "form", violation: str | None = "It does not.") -> Question:
    return Question(id=id_, text=text, dimension=dimension, violation=violation)


def rules(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    return [(finding.rule, finding.question_id, finding.severity) for finding in findings]


def test_a_sound_checklist_has_no_findings() -> None:
    sound = checklist(
        question("a", "Are the minutes in the past tense?"),
        question("b", "Do the minutes name everyone who was present?", "content"),
    )
    assert lint(sound) == []


def test_each_rule_about_wording_is_applied_to_each_question() -> None:
    found = lint(
        checklist(
            question("a", "The minutes are short."),
            question("b", "How short are the minutes?"),
            question("c", "Is the date right and is the place named?"),
            question("d", "Do the minutes contain errors?"),
            question("e", "Are the minutes never without a title?"),
            question("f", "Is the language good?"),
            question("g", f"Is {'very ' * 40}much of it old?"),
            question("h", "Is it as in question 2?"),
        )
    )
    assert rules(found) == [
        ("no-question-mark", "a", "error"),
        ("not-yes-no", "b", "error"),
        ("not-one-thing", "c", "warning"),
        ("no-is-good", "d", "warning"),
        ("double-negation", "e", "warning"),
        ("vague", "f", "warning"),
        ("too-long", "g", "warning"),
        ("refers-to-other-question", "h", "warning"),
    ]


def test_a_missing_or_blank_violation_is_a_warning() -> None:
    found = lint(
        checklist(
            question("a", "Is it in the past tense?", violation=None), question("b", "Is it dated?", violation=" ")
        )
    )
    assert rules(found) == [("no-violation", "a", "warning"), ("no-violation", "b", "warning")]


def test_a_duplicate_is_held_against_the_later_question_once_and_across_dimensions() -> None:
    found = lint(
        checklist(
            question("a", "Are all dates correct?"),
            question("b", "are all  dates correct?"),
            question("c", "Is every date accurate?", "content"),
        )
    )
    assert rules(found) == [("duplicate", "b", "error"), ("duplicate", "c", "warning")]
    assert found[1].dimension == "content"
    assert "nearly repeats (1.00) a (Are all dates correct?)" in found[1].message


def test_a_requirement_that_no_question_names_is_found() -> None:
    provenance = {
        "requirements": [
            {"id": "R1", "text": "In the past tense.", "dimension": "form"},
            {"id": "R2", "text": "Dated.", "dimension": "form"},
        ]
    }
    asked = Question(
        id="a", text="Is it past tense?", dimension="form", violation="x", requirement="in the  past tense."
    )
    found = lint(checklist(asked, provenance=provenance))
    assert rules(found) == [("uncovered-requirement", None, "warning")]
    assert (found[0].dimension, found[0].message) == ("form", "no question checks the requirement 'Dated.'")


def test_a_question_that_asks_for_what_its_requirement_forbids_is_found() -> None:
    bad = replace(question("a", "Do the minutes quote anyone?"), requirement="Do not quote anyone.")
    sound = replace(question("b", "Are the minutes free of jokes?"), requirement="No jokes.")
    assert rules(lint(checklist(bad, sound))) == [("no-is-good", "a", "warning")]


def test_provenance_of_any_form_is_read_over() -> None:
    for requirements in (None, "R1", [1, None, {"text": 3}], {"a": "b"}):
        assert lint(checklist(question("a", "Is it dated?"), provenance={"requirements": requirements})) == []


def test_a_dimension_without_question_is_an_error() -> None:
    found = lint(checklist(question("a", "Is it dated?"), keep_empty=True))
    assert [(finding.rule, finding.severity, finding.dimension) for finding in found] == [
        ("empty-dimension", "error", "content")
    ]


def test_a_finding_as_json_has_all_its_fields() -> None:
    (finding,) = lint(checklist(question("a", "Is it good?")))
    assert finding.to_json() == {
        "rule": "vague",
        "severity": "warning",
        "message": 'has no criterion but "good", which people read differently; say what counts',
        "question_id": "a",
        "dimension": "form",
    }
