"""Checks whether the words that a judge quotes really stand in what it read."""

import re
from collections.abc import Iterable

from bineval.judging.fencing import neutralize
from bineval.types import Evidence, Example

_FIELDS = ("output", "input", "context", "reference")
_QUOTE_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_AROUND_A_QUOTE = " .…\"'"


def verify_quotes(quotes: Iterable[str], example: Example) -> tuple[Evidence, ...]:
    """Returns each quote with the first field that holds it, up to white space, quotation marks and end dots.

    A quote that stands nowhere is kept, unverified; case and every other character must match.
    """
    quotes = tuple(quotes)
    if not quotes:
        return ()
    # The judge saw the neutralized text, so that is what it may quote.
    texts = [(name, _plain(neutralize(getattr(example, name) or ""))) for name in _FIELDS]
    return tuple(_verify(quote, texts) for quote in quotes)


def _verify(quote: str, texts: list[tuple[str, str]]) -> Evidence:
    wanted = _plain(quote).strip(_AROUND_A_QUOTE)
    field = next((name for name, text in texts if wanted and wanted in text), None)
    return Evidence(quote=quote, field=field, verified=field is not None)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).translate(_QUOTE_MARKS)
