"""`bineval models`: which local models there are, and pulling them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.output import console, emit, emit_json, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from bineval.models.registry import LocalModel
    from bineval.models.sources import Progress

_LINE_EVERY = 100_000_000


@click.group()
def models() -> None:
    """Local models: list them, pull them."""


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write JSON for a program.")
def list_models(as_json: bool) -> None:
    """List the local models by name, and which of them are on this machine."""
    from bineval.models.registry import MODELS, pulled_hub_models

    known = [*MODELS, *pulled_hub_models()]
    if as_json:
        emit_json([_row(model) for model in known])
        return
    from rich.table import Table

    from bineval.models.sources import in_mb

    table = Table("model", "size", "license", "here", "good for", box=None, pad_edge=False)
    for row in map(_row, known):
        table.add_row(row["name"], in_mb(row["size_bytes"]), row["license"] or "?", row["here"], row["description"])
    console().print(table)
    say("\nTo download one: bineval models pull NAME. To judge with it: --judge llamacpp/NAME.")


@models.command()
@click.argument("name")
@click.option(
    "--from",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Take this file, which you have already, instead of downloading; it is checked and copied.",
)
def pull(name: str, file: Path | None) -> None:
    """Download the model NAME, or hf:OWNER/REPOSITORY/FILE.gguf from the Hugging Face hub.

    Prints the path of the file. A pull that was interrupted goes on where it stopped.
    """
    from bineval.models import download
    from bineval.models.registry import find

    model = find(name)
    with download_progress(model.name) as progress:
        path = (
            download.pull(model, progress=progress) if file is None else download.adopt(model, file, progress=progress)
        )
    emit(f"{path}\n")


@contextmanager
def download_progress(name: str) -> Iterator["Progress"]:
    """Shows a download on stderr: a bar on a terminal, elsewhere a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console(stderr=True), transient=True) as bars:
        yield _Bar(name, bars)


class _Bar:
    """A progress bar; notes go above it."""

    def __init__(self, name: str, bars: "Bars") -> None:
        self._bars = bars
        self._task = bars.add_task(name, total=None, visible=False)

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, soft_wrap=True)

    def advance(self, done: int, total: int | None) -> None:
        self._bars.update(self._task, completed=done, total=total, visible=True)


class _Lines:
    """A line for every note, and for every 100 MB."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines_due = 0

    def note(self, text: str) -> None:
        say(text)

    def advance(self, done: int, total: int | None) -> None:
        from bineval.models.sources import in_mb

        lines_due = done // _LINE_EVERY
        if lines_due > self._lines_due:
            say(f"{self._name}: {in_mb(done)}{f' of {in_mb(total)}' if total else ''}")
        self._lines_due = lines_due


def _row(model: "LocalModel") -> dict[str, Any]:
    from bineval.models.registry import presence

    here = presence(model)
    return {
        "name": model.name,
        "size_bytes": model.size_bytes or model.path.stat().st_size,
        "license": model.license,
        "here": here,
        "path": None if here == "absent" else str(model.path),
        "sha256": model.sha256,
        "description": model.description,
    }
