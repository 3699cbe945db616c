import csv
import gzip
import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bineval.errors import ConfigError, DataError, MissingDependencyError
from bineval.hashing import Json
from bineval.io.rows import read_rows


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


File = Callable[[str, str | bytes], Path]


def rows(path: Path, **options: Any) -> list[tuple[int, dict[str, Json]]]:
    return list(read_rows(path, **options))


def error(path: Path, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        rows(path, **options)
    assert str(path) in str(caught.value)
    return caught.value


# What is read


def test_jsonl_rows_carry_their_lines_and_blank_lines_are_skipped(file: File) -> None:
    path = file("a.jsonl", '\n{"a": 1}\n  \r\n{"a": "ü"}\r\n\n')
    assert rows(path) == [(2, {"a": 1}), (4, {"a": "ü"})]


@pytest.mark.parametrize(
    "text",
    ['[{"a": 1}, {"a": 2}]', '{"data": [{"a": 1}, {"a": 2}]}', '{"rows":\n[{"a": 1},\n{"a": 2}]}'],
)
def test_json_is_a_list_or_an_object_with_one_list(file: File, text: str) -> None:
    assert rows(file("a.json", text)) == [(1, {"a": 1}), (2, {"a": 2})]


def test_what_stands_beside_the_list_is_not_dropped_silently(file: File) -> None:
    with pytest.warns(UserWarning, match=r"rows are read from 'data'; not used: version, by"):
        assert rows(file("a.json", '{"version": 2, "data": [{"a": 1}], "by": "me"}')) == [(1, {"a": 1})]


def test_csv_rows_carry_the_line_on_which_they_begin(file: File) -> None:
    path = file("a.csv", 'id,output\r\n1,"two\r\nlines"\r\n\r\n2,""\r\n')
    assert rows(path) == [(2, {"id": "1", "output": "two\r\nlines"}), (5, {"id": "2", "output": ""})]


def test_tsv_is_separated_by_tabs(file: File) -> None:
    assert rows(file("a.tsv", "id\toutput\n1\ta, b\n")) == [(2, {"id": "1", "output": "a, b"})]


def test_parquet_rows_are_numbered_across_batches(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"n": list(range(1000)), "day": [date(2026, 1, 2)] * 1000}), path)
    found = rows(path)
    assert len(found) == 1000
    assert found[999] == (1000, {"n": 999, "day": "2026-01-02"})


def test_every_format_can_be_gzipped(file: File, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": ["1"]}), tmp_path / "plain.parquet")
    contents = {
        "a.jsonl.gz": b'{"a": "1"}\n',
        "a.ndjson.GZ": b'{"a": "1"}\n',
        "a.json.gz": b'[{"a": "1"}]',
        "a.csv.gz": b"a\n1\n",
        "a.tsv.gz": b"a\n1\n",
        "a.parquet.gz": (tmp_path / "plain.parquet").read_bytes(),
    }
    for name, content in contents.items():
        assert [row for _, row in rows(file(name, gzip.compress(content)))] == [{"a": "1"}], name


def test_jsonl_is_read_line_by_line(file: File) -> None:
    reading = read_rows(file("a.jsonl", '{"a": 1}\nnot JSON\n'))
    assert next(reading) == (1, {"a": 1})
    with pytest.raises(DataError, match="malformed JSON"):
        next(reading)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_an_output_of_five_megabytes_is_read(file: File, name: str) -> None:
    output = "ä line, and more\n" * 300_000
    content = {
        "a.jsonl": json.dumps({"output": output}),
        "a.json": json.dumps([{"output": output}]),
        "a.csv": f'output\n"{output}"\n',
    }
    [(_, row)] = rows(file(name, content[name]))
    assert row == {"output": output}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_a_byte_order_mark_is_dropped(file: File, name: str) -> None:
    content = {"a.jsonl": '{"a": "1"}', "a.json": '[{"a": "1"}]', "a.csv": "a\n1\n"}[name]
    assert [row for _, row in rows(file(name, b"\xef\xbb\xbf" + content.encode()))] == [{"a": "1"}]
    assert [row for _, row in rows(file(name, content.encode("utf-16")), encoding="utf-16")] == [{"a": "1"}]


def test_another_encoding_can_be_named(file: File) -> None:
    assert rows(file("a.csv", "a\ncafé\n".encode("cp1252")), encoding="cp1252") == [(2, {"a": "café"})]


def test_line_separators_of_unicode_do_not_end_a_line(file: File) -> None:
    assert rows(file("a.jsonl", '{"a": "1\u20282\x852"}\n{"a": 3}')) == [(1, {"a": "1\u20282\x852"}), (2, {"a": 3})]


@given(
    table=st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=2, max_size=2)
    )
)
def test_csv_written_by_python_is_read_back(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]) -> None:
    path = tmp_path_factory.getbasetemp() / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as text:
        csv.writer(text).writerows([["a", "b"], *table])
    assert [list(row.values()) for _, row in rows(path)] == table


