"""A finished figure, written to a file or as SVG text, and the look that all figures share."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import quoteattr

from bineval.errors import ConfigError, MissingDependencyError
from bineval.io.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEOPLE = "people"
"""Name of the ratings by people, where a figure shows methods beside them."""

WIDTH = 7.0
"""Width of a figure in inches, which is that of a report's text."""

INK = "black"
MUTED = "#6b6b6b"

_Format = Literal["svg", "png"]
_FORMATS: dict[str, _Format] = {".svg": "svg", ".png": "png"}
# Okabe & Ito (2008), told apart by color-blind people; black is kept for people. Light and dark alternate, and each has
# a marker of its own, for print without color.
_COLORS = ("#0072B2", "#E69F00", "#CC79A7", "#009E73", "#56B4E9", "#D55E00")
_MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">")
# matplotlib types the keys by their names, which differ between versions.
_STYLE: dict[Any, Any] = {
    # Judged text is no formula.
    "text.parse_math": False,
    # The first comes with matplotlib; the others are as wide, for browsers without it.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Geneva"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    "savefig.dpi": 200,
    # Text that stays text: a browser shapes it in any script, and readers can search and hear it.
    "svg.fonttype": "none",
    # The ids inside come from what is drawn alone.
    "svg.hashsalt": "bineval",
}
_GROUP_ID = re.compile(r'<g id="[^"]*"')
_STYLE_SHEET = re.compile(r"<style\b.*?</style>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """A figure; the same data give the same bytes with the same version of matplotlib.

    Attributes:
        figure: As matplotlib has it, laid out.
        alt: What it shows, in a sentence, for readers who cannot see it.
    """

    figure: "Figure"
    alt: str

    def save(self, path: str | Path) -> None:
        """Writes the figure as SVG or PNG, by the suffix of `path`.

        Raises:
            ConfigError: The suffix is another one, or the file cannot be written.
        """
        path = Path(path)
        kind = _FORMATS.get(path.suffix.lower())
        if kind is None:
            raise ConfigError(f"{path}: a figure is written as {' or '.join(_FORMATS)}, not as {path.suffix!r}")
        written = self._written(kind)
        with replacing(path) as file:
            file.write(written)

    def svg(self) -> str:
        """The figure as an `<svg>` element to stand in a page, where several may stand beside each other."""
        text = self._written("svg").decode()
        element = text[text.index("<svg") :]
        # Only what is drawn more than once is referred to by its id; that of a group would stand twice in the page.
        element = _GROUP_ID.sub("<g", element)
        # A style sheet would hold for the whole page; what it says stands on the element itself.
        element = _STYLE_SHEET.sub("", element)
        said = f'role="img" aria-label={quoteattr(self.alt)} stroke-linejoin="round" stroke-linecap="butt"'
        return element.replace("<svg", f"<svg {said}", 1)

    def _written(self, kind: _Format) -> bytes:
        buffer = io.BytesIO()
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        with shared_style():
            self.figure.savefig(buffer, format=kind, metadata=metadata)
        return buffer.getvalue()


@contextmanager
def shared_style() -> Iterator[None]:
    """Gives everything that is drawn inside the look of all figures, whatever the user's own settings.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "figures", "a figure") from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A character that no font has is shown as the box that stands for it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(height: float, *, width: float) -> "Figure":
    """An empty figure, sizes in inches, whose parts make room for each other; to be called inside `shared_style`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def finished(figure: "Figure", *, alt: str) -> Drawing:
    """Fixes the layout, which would move a little each time of drawing; to be called inside `shared_style`."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return Drawing(figure=figure, alt=alt)


def color_of(place: int) -> str:
    """Color of the method at `place` among the methods, from 0."""
    return _COLORS[place % len(_COLORS)]


def marker_of(place: int) -> str:
    """Marker of the method at `place` among the methods, from 0; that of people is a circle."""
    return _MARKERS[place % len(_MARKERS)]


def people_first(names: list[str], people: str) -> list[str]:
    """The distinct names in order, that of people first where it is among them."""
    return sorted(dict.fromkeys(names), key=lambda name: name != people)
