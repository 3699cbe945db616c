"""What a person or a program sees: words on stderr, results on stdout."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str) -> None:
    """Writes one line for a person to stderr; what the terminal cannot encode is escaped, never an error."""
    _write(sys.stderr, text + "\n")


def emit_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Writes `value` to stdout as JSON for a program."""
    _write(sys.stdout, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def emit(text: str) -> None:
    """Writes a result's text to stdout."""
    _write(sys.stdout, text)


def console(*, stderr: bool = False) -> "Console":
    """A rich console on stdout or stderr; wide when the output is not a terminal, so that tables keep their columns."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else 120)


def _write(stream: Any, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, nl=False)
