import pytest

from bineval.errors import ModelRequestError
from bineval.methods.metrics.base import Compared, texts_of
from bineval.methods.metrics.rouge import Rouge
from bineval.types import Example


def test_the_reference_comes_first_and_further_ones_follow_each_once() -> None:
    example = Example(id="e", output="x", reference="a", metadata={"references": ["b", "a", " ", "c"]})
    assert texts_of(example, "reference", metric="m") == ["a", "b", "c"]
    assert texts_of(Example(id="e", output="x", metadata={"references": ["b"]}), "reference", metric="m") == ["b"]


def test_other_fields_have_one_text() -> None:
    example = Example(id="e", output="x", input="in", context="con", metadata={"references": ["b"]})
    assert texts_of(example, "input", metric="m") == ["in"]
    assert texts_of(example, "context", metric="m") == ["con"]


def test_characters_that_no_library_takes_are_replaced() -> None:
    assert texts_of(Example(id="e", output="x", input="a\ud800"), "input", metric="m") == ["a\ufffd"]
    rouge = Compared(Rouge("rouge-l"), against="reference")
    assert rouge.score(Example(id="e", output="rain \ud800", reference="rain"), "any") == 1


@pytest.mark.parametrize("references", ["a text", ["a", 1], {"a": "b"}])
def test_references_that_are_no_list_of_texts_are_refused(references: object) -> None:
    example = Example(id="e", output="x", metadata={"references": references})  # type: ignore[dict-item]
    with pytest.raises(ModelRequestError, match="example e: references must be a list of texts"):
        texts_of(example, "reference", metric="m")


def test_an_example_without_the_field_says_which_and_what_to_do() -> None:
    rouge = Compared(Rouge("rouge-l"), against="reference")
    with pytest.raises(ModelRequestError, match=r"rouge-l: example e has no reference .* --against names another"):
        rouge.score(Example(id="e", output="x", reference="  "), "any")


def test_the_settings_say_what_is_compared_with() -> None:
    assert Compared(Rouge("rouge-l"), against="input").settings["against"] == "input"
