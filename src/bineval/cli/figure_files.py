"""The option for a folder of figures, and the writing of its files."""

import re
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.output import say

if TYPE_CHECKING:
    from bineval.figures import Drawing

_UNSAFE = re.compile(r"[^\w.-]+")

figures_option = click.option(
    "--figures", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Folder for figures (SVG)."
)


def write_figures(drawings: "Mapping[str, Drawing]", folder: Path) -> None:
    """Writes each drawing as an SVG file named after it, and says so.

    Raises:
        ConfigError: The folder cannot be made or written to.
    """
    from bineval.errors import ConfigError

    taken: set[str] = set()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, drawing in drawings.items():
            path = folder / f"{_free_stem(_UNSAFE.sub('-', name), taken)}.svg"
            drawing.save(path)
            say(f"wrote {path}")
    except OSError as error:
        raise ConfigError(f"--figures {folder}: cannot be written: {error}") from error


def _free_stem(stem: str, taken: set[str]) -> str:
    """The stem, with a number where another file of this folder has it already; names may differ in odd signs only."""
    names = chain([stem], (f"{stem}-{n}" for n in count(2)))
    free = next(name for name in names if name.lower() not in taken)
    taken.add(free.lower())
    return free
