import json

import pytest

from bineval.methods.atomic_facts import FactsForm, text_alone
from bineval.types import Example, Question

QUESTION = Question(id="facts", text="Share of supported facts", dimension="truth", asks="rating")


def read(text: str) -> tuple[str, ...] | str:
    """The facts that a reply holds, or what is wrong with it."""
    reading = FactsForm().read(text, [QUESTION])
    if QUESTION.id in reading.problems:
        return reading.problems[QUESTION.id]
    answer = reading.answers[QUESTION.id]
    assert answer.answer == ("yes" if answer.quotes else "no")
    return answer.quotes


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('{"facts": ["Ann is tall.", "Bob is old."]}', ("Ann is tall.", "Bob is old.")),
        ('Here they are:\n```json\n{"Facts": ["Ann is tall."]}\n```', ("Ann is tall.",)),
        ('["Ann is tall."]', ("Ann is tall.",)),
        ('{"facts": [{"fact": "Ann is\\n tall."}]}', ("Ann is tall.",)),
        ('{"facts": []}', ()),
        ('<think>{"facts": ["no"]}</think>{"facts": ["Ann is tall."]}', ("Ann is tall.",)),
        ('{"facts": ["A b.", "C d.", "a B."]}', ("A b.", "C d.")),
        ('{"facts": ["A b."]} {"facts": ["A b."]}', ("A b.",)),
    ],
)
def test_facts_are_read_in_order_each_once(text: str, facts: tuple[str, ...]) -> None:
    assert read(text) == facts


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the reply is empty"),
        ("Ann is tall and Bob is old.", 'no JSON object with "facts"'),
        ('{"facts": "Ann is tall."}', "must be a list of texts"),
        ('{"facts": ["Ann is tall.", 3]}', "each fact must be a text, not '3'"),
        # What the form shows is no fact.
        ('{"facts": ["..."]}', "each fact must be a text"),
        ('{"facts": ["A b."]} {"facts": ["C d."]}', "disagree"),
        ('{"facts": ["Ann is tall.", "Bob', 'no JSON object with "facts"'),
    ],
)
def test_a_reply_that_is_no_list_of_facts_says_what_is_wrong(text: str, problem: str) -> None:
    found = read(text)
    assert isinstance(found, str)
    assert problem in found


def test_a_list_that_may_have_been_cut_off_is_not_taken_for_whole() -> None:
    cap = FactsForm().schema([QUESTION])["properties"]["facts"]["maxItems"]  # type: ignore[index,call-overload]
    full = [f"Fact {i}." for i in range(cap)]
    assert read(json.dumps({"facts": full})) == f"the text states {cap} facts or more, which is too many for one list"
    # A model that repeats itself until the end of the list has said all it has to say.
    assert read(json.dumps({"facts": ["Same."] * cap})) == ("Same.",)


def test_the_model_sees_the_text_alone() -> None:
    example = Example(id="e", output="o", input="i", context="c", reference="r", system="s")
    assert text_alone(example) == Example(id="e", output="o", system="s")
