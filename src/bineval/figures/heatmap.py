"""How alike the answers to the questions of a dimension are: φ of each pair, in a triangle."""

from typing import TYPE_CHECKING

from bineval.errors import ConfigError
from bineval.figures.drawing import INK, WIDTH, Drawing, finished, new_figure, shared_style
from bineval.figures.labels import short_label, short_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bineval.diagnose.pairs import PhiMatrix

# Inches for the labels.
_BESIDE = 1.3
# Beyond this |φ| the color is so dark that only white can be read on it.
_DARK = 0.6
_MINUS = "\u2212"


def phi_heatmap(matrix: "PhiMatrix") -> Drawing:
    """Draws φ of each pair of questions, each pair once, with its value; an undefined one is hatched and has a dash.

    Args:
        matrix: Of one dimension, with at least two questions.

    Raises:
        ConfigError: There are fewer than two questions.
    """
    n = len(matrix.questions)
    if n < 2:
        raise ConfigError(f"dimension {matrix.dimension}: φ needs two questions, and there is {n}")
    labels = list(short_labels(matrix.questions, most=24).values())
    # Large enough for a value, and as large as fits beside the labels.
    cell = min(max((WIDTH - _BESIDE) / (n - 1), 0.19), 0.5)
    with shared_style():
        figure = new_figure(cell * (n - 1) + _BESIDE + 0.2, width=max(cell * (n - 1) + _BESIDE, 3.4))
        axes = figure.add_subplot()
        _draw_cells(axes, matrix, size=min(7.0, cell * 72 * 0.36))
        size = min(7.0, cell * 72 * 0.6)
        axes.set_xticks([i + 0.5 for i in range(n - 1)], labels[:-1], rotation=90, fontsize=size)
        axes.set_yticks([i + 0.5 for i in range(n - 1)], labels[1:], fontsize=size)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(xlim=(0, n - 1), ylim=(n - 1, 0), aspect="equal")
        dimension = short_label(matrix.dimension, most=40)
        figure.suptitle(f"{dimension}\nφ of each pair of questions", x=0.02, ha="left", fontsize=8)
        return finished(figure, alt=f"φ of each pair of the {n} questions of {dimension}.")


def _draw_cells(axes: "Axes", matrix: "PhiMatrix", *, size: float) -> None:
    import matplotlib
    from matplotlib.patches import Rectangle

    # White is φ = 0; blue and red are told apart by color-blind people, and the signs stand in the cells.
    colors = matplotlib.colormaps["RdBu_r"]
    for row in range(1, len(matrix.questions)):
        for column in range(row):
            value = matrix.values[row][column]
            corner = (column, row - 1)
            if value is None:
                axes.add_patch(Rectangle(corner, 1, 1, facecolor="white", edgecolor="0.8", hatch="////", linewidth=0))
            else:
                face = colors((value + 1) / 2)
                axes.add_patch(Rectangle(corner, 1, 1, facecolor=face, edgecolor="white", linewidth=0.6))
            ink = "white" if value is not None and abs(value) > _DARK else INK
            axes.text(column + 0.5, row - 0.5, _written(value), ha="center", va="center", fontsize=size, color=ink)


def _written(value: float | None) -> str:
    """Two decimals without the zero before the point, which a small cell has no room for."""
    if value is None:
        return "–"
    text = f"{value:.2f}"
    return "0" if float(text) == 0 else text.replace("0.", ".").replace("-", _MINUS)