# What is refused


def test_a_byte_that_is_not_utf8_names_the_line_and_the_option(file: File) -> None:
    for name, content in {"a.jsonl": '{"a": 1}\n{"a": "é"}\n', "a.json": '[\n"é"]', "a.csv": "a\né\n"}.items():
        found = error(file(name, content.encode("cp1252")))
        assert found.line == 2
        assert "byte 0xe9" in found.problem
        assert "--encoding cp1252" in found.problem


def test_a_utf16_file_is_recognized(file: File) -> None:
    assert "--encoding utf-16" in error(file("a.jsonl", '{"a": 1}'.encode("utf-16"))).problem
    assert "--encoding utf-16" in error(file("a.csv", "a\nb\n".encode("utf-16-le"))).problem


def test_a_file_that_is_not_the_utf16_it_should_be(file: File) -> None:
    assert "is not utf-16 text" in error(file("a.jsonl", b'\xff\xfe{\0"\0a'), encoding="utf-16").problem


def test_an_unknown_encoding_is_a_config_error(file: File) -> None:
    for encoding in ("utf-9", "hex"):
        with pytest.raises(ConfigError, match=encoding):
            rows(file("a.jsonl", "{}"), encoding=encoding)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_nul_byte_is_refused(file: File, name: str) -> None:
    found = error(file(name, b"a\nb\0\n" if name == "a.csv" else b'{"a": 1}\n{"a": "\0"}\n'))
    assert (found.line, "NUL" in found.problem) == (2, True)


@pytest.mark.parametrize(
    ("value", "field"),
    [("NaN", "a"), ("-Infinity", "a"), ("1e999", "a"), ('{"b": [1, Infinity]}', "a.b[1]")],
)
def test_nan_and_infinities_name_line_and_field(file: File, value: str, field: str) -> None:
    found = error(file("a.jsonl", f'{{"a": 1}}\n{{"a": {value}}}\n'))
    assert (found.line, found.field) == (2, field)
    assert error(file("a.json", f'[{{"a": 1}}, {{"a": {value}}}]')).field == field


@pytest.mark.parametrize("line", ['{"a": 1', "{'a': 1}", '{"a": 1} {"a": 2}', "{", '{"a": "\n"}'])
def test_malformed_json_names_the_line(file: File, line: str) -> None:
    found = error(file("a.jsonl", f'{{"a": 1}}\n{line}\n'))
    assert found.line == 2
    assert "malformed JSON" in found.problem


def test_json_that_python_cannot_hold_is_malformed(file: File) -> None:
    assert "nested too deeply" in error(file("a.jsonl", "[" * 100_000)).problem
    assert "nested too deeply" in error(file("b.jsonl", '{"a":' + "[" * 900 + "]" * 900 + "}")).problem
    assert "malformed JSON" in error(file("c.jsonl", f'{{"a": {"1" * 5000}}}')).problem


