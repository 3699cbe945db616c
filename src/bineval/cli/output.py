"""What a person or a program sees: words on stderr, results on stdout."""

import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def say(text: str) -> None:
    """Writes one line for a person to stderr."""
    click.echo(visible(text), file=sys.stderr)


def emit_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Writes `value` to stdout as JSON for a program; in ASCII alone where stdout is not Unicode."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    emit(json.dumps(value, ensure_ascii=ascii_only, indent=2, allow_nan=False) + "\n")


def emit(text: str) -> None:
    """Writes a result's text to stdout."""
    click.echo(text, nl=False)


def escape_unencodable() -> None:
    """Makes stdout escape what it cannot encode, as stderr always does: a narrow console is no error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def visible(text: str) -> str:
    """Returns `text` with control characters escaped: judged text must not command the terminal that shows it."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text.replace("\r\n", "\n"))


def plain(text: str) -> str:
    """Returns `text` as rich shows it word by word: without markup, and with control characters escaped."""
    from rich.markup import escape

    return escape(visible(text))


def number(value: float | None, *, digits: int = 3) -> str:
    """A number as tables show it; a dash for what is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


def p_words(p_value: float) -> str:
    """A p-value in words; none is so small that it is 0."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def print_line(screen: "Console", text: str) -> None:
    """Prints one line without markup, its control characters escaped, and without breaking it."""
    screen.print(visible(text), markup=False, soft_wrap=True)


def counted(n: int, noun: str) -> str:
    """A number with its noun, such as "1 call" and "2 calls"; "reply" and its like get their "-ies"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"


def console(*, stderr: bool = False) -> "Console":
    """A rich console on stdout or stderr; wide when the output is not a terminal, so that tables keep their columns."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else 120)
