"""Band files: the band of a cascade with what it was learned from, as JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from bineval.hashing import Json
from bineval.io.json_files import JsonShape, read_json_file, write_json_file
from bineval.stats.bands import Band

_Format = Literal["bineval-band/1"]

_Share = Annotated[float, Field(ge=0, le=1)]


class _FileShape(JsonShape):
    format: _Format
    low: _Share
    high: _Share
    learned: Annotated[dict[str, Any], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must not lie above high, not {self.low} and {self.high}")
        return self


def load_band(path: str | Path) -> Band:
    """Reads the band of a band file.

    Raises:
        DataError: The file is not a band; the error names the field.
    """
    shape = read_json_file(Path(path), _FileShape, what="a file of bineval band")
    return Band(low=shape.low, high=shape.high)


def save_band(band: Band, path: str | Path, *, learned: Mapping[str, Json]) -> None:
    """Writes a band file, whole or not at all.

    Args:
        band: The band.
        path: The file.
        learned: From which runs it was learned and what it does, for people.

    Raises:
        ConfigError: The file cannot be written.
    """
    write_json_file(Path(path), band_json(band, learned=learned))


def band_json(band: Band, *, learned: Mapping[str, Json]) -> dict[str, Json]:
    """What the file of a band holds."""
    return {"format": get_args(_Format)[0], "low": band.low, "high": band.high, "learned": learned}
