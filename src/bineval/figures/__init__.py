"""Figures of a judge beside people, as SVG or PNG files and as SVG for a page; drawn by matplotlib."""

from bineval.figures.drawing import PEOPLE, Drawing
from bineval.figures.heatmap import phi_heatmap
from bineval.figures.reliability_diagram import ReliabilityCurve, reliability
from bineval.figures.score_violins import Distribution, violins
from bineval.figures.system_means import SystemMean, systems

__all__ = [
    "PEOPLE",
    "Distribution",
    "Drawing",
    "ReliabilityCurve",
    "SystemMean",
    "phi_heatmap",
    "reliability",
    "systems",
    "violins",
]
