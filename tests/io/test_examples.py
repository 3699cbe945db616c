import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bineval.errors import DataError
from bineval.io.examples import examples_from, read_examples, read_examples_and_prompts
from bineval.io.fields import ALIASES
from bineval.types import Example


def one(row: Mapping[str, object]) -> Example:
    [example] = examples_from([row])
    return example


def error(*rows: Mapping[str, object]) -> DataError:
    with pytest.raises(DataError) as caught:
        examples_from(rows, source="logs")
    assert str(caught.value).startswith("logs:")
    return caught.value


def write(tmp_path: Path, text: str, name: str = "data.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


# Names


def test_own_names_are_read_and_the_rest_is_metadata() -> None:
    row = {
        "id": "a",
        "output": "o",
        "input": "i",
        "reference": "r",
        "context": "c",
        "group": "g",
        "system": "s",
        "human": {"clarity": 4},
        "metadata": {"lang": "en"},
        "tokens": [1, {"n": None}],
    }
    assert one(row) == Example(
        id="a",
        output="o",
        input="i",
        reference="r",
        context="c",
        group="g",
        system="s",
        human={"clarity": 4.0},
        metadata={"lang": "en", "tokens": [1, {"n": None}]},
    )


@pytest.mark.parametrize(("field", "alias"), [(field, alias) for field in ALIASES for alias in ALIASES[field]])
def test_every_alias_is_read_when_its_first_field_is_free_or_taken_by_name(field: str, alias: str) -> None:
    row: dict[str, object] = {name: name for name in ALIASES if name != field}
    example = one({**row, alias: "the value"})
    assert getattr(example, field) == "the value"
    assert example.metadata == {}


@pytest.mark.parametrize(("field", "alias"), [(field, alias) for field in ALIASES for alias in ALIASES[field]])
def test_the_own_name_wins_over_every_alias_and_says_nothing(field: str, alias: str) -> None:
    example = one({**{name: f"own {name}" for name in ALIASES}, alias: "other"})
    assert getattr(example, field) == f"own {field}"
    assert example.metadata == {alias: "other"}


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        # columns of application logs
        ("question answer context", {"input": "question", "output": "answer", "context": "context"}),
        ("question response answer", {"input": "question", "output": "response", "reference": "answer"}),
        # other evaluation tools
        (
            "input actual_output expected_output retrieval_context",
            {
                "input": "input",
                "output": "actual_output",
                "reference": "expected_output",
                "context": "retrieval_context",
            },
        ),
        (
            "user_input response retrieved_contexts reference",
            {"input": "user_input", "output": "response", "context": "retrieved_contexts", "reference": "reference"},
        ),
        (
            "question answer contexts ground_truth",
            {"input": "question", "output": "answer", "context": "contexts", "reference": "ground_truth"},
        ),
        # summaries and translations
        ("article summary", {"input": "article", "output": "summary"}),
        ("question article answer", {"input": "question", "context": "article", "output": "answer"}),
        ("source hypothesis target", {"input": "source", "output": "hypothesis", "reference": "target"}),
    ],
)
def test_files_of_other_tools_are_understood(names: str, fields: dict[str, str]) -> None:
    example = one({name: name for name in names.split()})
    assert {field: getattr(example, field) for field in ALIASES} == {**dict.fromkeys(ALIASES), **fields}


def test_an_alias_that_lost_stays_in_metadata_with_one_warning_a_file() -> None:
    warnings: list[str] = []
    rows = [{"prompt": "p", "query": "q", "output": "o"}] * 3
    examples = examples_from(rows, source="logs", warn=warnings.append)
    assert [(e.input, e.metadata) for e in examples] == [("p", {"query": "q"})] * 3
    assert warnings == ["logs: input is read from 'prompt'; kept as metadata: query"]


def test_a_name_means_the_same_in_all_rows() -> None:
    found = error({"response": "given", "answer": "right"}, {"answer": "right"})
    assert (found.line, found.field) == (2, "response")
    assert "is missing" in found.problem


def test_metadata_that_repeats_a_field_of_the_row_is_refused() -> None:
    assert error({"output": "o", "lang": "en", "metadata": {"lang": "de"}}).field == "lang"


def test_metadata_that_is_not_a_mapping_is_kept_as_it_is() -> None:
    assert one({"output": "o", "metadata": "note"}).metadata == {"metadata": "note"}
    assert one({"output": "o", "metadata": None}).metadata == {}


# Ids


def test_a_missing_id_is_the_number_of_the_row(tmp_path: Path) -> None:
    path = write(tmp_path, '\n{"output": "a"}\n\n{"output": "b", "id": null}\n{"output": "c", "id": 7}\n', "d.jsonl")
    assert [example.id for example in read_examples(path)] == ["row-1", "row-2", "7"]


