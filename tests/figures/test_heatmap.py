import pytest

from bineval.diagnose.pairs import PhiMatrix
from bineval.errors import ConfigError
from bineval.figures import phi_heatmap

# q3 is constant: its φ with the others is undefined.
MATRIX = PhiMatrix(
    dimension="consistency",
    questions=("q1", "q2", "q3", "q4"),
    values=(
        (1.0, 0.92, None, -0.311),
        (0.92, 1.0, None, 0.0),
        (None, None, None, None),
        (-0.311, 0.0, None, 1.0),
    ),
)


def test_each_pair_stands_once_with_its_value_and_an_undefined_one_is_a_dash() -> None:
    (axes,) = phi_heatmap(MATRIX).figure.axes
    # Below the diagonal, row by row: q2; q3; q4.
    assert [text.get_text() for text in axes.texts] == [".92", "–", "–", "\u2212.31", "0", "–"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["q1", "q2", "q3"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["q2", "q3", "q4"]


def test_an_undefined_pair_is_hatched_and_never_has_the_color_of_zero() -> None:
    (axes,) = phi_heatmap(MATRIX).figure.axes
    hatched = [patch.get_hatch() is not None for patch in axes.patches]
    assert hatched == [False, True, True, False, False, True]
    zero, undefined = axes.patches[4].get_facecolor(), axes.patches[1].get_facecolor()
    assert undefined == (1, 1, 1, 1)
    assert zero != undefined


def matrix(n: int) -> PhiMatrix:
    row = (0.5,) * n
    return PhiMatrix(dimension="d", questions=tuple(f"question-{i}" for i in range(n)), values=(row,) * n)


def test_thirty_questions_fit_the_width_of_a_report_and_their_values_fit_their_cells() -> None:
    made = phi_heatmap(matrix(30))
    assert made.figure.get_size_inches()[0] <= 7
    made.figure.draw_without_rendering()
    (axes,) = made.figure.axes
    cell = axes.patches[0].get_window_extent()
    assert all(text.get_window_extent().width < cell.width for text in axes.texts)
    assert len(axes.texts) == 30 * 29 / 2


def test_one_question_has_no_pair() -> None:
    with pytest.raises(ConfigError, match="dimension d: φ needs two questions, and there is 1"):
        phi_heatmap(matrix(1))
