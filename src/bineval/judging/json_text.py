"""Finds the JSON values in a model's reply, whatever stands around them; pure, and never guesses what was cut off."""

import json
import re
from collections.abc import Iterable

from bineval.hashing import Json

_CLOSING_TAG = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_OPENING_TAG = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
# An opening brace or bracket in prose is not JSON: what follows must be able to begin a value inside it.
_VALUE_START = re.compile(r'\{(?=\s*(?:["}]|//|/\*))|\[(?=\s*(?:[\]{"]|//|/\*))')
_FENCE = re.compile(r"\s*(?:```\w*\s*)?")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r'[^"{}\[\]/]+')
_BAD_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.))', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}

_DEEPEST = 50
# Each costs a look at the whole text: a reply with more drafts than this is no answer.
_MOST_UNCLOSED_DRAFTS = 5


def json_values(text: str) -> list[Json]:
    """Returns the outermost JSON objects of a reply, and arrays of objects or texts, in order, nested at most 50 deep.

    Survives reasoning blocks, code fences, prose, comments, trailing commas, raw line breaks and bad escapes. What is
    inside a string is never looked at, and a value that is never closed ends the search: whatever stands after its
    beginning may be quoted text. Of a key that stands twice in an object with two values, the value is a text
    that holds both, so that it can be mistaken for neither.
    """
    rest = without_reasoning(text)
    values: list[Json] = []
    position = 0
    while start := _VALUE_START.search(rest, position):
        found = _value_at(rest, start.start())
        if found is None:
            break
        value, position = found
        values += value
    return values


def without_reasoning(text: str) -> str:
    """Returns the reply without its `<think>` block, also when only the closing or only the opening tag is there."""
    rest = text[_end_of_reasoning(text) :]
    opening = _OPENING_TAG.search(rest)
    # A tag behind the beginning of a value is part of that value's text.
    if opening is None or _VALUE_START.search(rest, 0, opening.start()):
        return rest
    return rest[: opening.start()]


def merged(pairs: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """Makes an object of keys and values; two different values of one key become a text that holds both."""
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result and result[key] != value:
            value = f"{result[key]} | {value}"
        result[key] = value
    return result


# strict=False takes raw line breaks and other control characters inside strings.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=merged)


def _end_of_reasoning(text: str) -> int:
    """Position behind the last closing tag that is not part of a value; 0 when the reply begins with a value."""
    tag = _CLOSING_TAG.search(text)
    beginning = _FENCE.match(text).end()  # type: ignore[union-attr]  # it matches the empty text too
    if tag is None or (_VALUE_START.match(text, beginning) and _value_at(text, beginning)):
        return 0
    end = position = n_unclosed = 0
    while tag and n_unclosed <= _MOST_UNCLOSED_DRAFTS:
        start = _VALUE_START.search(text, position, tag.start())
        value = _value_at(text, start.start()) if start else None
        if value is not None:
            position = value[1]
        else:
            n_unclosed += start is not None
            end = position = tag.end()
        if tag.start() < position:
            tag = _CLOSING_TAG.search(text, position)
    return end


def _value_at(text: str, start: int) -> tuple[list[Json], int] | None:
    """Reads the value that opens at `start`.

    Returns:
        The value in a list (which is empty when it is broken beyond repair) and the position behind it; None when it is
        never closed.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        tidied = _tidy(text, start)
        if tidied is None:
            return None
        strict, end = tidied
        try:
            value = _DECODER.decode(strict)
        except (ValueError, RecursionError):
            return [], end
    return ([] if _is_deep(value) else [value]), end


def _is_deep(value: Json) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [part for parts in inner for part in parts]
        if not level:
            return False
    return True


def _tidy(text: str, start: int) -> tuple[str, int] | None:
    """Copies the value that opens at `start` without comments, trailing commas and bad escapes.

    Returns:
        The tidied text and the position behind the value; None when it is never closed.
    """
    out: list[str] = []
    open_until: list[str] = []
    position = start
    while position < len(text):
        if comment := _COMMENT.match(text, position):
            position = comment.end()
            continue
        piece = _piece_at(text, position)
        if piece is None:
            return None
        if piece in _CLOSERS:
            open_until.append(_CLOSERS[piece])
        elif piece in ("}", "]"):
            if open_until.pop() != piece:
                return None
            _drop_trailing_comma(out)
        out.append(_BAD_ESCAPE.sub(_mend_escape, piece) if piece.startswith('"') else piece)
        position += len(piece)
        if not open_until:
            return "".join(out), position
    return None


def _piece_at(text: str, position: int) -> str | None:
    """The string, the run of plain characters or the single character at `position`; None for an unclosed string."""
    if text[position] == '"':
        string = _STRING.match(text, position)
        return string.group() if string else None
    plain = _PLAIN.match(text, position)
    return plain.group() if plain else text[position]


def _mend_escape(match: re.Match[str]) -> str:
    bad = match.group(1)
    if bad is None:
        return match.group()
    # \' means an apostrophe; any other unknown escape means the two characters themselves.
    return "'" if bad == "'" else f"\\\\{bad}"


def _drop_trailing_comma(out: list[str]) -> None:
    last = next((i for i in range(len(out) - 1, -1, -1) if not out[i].isspace()), None)
    if last is not None and not out[last].startswith('"') and out[last].rstrip().endswith(","):
        out[last] = out[last].rstrip()[:-1]
