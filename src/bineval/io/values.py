"""What a row may hold: JSON values, in text that can be sent and stored."""

import datetime
import decimal
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bineval.errors import DataError
from bineval.hashing import Json

Warn = Callable[[str], object]
"""Takes the words of a warning."""

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a row stands: the file (or the name of data from memory), and its line or row number from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def error(self, problem: str, field: str | None = None) -> DataError:
        """The error that says that this row has `problem`, in `field` if given."""
        return DataError(problem, file=self.file, line=self.line, field=field)


def name_in(row: Mapping[str, Json], field: str, place: Place) -> str | None:
    """The name or id in a field of a row, a whole number as its digits; None where there is none.

    Raises:
        DataError: It is neither text nor a whole number.
    """
    value = row.get(field)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise place.error(f"must be text, not {value!r}", field)
    return str(value)


def storable(text: str) -> str:
    """Returns `text` with U+FFFD for each NUL and each lone surrogate, which no file, database or server takes."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def clean_row(row: object, place: Place, warn: Warn) -> dict[str, Json]:
    """Returns `row` as plain JSON values; a character that cannot be stored becomes U+FFFD, with one warning a row.

    Dates and times become ISO text, decimals floats, tuples and arrays lists.

    Raises:
        DataError: The row is not a mapping, or holds NaN, an infinity, or something that JSON cannot hold.
    """
    if not isinstance(row, Mapping):
        raise place.error(f"a row must be an object with named fields, not {_kind(row)}")
    cleaning = _Cleaning(place=place)
    try:
        cleaned = cleaning.mapping(row, "")
    except RecursionError as error:
        raise place.error("the row is nested too deeply") from error
    if cleaning.replaced:
        fields = ", ".join(dict.fromkeys(cleaning.replaced))
        warn(f"{place}: field {fields}: a lone surrogate or NUL character was replaced by U+FFFD")
    return cleaned


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cleaning:
    place: Place
    replaced: list[str] = field(default_factory=list)

    def mapping(self, mapping: Mapping[object, object], name: str) -> dict[str, Json]:
        cleaned: dict[str, Json] = {}
        for key, value in mapping.items():
            if not isinstance(key, str):
                raise self.place.error(f"field names must be text, not {key!r}", name or None)
            inner = f"{name}.{key}" if name else key
            cleaned[self.text(key, inner)] = self.value(value, inner)
        return cleaned

    def value(self, value: object, name: str) -> Json:
        if isinstance(value, str):
            return self.text(value, name)
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float | decimal.Decimal):
            return self.number(float(value), name)
        if isinstance(value, Mapping):
            return self.mapping(value, name)
        if isinstance(value, list | tuple):
            return [self.value(item, f"{name}[{i}]") for i, item in enumerate(value)]
        return self.foreign(value, name)

    def text(self, text: str, name: str) -> str:
        cleaned = storable(text)
        if cleaned != text:
            self.replaced.append(repr(storable(name)))
        return cleaned

    def number(self, number: float, name: str) -> float:
        if not math.isfinite(number):
            raise self.place.error(
                f"{number} is not a JSON value; write null (in Python None) for a missing one"
                " (pandas: df.astype(object).where(df.notna(), None))",
                name,
            )
        return number

    def foreign(self, value: object, name: str) -> Json:
        """A value of a kind that JSON does not have, from Parquet or from Python callers."""
        # NaT, the missing time of pandas, is the only time that differs from itself; it is refused below.
        if isinstance(value, datetime.date | datetime.time) and value == value:
            return value.isoformat()
        # NumPy's scalars and arrays (and torch's) are known by this method, so that neither needs an import.
        tolist = getattr(value, "tolist", None)
        if callable(tolist):
            return self.value(tolist(), name)
        raise self.place.error(f"{_kind(value)} is not a JSON value; convert it to text or a number first", name)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return f"a value of type {type(value).__name__}"
