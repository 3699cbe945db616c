"""Finds the JSON values in a model's reply, whatever stands around them; pure, and never guesses what was cut off."""

import json
import re

from bineval.hashing import Json

_CLOSING_TAG = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_OPENING_TAG = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
# An opening brace or bracket in prose is not JSON: what follows must be able to begin a value inside it.
_VALUE_START = re.compile(r'\{(?=\s*(?:["}]|//|/\*))|\[(?=\s*(?:[\]{"]|//|/\*))')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.))', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}


def json_values(text: str) -> list[Json]:
    """Returns the outermost JSON objects and arrays of a reply, in order.

    Survives reasoning blocks, code fences, prose, comments, trailing commas, raw line breaks and bad escapes. What is
    inside a string is never looked at, and a value that is never closed ends the search: whatever stands after its
    beginning may be quoted text. Of a key that stands twice in an object with two values, the value is a text
    that holds both, so that it can be mistaken for neither.
    """
    return _values(without_reasoning(text))


def without_reasoning(text: str) -> str:
    """Returns the reply without its `<think>` block, also when only the closing or only the opening tag is there."""
    closings = [match.end() for match in _CLOSING_TAG.finditer(text)]
    if not closings:
        opening = _OPENING_TAG.search(text)
        # A tag behind the beginning of a value is part of that value's text.
        if opening is None or _VALUE_START.search(text, 0, opening.start()):
            return text
        return text[: opening.start()]
    if _VALUE_START.match(text.lstrip()) and _values(text):
        return text
    # The explanation may itself speak of the tag: the block ends at the last tag that has a value behind it.
    end = next((end for end in reversed(closings) if _values(text[end:])), closings[-1])
    rest = text[end:]
    opening = _OPENING_TAG.match(rest.lstrip())
    return "" if opening else rest


def _values(text: str) -> list[Json]:
    values: list[Json] = []
    position = 0
    while match := _VALUE_START.search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except (json.JSONDecodeError, RecursionError):
            tidied = _tidy(text, match.start())
            if tidied is None:
                break
            strict, position = tidied
            try:
                value = _DECODER.decode(strict)
            except (json.JSONDecodeError, RecursionError):
                continue
        values.append(value)
    return values


def _keep_both(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result and result[key] != value:
            value = f"{result[key]} | {value}"
        result[key] = value
    return result


# strict=False takes raw line breaks and other control characters inside strings.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_keep_both)


def _tidy(text: str, start: int) -> tuple[str, int] | None:
    """Copies the value that opens at `start` without comments, trailing commas and bad escapes.

    Returns:
        The tidied text and the position behind the value; None when it is never closed.
    """
    out: list[str] = []
    open_until: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if char == '"':
            string = _STRING.match(text, position)
            if string is None:
                return None
            out.append(_BAD_ESCAPE.sub(_mend_escape, string.group()))
            position = string.end()
            continue
        if comment := _COMMENT.match(text, position):
            position = comment.end()
            continue
        if char in _CLOSERS:
            open_until.append(_CLOSERS[char])
        elif char in "}]":
            if open_until.pop() != char:
                return None
            _drop_trailing_comma(out)
        out.append(char)
        position += 1
        if not open_until:
            return "".join(out), position
    return None


def _mend_escape(match: re.Match[str]) -> str:
    bad = match.group(1)
    if bad is None:
        return match.group()
    # \' means an apostrophe; any other unknown escape means the two characters themselves.
    return "'" if bad == "'" else f"\\\\{bad}"


def _drop_trailing_comma(out: list[str]) -> None:
    last = next((i for i in range(len(out) - 1, -1, -1) if not out[i].isspace()), None)
    if last is not None and out[last] == ",":
        del out[last]