def test_malformed_json_in_a_json_file_names_the_line_in_the_text(file: File) -> None:
    assert "line 3, column 1" in error(file("a.json", '[\n{"a": 1},\n]')).problem
    assert "must be named .jsonl" in error(file("a.json", '{"a": 1}\n{"a": 2}\n')).problem


def test_a_name_that_stands_twice_in_an_object_is_refused(file: File) -> None:
    found = error(file("a.jsonl", '{"a": 1}\n{"a": 1, "b": {"c": 1, "c": 2}}\n'))
    assert (found.line, found.field) == (2, "c")


@pytest.mark.parametrize("row", ["1", '"text"', "null", "[1]"])
def test_a_row_that_is_not_an_object_is_refused(file: File, row: str) -> None:
    assert error(file("a.jsonl", f'{{"a": 1}}\n{row}\n')).line == 2
    assert error(file("a.json", f'[{{"a": 1}}, {row}]')).line == 2


@pytest.mark.parametrize("text", ["1", "{}", '{"a": 1}', '{"a": [], "b": []}'])
def test_json_without_one_list_is_refused(file: File, text: str) -> None:
    assert "list" in error(file("a.json", text)).problem


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a,b\n1,2\n1\n", 3, "1 cells"),
        ("a,b\n1,2,3\n", 2, "3 cells"),
        ("a,a\n1,2\n", 1, "two columns"),
        ("a,\n1,2\n", 1, "no name"),
        ('a,b\n1,"2\n3,4\n', 2, "begins here"),
        ('a,b\n1,"2"x\n', 2, "begins here"),
    ],
)
def test_malformed_csv_names_the_line(file: File, text: str, line: int, words: str) -> None:
    found = error(file("a.csv", text))
    assert found.line == line
    assert words in found.problem


def test_parquet_that_is_not_parquet_is_refused(file: File, tmp_path: Path) -> None:
    assert "not a Parquet file" in error(file("a.parquet", b"not parquet, but long enough to look")).problem
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    assert error(tmp_path / "twice.parquet").field == "a"


def test_parquet_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    with pytest.raises(MissingDependencyError, match=r"bineval\[parquet\]"):
        rows(tmp_path / "a.parquet")


def test_parquet_values_that_json_lacks_are_refused_with_their_row(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": pa.array([None, b"bytes"])}), path)
    found = error(path)
    assert (found.line, found.field) == (2, "a")
    parquet.write_table(pa.table({"a": [1.0, float("nan")]}), path)
    assert (error(path).line, error(path).field) == (2, "a")


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path, file: File) -> None:
    assert "No such file" in error(tmp_path / "absent.jsonl").problem
    assert "gzip" in error(file("plain.jsonl.gz", '{"a": 1}')).problem
    whole = gzip.compress(b'{"a": 1}\n' * 100)
    assert "not a whole gzip file" in error(file("cut.jsonl.gz", whole[:-12])).problem


def test_an_unknown_ending_lists_the_known_ones(file: File) -> None:
    assert ".parquet" in error(file("a.xlsx", "")).problem
    assert ".jsonl" in error(file("a.gz", "")).problem


# What is replaced


def test_lone_surrogates_and_nul_characters_become_replacement_characters_with_one_warning_a_row(file: File) -> None:
    path = file("a.jsonl", '{"a": "fine \\ud83d\\ude00"}\n{"a": "x\\ud83dy", "b": ["\\u0000"], "c": "ok"}\n')
    warnings: list[str] = []
    found = rows(path, warn=warnings.append)
    assert found == [(1, {"a": "fine 😀"}), (2, {"a": "x\ufffdy", "b": ["\ufffd"], "c": "ok"})]
    [warning] = warnings
    assert warning.startswith(f"{path}:2: field 'a', 'b[0]'")


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_csv_with_another_separator_says_what_to_do(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "logs.csv"
    file.write_text(f"question{separator}answer\nWhy?{separator}Because.\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"logs.csv:1: the header is one column with .* save the file with commas"):
        list(read_rows(file))