@pytest.mark.parametrize("first", [{"id": "a", "output": ""}, {"id": "b", "output": ""}])
def test_a_duplicate_id_names_both_lines(tmp_path: Path, first: dict[str, str]) -> None:
    path = write(tmp_path, f'{json.dumps(first)}\n\n{{"output": "", "id": "{first["id"]}"}}\n', "d.jsonl")
    with pytest.raises(DataError) as caught:
        read_examples(path)
    assert (caught.value.line, caught.value.field) == (3, "id")
    assert f"{path}:1" in caught.value.problem


def test_an_id_that_clashes_with_a_made_one_is_a_duplicate() -> None:
    found = error({"id": "row-2", "output": ""}, {"output": ""})
    assert (found.line, "logs:1" in found.problem) == (2, True)
    assert error({"id": 1, "output": ""}, {"id": "1", "output": ""}).line == 2


@pytest.mark.parametrize("value", ["", True, 1.5, ["a"]])
def test_an_id_that_is_neither_text_nor_a_whole_number_is_refused(value: object) -> None:
    assert error({"id": value, "output": ""}).field == "id"


# Texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (" as it is\n", " as it is\n"),
        ({"b": "é", "a": [1]}, '{"a": [1], "b": "é"}'),
        (["x", 1], '["x", 1]'),
        (1.5, "1.5"),
        (True, "true"),
    ],
)
def test_an_output_that_is_not_text_is_json_with_sorted_keys(value: object, text: str) -> None:
    assert one({"output": value}).output == text
    assert one({"output": "", "reference": value}).reference == text


def test_a_missing_output_is_not_an_empty_one() -> None:
    found = error({"output": "fine"}, {"output": None})
    assert (found.line, found.field) == (2, "output")
    found = error({"actual_output": None})
    assert found.field == "actual_output"
    found = error({"text": "x", "id": 1})
    assert found.field == "output"
    assert "actual_output" in found.problem
    assert "the row has text, id" in found.problem


def test_a_list_of_texts_as_context_is_joined_with_blank_lines() -> None:
    assert one({"output": "", "contexts": ["one", "two"]}).context == "one\n\ntwo"
    assert one({"output": "", "contexts": [{"text": "one"}]}).context == '[{"text": "one"}]'
    assert one({"output": "", "contexts": []}).context == ""


def test_a_conversation_as_input_is_written_as_role_and_content() -> None:
    plain = [{"role": "user", "content": "Hi"}, {"content": "Yes?", "role": "assistant"}]
    assert one({"output": "", "messages": plain}).input == "user: Hi\n\nassistant: Yes?"
    with_tools = [{"role": "user", "content": "Hi", "tool_calls": []}]
    assert one({"output": "", "input": with_tools}).input == json.dumps(with_tools, sort_keys=True)


def test_group_and_system_become_text() -> None:
    example = one({"output": "", "group": 3, "system": 1.5})
    assert (example.group, example.system) == ("3", "1.5")


# Human labels


def test_human_labels_are_numbers_and_a_missing_one_is_absent() -> None:
    assert one({"output": "", "human": {"a": 4, "b": None, "c": True, "d": False}}).human == {"a": 4, "c": 1, "d": 0}
    assert one({"output": "", "human": None, "human.a": 2, "human_b": None, "human_c": 1.5}).human == {"a": 2, "c": 1.5}


@pytest.mark.parametrize("value", ["4", "good", [1, 2], {"rater": 1}, 10**400])
def test_a_human_label_that_is_no_number_is_refused(value: object) -> None:
    assert error({"output": "", "human": {"clarity": value}}).field == "human.clarity"
    found = error({"output": "", "human_clarity": value})
    assert found.field == "human_clarity"
    assert "rename the field" in found.problem


def test_a_human_label_of_nan_is_refused() -> None:
    assert error({"output": "", "human": {"clarity": float("nan")}}).field == "human.clarity"


def test_human_labels_that_stand_twice_or_name_no_dimension_are_refused() -> None:
    assert error({"output": "", "human": {"a": 1}, "human.a": 1}).field == "human.a"
    assert error({"output": "", "human.": 1}).field == "human."
    assert error({"output": "", "human": 4}).field == "human"


# CSV


def test_an_empty_cell_is_missing_except_in_the_output_and_in_metadata(tmp_path: Path) -> None:
    path = write(tmp_path, "id,question,answer,context,group,human.a,human_b,note\n,,,,,,,\n")
    assert read_examples(path) == [Example(id="row-1", output="", metadata={"note": ""})]


