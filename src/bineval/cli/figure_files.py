"""The option for a folder of figures, and the writing of its files."""

import re
from collections.abc import Mapping
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
    """Writes each drawing as an SVG file named after it, and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings.items():
        path = folder / f"{_UNSAFE.sub('-', name)}.svg"
        drawing.save(path)
        say(f"wrote {path}")
