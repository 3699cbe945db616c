import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.hashing import Json
from bineval.judging.json_text import json_values, merged, without_reasoning

ANSWER = {"explanation": "The date is there.", "answer": "yes"}
TEXT = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"\n  {TEXT}\n\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}```",
        f"Here is what I found:\n{TEXT}\nI hope that helps!",
        f"The set {{x}} of [1] and [sic] is odd. {TEXT}",
        f"{TEXT} (see {{x}}, [2])",
        '{"explanation": "The date is there.", "answer": "yes",}',
        '{"explanation": "The date is there." , "answer": "yes" /* sure */ , }',
        '{\n  // why\n  "explanation": "The date is there.",\n  "answer": "yes" // that is it\n}',
        '{/* { "answer": "no" } */ "explanation": "The date is there.", "answer": "yes"}',
        f"\ufeff{TEXT}",
    ],
    ids=range(12),
)
def test_an_object_is_found_whatever_stands_around_it(reply: str) -> None:
    assert json_values(reply) == [ANSWER]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('["two\nlines\tand a tab"]', "two\nlines\tand a tab"),
        (r'["it\'s"]', "it's"),
        (r'["50\% of \alpha"]', r"50\% of \alpha"),
        (r'["C:\Users"]', r"C:\Users"),
        (r'["\u12 is no escape"]', r"\u12 is no escape"),
        (r'["a \"quoted\" word and a \\ backslash"]', 'a "quoted" word and a \\ backslash'),
        ('["http://example.org/*x*/ and // more, }",]', "http://example.org/*x*/ and // more, }"),
    ],
)
def test_strings_survive_raw_line_breaks_and_bad_escapes(written: str, read: str) -> None:
    assert json_values(written) == [[read]]


def test_what_is_inside_a_string_is_no_value() -> None:
    quoted = {"explanation": 'The text says {"answer": "yes"} and ["yes"].', "answer": "no"}
    assert json_values(json.dumps(quoted)) == [quoted]
    assert json_values(json.dumps(quoted)[:-1] + ",}") == [quoted]


def test_all_values_come_in_order() -> None:
    assert json_values('first {"a": 1} then ["b"] and {} and []') == [{"a": 1}, ["b"], {}, []]


@pytest.mark.parametrize(
    "cut_off",
    [
        '{"explanation": "The text says {\\"answer\\": ',
        '{"explanation": "x", "answer": "yes"',
        '{"answers": [{"id": "a", "answer": "yes"}, {"id": "b"',
        '{"explanation": "x", "quoted": {"answer": "yes"} ',
        '{"explanation": "x", /* {"answer": "yes"}',
        '["x"} {"answer": "yes"}',
    ],
)
def test_a_value_that_is_never_closed_ends_the_search(cut_off: str) -> None:
    assert json_values(cut_off) == []
    assert json_values(f'{{"whole": 1}} {cut_off}') == [{"whole": 1}]


def test_a_broken_value_that_is_closed_is_passed_over() -> None:
    assert json_values(f'{{"explanation": "x" "answer": "no"}} {TEXT}') == [ANSWER]


def test_a_number_with_thousands_of_digits_breaks_only_its_value() -> None:
    assert json_values(f'{{"answer": "no", "n": {"1" * 5000}}} {TEXT}') == [ANSWER]


@pytest.mark.parametrize("depth", [60, 900, 30_000])
def test_a_value_nested_deeper_than_fifty_is_passed_over(depth: int) -> None:
    assert json_values('{"a":' * 45 + "1" + "}" * 45) != []
    assert json_values('{"a":' * depth + "1" + "}" * depth + TEXT) == [ANSWER]
    assert json_values('{"a": ' + "[" * depth + "1" + "]" * depth + "}" + TEXT) == [ANSWER]


def test_brackets_around_numbers_or_brackets_are_prose() -> None:
    assert json_values(f"as [1], [2, 3] and [[4]] show: [[{TEXT}]]") == [[ANSWER]]


def test_two_values_of_one_key_become_a_text_that_holds_both() -> None:
    assert json_values('{"answer": "yes", "answer": "no"}') == [{"answer": "yes | no"}]
    assert json_values('{"answer": "yes", "answer": "yes"}') == [{"answer": "yes"}]
    assert merged([("a", "x"), ("b", 1), ("a", "y"), ("a", "z")]) == {"a": "x | y | z", "b": 1}


DRAFT = '{"answer": "no"}'


