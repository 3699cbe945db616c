"""Puts a text between markers that it cannot close, so that judged text is data and never instruction."""

_OPEN = "<<<"
# Looks alike to a reader and to a model, but is no marker.
_HARMLESS = "‹‹‹"


def fence(label: str, text: str) -> str:
    """Returns `text` between `<<<BEGIN label>>>` and `<<<END label>>>`; markers inside it are neutralized."""
    return f"<<<BEGIN {label}>>>\n{neutralize(text)}\n<<<END {label}>>>"


def neutralize(text: str) -> str:
    """Replaces every `<<<`, so that `text` can neither close a fence nor open one."""
    return text.replace(_OPEN, _HARMLESS)
