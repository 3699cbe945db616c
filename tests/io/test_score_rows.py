import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import DataError
from bineval.io.score_rows import ScoreKey, ScoreRules, mean_scores, read_scores, scores_from

RULES = ScoreRules(example_ids=["a", "b", "7"])


def written(folder: Path, *rows: Mapping[str, Any]) -> Path:
    path = folder / "scores.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(example_id: Any = "a", dimension: Any = "style", value: Any = 3.5, **more: Any) -> dict[str, Any]:
    return {"example_id": example_id, "dimension": dimension, "value": value, **more}


def test_a_row_is_a_number_of_an_example_and_a_dimension(tmp_path: Path) -> None:
    path = written(tmp_path, row(), row("b", value=None), row(7, "form", 2, judge="x"))
    assert read_scores(path, RULES) == {
        ScoreKey("a", "style", 0): 3.5,
        ScoreKey("b", "style", 0): None,
        ScoreKey("7", "form", 0): 2.0,
    }


def test_cells_of_a_table_hold_numbers_as_text_and_an_empty_one_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("example_id,dimension,value,repeat\na,style,3.5,\na,style,-1e-2,1\nb,style, ,\n")
    assert read_scores(path, RULES) == {
        ScoreKey("a", "style", 0): 3.5,
        ScoreKey("a", "style", 1): -0.01,
        ScoreKey("b", "style", 0): None,
    }


def test_rows_in_memory_are_read_by_the_same_rules() -> None:
    assert scores_from([row(repeat=1), row(repeat=0)], RULES) == {
        ScoreKey("a", "style", 1): 3.5,
        ScoreKey("a", "style", 0): 3.5,
    }
    with pytest.raises(DataError, match=r"^<scores>:2: field 'example_id': unknown example 'c'"):
        scores_from([row(), row("c")], RULES)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row("aa"), "scores.jsonl:2: field 'example_id': unknown example 'aa'; did you mean a?"),
        (row(""), "field 'example_id': is missing"),
        (row(1.5), "field 'example_id': must be text"),
        ({"dimension": "style", "value": 1}, "field 'example_id': is missing: the id of the example"),
        (row("b", None), "field 'dimension': is missing"),
        (row("b", "overall"), "field 'dimension': 'overall' is the mean of the dimensions"),
        ({"example_id": "b", "dimension": "style"}, "field 'value': is missing: a number, or null"),
        (row("b", value="3"), "field 'value': must be a finite number or null, not '3'"),
        (row("b", value=[1]), "field 'value': must be a finite number or null"),
        (row("b", value=10**400), "field 'value': must be a finite number or null"),
        (row("b", value=float("nan")), "scores.jsonl:2: field 'value': nan is not a JSON value"),
        (row("b", repeat=-1), "field 'repeat': must be a whole number from 0, not -1"),
        (row("b", repeat=0.5), "field 'repeat': must be a whole number from 0, not 0.5"),
        (row("b", repeat=True), "field 'repeat': must be a whole number from 0"),
        (row(), "scores.jsonl:2: example 'a' has its 'style' already in line 1; if it is another sample, number them"),
        (row(repeat=0), "scores.jsonl:2: example 'a' has its 'style' already in line 1"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_scores(written(tmp_path, row(), bad), RULES)
    assert message in str(caught.value)


def test_a_number_outside_its_scale_is_an_error() -> None:
    rules = ScoreRules(example_ids=["a"], scales={"style": (1, 5)})
    assert scores_from([row(value=5), row(dimension="form", value=99)], rules)[ScoreKey("a", "style", 0)] == 5
    with pytest.raises(DataError, match=r"5\.5 is outside the scale of 'style', 1 to 5"):
        scores_from([row(value=5.5)], rules)


def test_where_dimensions_are_known_another_one_is_an_error() -> None:
    rules = ScoreRules(example_ids=["a"], dimensions=["style", "overall"])
    assert scores_from([row(dimension="overall")], rules)
    with pytest.raises(DataError, match="unknown dimension 'styl'; did you mean style"):
        scores_from([row(dimension="styl")], rules)


def test_a_file_without_rows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no rows"):
        read_scores(written(tmp_path), RULES)


def test_repeats_are_averaged_and_missing_numbers_left_out() -> None:
    scores = {
        ScoreKey("a", "style", 0): 1.0,
        ScoreKey("a", "style", 1): 4.0,
        ScoreKey("a", "style", 2): None,
        ScoreKey("a", "facts", 0): 3.0,
        ScoreKey("b", "style", 0): None,
    }
    assert mean_scores(scores) == {"a": {"style": 2.5, "facts": 3.0}}
