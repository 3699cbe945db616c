"""Names of judged data as labels of a figure: one line, nothing in them that commands a viewer, short, told apart."""

import unicodedata
from collections.abc import Sequence

# Joiners are part of how words are written in many scripts.
_HARMLESS_FORMATS = "\u200c\u200d"
# Control, format (which turn the direction of text), surrogate, unassigned, and separators of lines and paragraphs.
_UNSHOWN = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")


def short_labels(names: Sequence[str], *, most: int) -> dict[str, str]:
    """Returns a label for each distinct name; names whose labels would be the same get a number.

    Args:
        names: Any text.
        most: Most characters of a label, the number left out.
    """
    labels: dict[str, str] = {}
    for name in names:
        if name in labels:
            continue
        label, n = short_label(name, most=most), 1
        numbered = label
        while numbered in labels.values():
            n += 1
            numbered = f"{label} ({n})"
        labels[name] = numbered
    return labels


def short_label(text: str, *, most: int) -> str:
    """Returns `text` on one line, with what cannot be seen escaped and the middle left out beyond `most` characters."""
    shown = "".join(map(_shown, " ".join(text.split()))) or "(empty)"
    if len(shown) <= most:
        return shown
    # The ends tell most names apart: a provider at the beginning, a size or version at the end.
    n_end = (most - 1) // 2
    return f"{shown[: most - 1 - n_end]}…{shown[len(shown) - n_end :]}"


def _shown(character: str) -> str:
    if character in _HARMLESS_FORMATS or unicodedata.category(character) not in _UNSHOWN:
        return character
    return f"\\u{ord(character):04x}"
