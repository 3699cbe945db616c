"""The reliability diagram: how often the label is yes where a judge says P(yes), with the number of answers below."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bineval.errors import ConfigError
from bineval.figures.drawing import MUTED, Drawing, color_of, finished, marker_of, new_figure, shared_style
from bineval.figures.labels import short_labels
from bineval.stats.reliability import ReliabilityBin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_WIDTH = 4.2
# Height of the part with the numbers of answers, as a share of that of the diagram.
_LOWER = 0.22
_LINES = ("solid", "dashed", "dotted", "dashdot")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityCurve:
    """One line of the diagram.

    Attributes:
        name: "raw", "calibrated", or the name of a judge.
        bins: From `bineval.stats.reliability.reliability_bins`.
    """

    name: str
    bins: Sequence[ReliabilityBin]


def reliability(curves: Sequence[ReliabilityCurve]) -> Drawing:
    """Draws the share labeled yes over the mean P(yes) of each bin, with its 95 % interval, and n of each bin below.

    A judge whose probabilities are what they say follows the diagonal.

    Args:
        curves: One line each, with distinct names.

    Raises:
        ConfigError: No curve has a bin, or two have the same name.
    """
    labels = short_labels([curve.name for curve in curves], most=40)
    if len(labels) < len(curves):
        raise ConfigError("two curves of a reliability diagram have the same name")
    if not any(curve.bins for curve in curves):
        raise ConfigError("a reliability diagram needs labeled answers with probabilities, and there are none")
    with shared_style():
        figure = new_figure(1.32 * _WIDTH, width=_WIDTH)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, _LOWER))
        upper.plot([0, 1], [0, 1], color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        lines = [_draw(upper, lower, curve, place) for place, curve in enumerate(curves)]
        upper.set(xlim=(0, 1), ylim=(0, 1), ylabel="share labeled yes", box_aspect=1)
        upper.tick_params(axis="x", length=0)
        # Named here: a label that begins with an underscore would be left out.
        upper.legend(
            lines, [f"{labels[c.name]} (n = {sum(b.share.n for b in c.bins)})" for c in curves], loc="upper left"
        )
        lower.set(xlabel="mean P(yes) of the bin", ylabel="n of the bin", box_aspect=_LOWER)
        lower.set_ylim(bottom=0)
        lower.yaxis.get_major_locator().set_params(integer=True, nbins=3)
        return finished(figure, alt=f"Share labeled yes over P(yes) of {', '.join(labels.values())}.")


def _draw(upper: "Axes", lower: "Axes", curve: ReliabilityCurve, place: int) -> "Line2D":
    """Draws one curve into both parts; returns its line."""
    color, marker = color_of(place), marker_of(place)
    x = [item.probability for item in curve.bins]
    shares = [(item.probability, item.share.value) for item in curve.bins if item.share.value is not None]
    counts = [item.share.n for item in curve.bins]
    (line,) = upper.plot(
        [probability for probability, _ in shares],
        [share for _, share in shares],
        color=color,
        marker=marker,
        markersize=4,
        linewidth=1,
        linestyle=_LINES[place % len(_LINES)],
        clip_on=False,
    )
    for item in curve.bins:
        if item.share.low is not None and item.share.high is not None:
            upper.vlines(item.probability, item.share.low, item.share.high, color=color, linewidth=0.8, clip_on=False)
    lower.vlines(x, 0, counts, color=color, linewidth=1, clip_on=False)
    lower.plot(x, counts, color=color, marker=marker, markersize=3, linestyle="none", clip_on=False)
    return line