@pytest.mark.parametrize(
    "reply",
    [
        f"<think>\nPerhaps {DRAFT}? Or {{so}}.\n</think>\n{TEXT}",
        f"<THINKING>Perhaps {DRAFT}</THINKING>{TEXT}",
        f"<reasoning>It says no.</reasoning>```json\n{TEXT}\n```",
        f"I would say {DRAFT}.\n</think>\n{TEXT}",
        f'<think>I begin with {{"answer": and then </think>{TEXT}',
        f'I begin with {{"answer": "no</think>{TEXT}',
        f"<think>one {DRAFT}</think><think>two {DRAFT}</think>{TEXT}",
        f"{TEXT}\n<think>",
    ],
    ids=range(8),
)
def test_a_draft_in_the_reasoning_is_no_answer(reply: str) -> None:
    assert json_values(reply) == [ANSWER]


@pytest.mark.parametrize(
    "reply",
    [f"<think>{DRAFT} and so on", f"Well. <think>{DRAFT}", f"<think>a</think> <think>{DRAFT}", f"{DRAFT}</think>"],
)
def test_reasoning_that_was_never_finished_holds_no_answer(reply: str) -> None:
    expected = [{"answer": "no"}] if reply.startswith("{") else []  # a reply that begins with a value is no reasoning
    assert json_values(reply) == expected


@pytest.mark.parametrize("before", ["", "```json\n", "Here is the JSON:\n", "<think>Hm, {x}.</think>\n"])
@pytest.mark.parametrize("tag", ["</think>", "<think>", '</think>{"answer": "yes"}', "<think>{}</think>"])
def test_a_tag_that_the_judge_quotes_ends_no_reasoning(before: str, tag: str) -> None:
    value = {"evidence": [tag], "explanation": f"The text says {tag}.", "answer": "no"}
    assert json_values(before + json.dumps(value)) == [value]


def test_a_reply_without_values_keeps_its_words_but_not_its_reasoning() -> None:
    assert without_reasoning("yes") == "yes"
    assert without_reasoning("<think>no</think>\nyes") == "\nyes"
    assert without_reasoning("Hm, no.</think>yes") == "yes"
    assert without_reasoning("yes<think>no") == "yes"
    assert without_reasoning("") == ""


N = 100_000


@pytest.mark.parametrize(
    "reply",
    [
        "{" * N,
        "[" * N,
        '"' * N,
        "{" + " " * N,
        "<think>" * (N // 7),
        "</think>" * (N // 8),
        '["' * (N // 2),
        '{"a":' * (N // 5),
        "{" + "/* " * (N // 3),
        '{"a": 1 ' + "/* " * (N // 3),
        '["' + "\\" * N,
        '["a"' + "," * N + "]",
        "[]" * (N // 2) + "</think>",
        '["x</think>' * (N // 11),
        '["</think>",' * (N // 12),
        '{"a" b}' * (N // 7),
        '{"answer": "yes", "n": ' + "1" * N + "}",
        "{" + ",".join(f'"a":{i}' for i in range(N // 8)) + "}",
        "[" * (N // 2) + "]" * (N // 2),
    ],
    ids=range(19),
)
def test_a_hostile_reply_takes_less_than_a_second(reply: str) -> None:
    began_at = time.process_time()
    json_values(reply)
    assert time.process_time() - began_at < 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, min_size=1, max_size=4)
# Prose may hold braces and quotation marks, but nothing that opens a value or a tag.
PROSE = st.lists(
    st.text(st.characters(exclude_characters="{[<"), max_size=30)
    | st.sampled_from(["{x}", "[1]", "[see", "{ see", "</p>"]),
    max_size=5,
).map("".join)


@given(OBJECTS, PROSE, PROSE, st.booleans())
def test_prose_around_valid_json_changes_nothing(value: dict[str, Json], before: str, after: str, ascii_: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    assert json_values(f"{before}.{text}\n.{after}") == [value]


@given(OBJECTS, PROSE)
def test_reasoning_before_valid_json_changes_nothing(value: dict[str, Json], reasoning: str) -> None:
    assert json_values(f"<think>{reasoning}</think>{json.dumps(value)}") == [value]
    assert json_values(f'So: {reasoning} {{"answer": "no"}}\n</think>{json.dumps(value)}') == [value]


MARKS = st.sampled_from(
    [*list("{}[]\"'\\/*,:<>\n "), "<think>", "</think>", "```", '{"', '["', "yes", "\\u12", "//", "\ud800"]
)


@given(st.lists(MARKS | st.text(max_size=3), max_size=60).map("".join))
def test_no_text_makes_it_raise(text: str) -> None:
    for value in json_values(text):
        assert isinstance(value, dict | list)
    assert without_reasoning(text) in text


@given(OBJECTS, st.data())
def test_a_reply_that_was_cut_off_gives_nothing(value: dict[str, Json], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert json_values(text[:cut]) == []
