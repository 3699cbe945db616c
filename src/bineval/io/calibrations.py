"""Calibration files: JSON, to and from `Calibration`."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from bineval.hashing import Json
from bineval.io.json_files import JsonShape, read_json_file, write_json_file
from bineval.stats.calibration import Calibration, FittedMap, IsotonicMap, PlattMap

_Format = Literal["bineval-calibration/1"]

_Share = Annotated[float, Field(ge=0, le=1)]
_Inside = Annotated[float, Field(gt=0, lt=1)]
_Name = Annotated[str, Field(min_length=1)]


class _PlattShape(JsonShape):
    method: Literal["platt"]
    slope: Annotated[float, Field(ge=0)]
    intercept: float
    threshold: _Inside
    n_train: Annotated[int, Field(ge=1)]

    def fitted(self) -> FittedMap:
        map = PlattMap(slope=self.slope, intercept=self.intercept)
        return FittedMap(map=map, threshold=self.threshold, n_train=self.n_train)


class _IsotonicShape(JsonShape):
    method: Literal["isotonic"]
    x: Annotated[list[_Share], Field(min_length=1)]
    y: list[_Share]
    threshold: _Inside
    n_train: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if len(self.x) != len(self.y):
            raise ValueError(f"x and y must have as many points, not {len(self.x)} and {len(self.y)}")
        if any(a >= b for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError("each x must lie above the one before")
        if any(a > b for a, b in zip(self.y, self.y[1:], strict=False)):
            raise ValueError("no y may lie below the one before")
        return self

    def fitted(self) -> FittedMap:
        map = IsotonicMap(x=tuple(self.x), y=tuple(self.y))
        return FittedMap(map=map, threshold=self.threshold, n_train=self.n_train)


class _FileShape(JsonShape):
    format: _Format
    run: str
    judge: str
    judge_hash: _Name
    seed: int
    maps: Annotated[
        dict[_Name, Annotated[_PlattShape | _IsotonicShape, Field(discriminator="method")]], Field(min_length=1)
    ]
    figures: Annotated[dict[str, Any], Field(default_factory=dict)]


def load_calibration(path: str | Path) -> Calibration:
    """Reads a calibration file.

    Raises:
        DataError: The file is not a calibration; the error names the field.
    """
    shape = read_json_file(Path(path), _FileShape, what="a file of bineval calibrate")
    return Calibration(
        run=shape.run,
        judge=shape.judge,
        judge_hash=shape.judge_hash,
        seed=shape.seed,
        maps={name: item.fitted() for name, item in shape.maps.items()},
        figures=shape.figures,
    )


def save_calibration(calibration: Calibration, path: str | Path) -> None:
    """Writes a calibration file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    write_json_file(Path(path), calibration_json(calibration))


def calibration_json(calibration: Calibration) -> dict[str, Json]:
    """What the file of a calibration holds."""
    return {
        "format": get_args(_Format)[0],
        "run": calibration.run,
        "judge": calibration.judge,
        "judge_hash": calibration.judge_hash,
        "seed": calibration.seed,
        "maps": {name: item.to_json() for name, item in calibration.maps.items()},
        "figures": calibration.figures,
    }