def test_labels_in_csv_are_numbers_written_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "output,human.a,human_b,human.c\nx,4.5,True,false\n")
    assert read_examples(path)[0].human == {"a": 4.5, "b": 1.0, "c": 0.0}


@pytest.mark.parametrize("cell", ["good", "nan", "inf", '"4,5"'])
def test_a_label_in_csv_that_is_no_number_names_line_and_column(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path, f'output,human_a\n"two\nlines",1\nx,{cell}\n')
    with pytest.raises(DataError) as caught:
        read_examples(path)
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 4, "human_a")


# Other sources


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json"])
def test_a_file_without_rows_is_refused(tmp_path: Path, name: str) -> None:
    content = {"a.jsonl": "\n", "a.csv": "id,output\n", "a.json": "[]"}[name]
    with pytest.raises(DataError, match="holds no rows"):
        read_examples(str(write(tmp_path, content, name)))


def test_parquet_gives_the_same_examples_as_jsonl(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "output": "x", "human": {"a": 1.5, "b": None}, "contexts": ["p", "q"], "note": None},
        {"id": "b", "output": "", "human": {"a": None, "b": 2.0}, "contexts": [], "note": "n"},
    ]
    jsonl = write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "a.jsonl")
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert read_examples(tmp_path / "a.parquet") == read_examples(jsonl)


def test_values_of_numpy_and_decimals_are_plain_numbers() -> None:
    row = {
        "id": np.int64(3),
        "output": "x",
        "human": {"a": np.float32(1.5), "b": np.bool_(True), "c": Decimal("2.5")},
        "v": np.array([1, 2]),
    }
    assert one(row) == Example(id="3", output="x", human={"a": 1.5, "b": 1, "c": 2.5}, metadata={"v": [1, 2]})


@pytest.mark.parametrize("value", [float("nan"), np.float64("inf"), {1, 2}, b"bytes", object()])
def test_a_value_that_json_cannot_hold_names_row_and_field(value: object) -> None:
    found = error({"output": "x"}, {"output": "y", "more": [value]})
    assert (found.line, found.field) == (2, "more[0]")


def test_rows_that_are_not_mappings_with_text_as_keys_are_refused() -> None:
    assert error({"output": ""}, ["output"]).line == 2  # type: ignore[arg-type]
    assert error({"output": "", "more": {1: 2}}).field == "more"


def test_a_lone_surrogate_in_memory_is_replaced_with_a_warning() -> None:
    warnings: list[str] = []
    [example] = examples_from([{"output": "x\ud800", "k\udfff": 1}], source="logs", warn=warnings.append)
    assert (example.output, example.metadata) == ("x\ufffd", {"k\ufffd": 1})
    assert len(warnings) == 1
    assert warnings[0].startswith("logs:1: ")


def test_rows_without_an_output_are_kept_apart_where_they_may_be_there(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "prompt": "a", "response": "A"},
        {"id": 2, "prompt": "b", "response": None},
        {"id": 3, "response": ""},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    examples, prompts = read_examples_and_prompts(path)
    assert [(example.id, example.output) for example in examples] == [("1", "A"), ("3", "")]
    assert [(example.id, example.input, example.output) for example in prompts] == [("2", "b", "")]
    with pytest.raises(DataError, match=r"rows\.jsonl:2: field 'response': is null"):
        read_examples(path)


def test_a_file_of_prompts_alone_has_no_examples_and_keeps_the_lines_of_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"id": "a", "input": "x"}\n{"id": "b", "input": "y"}\n', encoding="utf-8")
    examples, prompts = read_examples_and_prompts(path)
    assert (examples, [prompt.id for prompt in prompts]) == ([], ["a", "b"])
    path.write_text('{"id": "a", "input": "x"}\n\n{"id": "a", "input": "y"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"prompts\.jsonl:3: .*already used in .*:1"):
        read_examples_and_prompts(path)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
example_lists = st.lists(
    st.builds(
        Example,
        id=texts.filter(bool),
        output=texts,
        input=st.none() | texts,
        reference=st.none() | texts,
        context=st.none() | texts,
        group=st.none() | texts,
        system=st.none() | texts,
        human=st.dictionaries(texts.filter(bool), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        metadata=st.dictionaries(texts, values, max_size=3),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda example: example.id,
)


@given(examples=example_lists)
def test_examples_come_back_from_memory_and_from_jsonl(
    tmp_path_factory: pytest.TempPathFactory, examples: list[Example]
) -> None:
    assert examples_from(examples) == examples
    path = tmp_path_factory.getbasetemp() / "examples.jsonl"
    path.write_text("".join(json.dumps(example.to_json()) + "\n" for example in examples), encoding="utf-8")
    assert read_examples(path) == examples
