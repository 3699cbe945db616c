import csv
import gzip
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.io.export import SCORE_COLUMNS, VERDICT_COLUMNS, ColumnType, ExportFormat, write_rows

COLUMNS: Mapping[str, ColumnType] = {
    "id": "text",
    "n": "integer",
    "p": "number",
    "ok": "boolean",
    "more": "json",
}
ROWS: list[dict[str, Json]] = [
    {"id": "é 😀", "n": 1, "p": 0.5, "ok": True, "more": [{"quote": "a\nb", "verified": False}]},
    {"id": "", "n": None, "p": None, "ok": None, "more": None},
]


def written(
    tmp_path: Path, rows: list[dict[str, Json]], columns: Mapping[str, ColumnType], format: ExportFormat
) -> bytes:
    path = tmp_path / f"out.{format}"
    write_rows(rows, columns=columns, format=format, path=path)
    return path.read_bytes()


def test_the_exported_columns_are_those_of_the_design() -> None:
    assert ", ".join(VERDICT_COLUMNS) == (
        "run, example_id, question_id, dimension, unit, repeat, answer, reason, probability, explanation, evidence, "
        "judge, cached, input_tokens, output_tokens"
    )
    assert ", ".join(SCORE_COLUMNS) == ("run, example_id, group, system, dimension, value, scaled, n_answered, n_asked")


def test_jsonl_keeps_lists_and_null(tmp_path: Path) -> None:
    lines = written(tmp_path, ROWS, COLUMNS, "jsonl").decode().splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    assert "é 😀" in lines[0]


def test_csv_has_json_for_lists_and_an_empty_cell_for_null(tmp_path: Path) -> None:
    table = list(csv.reader(io.StringIO(written(tmp_path, ROWS, COLUMNS, "csv").decode(), newline="")))
    assert table == [
        ["id", "n", "p", "ok", "more"],
        ["é 😀", "1", "0.5", "true", '[{"quote": "a\\nb", "verified": false}]'],
        ["", "", "", "", ""],
    ]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    written(tmp_path, ROWS, COLUMNS, "parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert rows == [{**ROWS[0], "more": '[{"quote": "a\\nb", "verified": false}]'}, ROWS[1]]


@pytest.mark.parametrize("rows", [[], [dict.fromkeys(VERDICT_COLUMNS)]])
def test_types_in_parquet_do_not_depend_on_values(tmp_path: Path, rows: list[dict[str, Json]]) -> None:
    written(tmp_path, rows, VERDICT_COLUMNS, "parquet")
    schema = parquet.read_schema(tmp_path / "out.parquet")
    assert schema.field("unit").type == pa.int64()
    assert schema.field("probability").type == pa.float64()
    assert schema.field("cached").type == pa.bool_()
    assert schema.field("evidence").type == pa.string()


def test_many_rows_of_parquet_are_written_in_batches(tmp_path: Path) -> None:
    written(tmp_path, [{"n": n} for n in range(25_000)], {"n": "integer"}, "parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["n"].to_pylist() == list(range(25_000))


@pytest.mark.parametrize("cell", ["=1+1", "+SUM(A1)", "-cmd", "@x", "\t=1", "\r=1", "-", "--1", "-1+1", "+1 2"])
def test_a_cell_that_a_spreadsheet_would_run_is_escaped(tmp_path: Path, cell: str) -> None:
    text = written(tmp_path, [{"id": cell}], {"id": "text"}, "csv").decode()
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["id"], [f"'{cell}"]]
    assert json.loads(written(tmp_path, [{"id": cell}], {"id": "text"}, "jsonl")) == {"id": cell}


@pytest.mark.parametrize("cell", ["-1", "+2.5", "-.5", "-1e-5", "1=1", "'=1", "a@b", " =1", -0.5])
def test_plain_numbers_and_harmless_text_are_not_escaped(tmp_path: Path, cell: Json) -> None:
    kind: ColumnType = "text" if isinstance(cell, str) else "number"
    text = written(tmp_path, [{"id": cell}], {"id": kind}, "csv").decode()
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["id"], [str(cell)]]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_characters_that_cannot_be_stored_are_replaced(tmp_path: Path, format: ExportFormat) -> None:
    columns: Mapping[str, ColumnType] = {"id": "text", "more": "json"}
    content = written(tmp_path, [{"id": "x\ud800", "more": ["y\udfff"]}], columns, format)
    if format == "parquet":
        [row] = parquet.read_table(tmp_path / "out.parquet").to_pylist()
        assert row == {"id": "x\ufffd", "more": '["y\ufffd"]'}
    else:
        assert content.decode().count("\ufffd") == 2


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_nan_is_an_error_and_leaves_no_file(tmp_path: Path, format: ExportFormat, value: float) -> None:
    path = tmp_path / "out"
    with pytest.raises(ValueError, match="'p'"):
        write_rows([{"p": 1.0}, {"p": value}], columns={"p": "number"}, format=format, path=path)
    assert list(tmp_path.iterdir()) == []


