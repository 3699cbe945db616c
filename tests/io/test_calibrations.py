import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ConfigError, DataError
from bineval.io.bands import load_band, save_band
from bineval.io.calibrations import calibration_json, load_calibration, save_calibration
from bineval.stats.bands import Band
from bineval.stats.calibration import Calibration, FittedMap, IsotonicMap, PlattMap

GOOD: dict[str, Any] = {
    "format": "bineval-calibration/1",
    "run": "monday",
    "judge": "openai/small",
    "judge_hash": "ab12",
    "seed": 0,
    "maps": {
        "truth": {"method": "platt", "slope": 0.5, "intercept": -1, "threshold": 0.4, "n_train": 50},
        "*": {"method": "isotonic", "x": [0.1, 0.9], "y": [0.2, 0.2], "threshold": 0.5, "n_train": 90},
    },
}

shares = st.floats(0, 1)
inside = st.floats(0, 1, exclude_min=True, exclude_max=True)
platt = st.builds(PlattMap, slope=st.floats(0, 1e9), intercept=st.floats(-1e9, 1e9))
isotonic = st.lists(st.tuples(shares, shares), min_size=1, max_size=5, unique_by=lambda point: point[0]).map(
    lambda points: IsotonicMap(x=tuple(sorted(x for x, _ in points)), y=tuple(sorted(y for _, y in points)))
)
fitted = st.builds(FittedMap, map=st.one_of(platt, isotonic), threshold=inside, n_train=st.integers(1, 10**6))
calibrations = st.builds(
    Calibration,
    run=st.text(),
    judge=st.text(),
    judge_hash=st.text(min_size=1),
    seed=st.integers(0, 9),
    maps=st.dictionaries(st.text(min_size=1), fitted, min_size=1, max_size=3),
    figures=st.dictionaries(st.text(), st.one_of(st.none(), st.floats(0, 1), st.text()), max_size=2),
)


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "calibration.json"
    path.write_text(json.dumps({**GOOD, **changes}))
    return path


@given(calibrations)
def test_a_calibration_comes_back_as_it_was_saved(
    tmp_path_factory: pytest.TempPathFactory, calibration: Calibration
) -> None:
    path = tmp_path_factory.mktemp("calibration") / "c.json"
    save_calibration(calibration, path)
    loaded = load_calibration(path)
    assert loaded == calibration
    assert loaded.fingerprint() == calibration.fingerprint()
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(calibration_json(calibration)))


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    calibration = load_calibration(written(tmp_path))
    assert calibration.of("truth") == FittedMap(map=PlattMap(slope=0.5, intercept=-1), threshold=0.4, n_train=50)
    assert calibration.of("tone") == FittedMap(map=IsotonicMap(x=(0.1, 0.9), y=(0.2, 0.2)), threshold=0.5, n_train=90)


@pytest.mark.parametrize(
    ("part", "field", "problem"),
    [
        ({"slope": -1.0}, "maps.truth.slope", "greater than or equal to 0"),
        ({"slope": float("nan")}, "maps.truth.slope", "finite number"),
        ({"slope": "1"}, "maps.truth.slope", "valid number"),
        ({"threshold": 1.0}, "maps.truth.threshold", "less than 1"),
        ({"threshold": 0}, "maps.truth.threshold", "greater than 0"),
        ({"n_train": 0}, "maps.truth.n_train", "greater than or equal to 1"),
        ({"slop": 1.0}, "maps.truth.slop", "not permitted"),
        ({"method": "beta"}, "maps.truth", "'platt', 'isotonic'"),
        ({"method": "isotonic"}, "maps.truth.x", "required"),
    ],
)
def test_a_map_that_is_none_is_refused_with_its_field(
    tmp_path: Path, part: dict[str, Any], field: str, problem: str
) -> None:
    path = written(tmp_path, maps={"truth": {**GOOD["maps"]["truth"], **part}})
    with pytest.raises(DataError, match=problem) as caught:
        load_calibration(path)
    assert (caught.value.file, caught.value.field) == (str(path), field)


@pytest.mark.parametrize(
    ("x", "y", "problem"),
    [
        ([0.1, 0.9], [0.2], "as many points, not 2 and 1"),
        ([0.9, 0.1], [0.2, 0.3], "each x must lie above"),
        ([0.1, 0.1], [0.2, 0.3], "each x must lie above"),
        ([0.1, 0.9], [0.3, 0.2], "no y may lie below"),
    ],
)
def test_an_isotonic_map_must_rise(tmp_path: Path, x: list[float], y: list[float], problem: str) -> None:
    path = written(tmp_path, maps={"*": {**GOOD["maps"]["*"], "x": x, "y": y}})
    with pytest.raises(DataError, match=problem) as caught:
        load_calibration(path)
    assert caught.value.field == "maps.*"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"format": "bineval-calibration/2"}, "format"),
        ({"judge_hash": ""}, "judge_hash"),
        ({"maps": {}}, "maps"),
        ({"seed": 0.5}, "seed"),
        ({"author": "me"}, "author"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_field(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(DataError) as caught:
        load_calibration(written(tmp_path, **changes))
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["", "{", "[]", "name: a checklist\n"])
def test_what_is_another_file_is_refused_as_that(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"c\.json: is not a file of bineval calibrate"):
        load_calibration(path)


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.json: cannot be read"):
        load_calibration(tmp_path / "nowhere.json")
    with pytest.raises(ConfigError, match=r"c\.json: cannot be written"):
        save_band(Band(low=0, high=1), tmp_path / "nowhere" / "c.json", learned={})


@given(shares, shares)
def test_a_band_comes_back_as_it_was_saved(tmp_path_factory: pytest.TempPathFactory, a: float, b: float) -> None:
    path = tmp_path_factory.mktemp("band") / "band.json"
    band = Band(low=min(a, b), high=max(a, b))
    save_band(band, path, learned={"share": 0.2})
    assert load_band(path) == band


@pytest.mark.parametrize(
    ("value", "field", "problem"),
    [
        ({"low": 0.6, "high": 0.4}, None, "low must not lie above high, not 0.6 and 0.4"),
        ({"low": -0.1, "high": 0.4}, "low", "greater than or equal to 0"),
        ({"low": 0.1}, "high", "required"),
        ({"low": 0.1, "high": True}, "high", "valid number"),
    ],
)
def test_a_band_that_is_none_is_refused(tmp_path: Path, value: dict[str, Any], field: str | None, problem: str) -> None:
    path = tmp_path / "band.json"
    path.write_text(json.dumps({"format": "bineval-band/1", **value}))
    with pytest.raises(DataError, match=problem) as caught:
        load_band(path)
    assert caught.value.field == field