def test_nan_inside_a_list_is_an_error(tmp_path: Path) -> None:
    for format in ("jsonl", "csv", "parquet"):
        with pytest.raises(ValueError, match="JSON compliant"):
            written(tmp_path, [{"more": [math.nan]}], {"more": "json"}, format)


def test_a_row_with_other_names_is_an_error(tmp_path: Path) -> None:
    for row in ({"a": 1}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(ValueError, match="exactly"):
            write_rows([row], columns={"a": "integer", "b": "integer"}, format="jsonl", path=tmp_path / "out")


def test_columns_have_the_order_given_whatever_the_order_in_rows(tmp_path: Path) -> None:
    columns: Mapping[str, ColumnType] = {"a": "integer", "b": "integer"}
    assert written(tmp_path, [{"b": 2, "a": 1}], columns, "jsonl") == b'{"a": 1, "b": 2}\n'
    assert written(tmp_path, [{"b": 2, "a": 1}], columns, "csv") == b"a,b\r\n1,2\r\n"


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old", encoding="utf-8")

    def rows() -> Iterator[dict[str, Json]]:
        yield {"a": 1}
        raise KeyError("lost")

    with pytest.raises(KeyError):
        write_rows(rows(), columns={"a": "integer"}, format="csv", path=path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_a_name_that_ends_in_gz_is_gzipped_the_same_each_time(tmp_path: Path, format: ExportFormat) -> None:
    plain = written(tmp_path, ROWS, COLUMNS, format)
    for name in ("one.gz", "two.gz"):
        write_rows(ROWS, columns=COLUMNS, format=format, path=tmp_path / name)
    zipped = (tmp_path / "one.gz").read_bytes()
    assert gzip.decompress(zipped) == plain
    assert zipped == (tmp_path / "two.gz").read_bytes()


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_without_a_path_the_same_bytes_go_to_stdout(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], format: ExportFormat
) -> None:
    write_rows(ROWS, columns=COLUMNS, format=format, path=None)
    sys.stdout.write("still open\n")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == written(tmp_path, ROWS, COLUMNS, format) + b"still open\n"


def test_stdout_stays_open_when_a_row_fails(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with pytest.raises(ValueError, match="exactly"):
        write_rows([{"b": 1}], columns={"a": "text"}, format="csv", path=None)
    sys.stdout.write("still open\n")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"a\r\nstill open\n"


def test_parquet_does_not_go_to_stdout() -> None:
    with pytest.raises(ConfigError, match="-o"):
        write_rows([], columns=COLUMNS, format="parquet", path=None)


@given(cells=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
def test_csv_cells_come_back_up_to_the_apostrophe(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    rows: list[dict[str, Json]] = [{"a": "first", "b": cell} for cell in cells]
    text = written(tmp_path_factory.getbasetemp(), rows, {"a": "text", "b": "text"}, "csv").decode()
    _, *found = csv.reader(io.StringIO(text, newline=""))
    assert [row[1].removeprefix("'") for row in found] == [cell.removeprefix("'") for cell in cells]
