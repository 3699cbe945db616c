from typing import Any

import pytest

from bineval.errors import ConfigError
from bineval.metaeval.differences import line_differences
from bineval.metaeval.plot_data import plot_data
from bineval.metaeval.rows import MetaOptions, average_row, dimension_row, is_defined, row_json
from bineval.metaeval.series import ScoredOutput, ScoreKind, Series
from bineval.stats.significance import holm
from bineval.types import Example, Scale

# Human ratings 1, 2, 3, 4, 5, 5 and scores on the same scale, mapped to [0, 1]: 2, 1, 3, 5, 4, 5.
HUMANS: list[float | None] = [1, 2, 3, 4, 5, 5]
SCORES: list[float | None] = [0.25, 0, 0.5, 1, 0.75, 1]


def series(
    humans: list[float | None] = HUMANS,
    scores: list[float | None] = SCORES,
    *,
    run: str = "r",
    dimension: str = "style",
    scale: Scale | None = (1, 5),
    kind: ScoreKind = "hard",
) -> Series:
    outputs = [
        ScoredOutput(
            example=Example(id=f"e{i}", output="", group=f"g{i // 2}", system="ab"[i % 2]), human=human, value=score
        )
        for i, (human, score) in enumerate(zip(humans, scores, strict=True))
    ]
    return Series(run=run, dimension=dimension, kind=kind, scale=scale, outputs=tuple(outputs))


def test_a_row_holds_the_correlations_of_the_outputs_that_have_both_values() -> None:
    found = dimension_row(series([*HUMANS, None, 3, None], [*SCORES, 0.5, None, None]), MetaOptions(), agreement=())
    assert (found.n_examples, found.n_without_human, found.n_without_score, found.correlations.n) == (9, 2, 1, 6)
    # Pairs of the 15: tied for people 1 (5, 5), for the scores 1 (5, 5 of items 4 and 6). Discordant: items 1-2, 4-5;
    # items 4-6 are tied for the scores and 5-6 for people; so 11 concordant. tau-b = (11 - 2) / sqrt(14 · 14) = 9/14.
    assert found.correlations.kendall.value == pytest.approx(9 / 14)
    assert found.correlations.level == "pooled"


def test_distributions_are_of_both_mapped_to_0_and_1() -> None:
    shapes = dimension_row(series(), MetaOptions(), agreement=()).shapes
    assert shapes is not None
    # Ratings 0, .25, .5, .75, 1, 1 and the same scores in another order.
    assert shapes.humans.mean.value == pytest.approx(3.5 / 6)
    assert shapes.scores.mean.value == pytest.approx(3.5 / 6)
    assert (shapes.humans.ceiling_share.value, shapes.distance.value) == (pytest.approx(1 / 3), pytest.approx(0))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (series(scale=None), "undefined: people's ratings reach from 1 to 5, and the dimension has no scale"),
        (series([1, 7], [0, 1]), "undefined: people's ratings reach from 1 to 7, and the scale is 1 to 5"),
        (
            series([0, 1], [-3.5, 1], scale=None),
            "undefined: the scores reach from -3.5 to 1, and the dimension has no scale",
        ),
        (series([None], [0.5]), "undefined: no items; no items"),
    ],
)
def test_values_that_cannot_be_mapped_have_no_distribution_and_the_reason_is_told(found: Series, reason: str) -> None:
    shapes = dimension_row(found, MetaOptions(), agreement=()).shapes
    assert shapes is not None
    assert (shapes.distance.value, shapes.distance.method) == (None, reason)
    assert plot_data([found], [dimension_row(found, MetaOptions(), agreement=())]).distributions == ()


def test_without_a_scale_values_that_lie_in_0_and_1_are_taken_as_they_are() -> None:
    found = series([0, 0.5, 1], [0.2, 0.4, 0.6], scale=None)
    assert (found.human_units(), found.score_units()) == ([0, 0.5, 1], [0.2, 0.4, 0.6])


def test_at_group_level_a_group_that_is_constant_is_skipped_or_counts_as_zero() -> None:
    # Groups (1, 2), (3, 4), (5, 5) against (.25, 0), (.5, 1), (.75, 1): tau -1, 1, and undefined.
    skipped = dimension_row(series(), MetaOptions(level="group"), agreement=()).correlations
    assert (skipped.groups_used, skipped.groups_skipped, skipped.kendall.value) == (2, 1, pytest.approx(0))
    humans: list[float | None] = [1, 2, 3, 4, 5, 5]
    scores: list[float | None] = [0, 0.25, 0.5, 1, 0.75, 1]
    zero = dimension_row(series(humans, scores), MetaOptions(level="group", constant="zero"), agreement=())
    assert zero.correlations.kendall.value == pytest.approx(2 / 3)


def test_systems_stand_in_the_order_of_people() -> None:
    systems = dimension_row(series(), MetaOptions(), agreement=()).systems
    assert systems is not None
    # System a: ratings 1, 3, 5, scores 2, 3, 4 on the scale; b: ratings 2, 4, 5, scores 1, 5, 5. Mapped: (x - 1) / 4.
    assert [item.system for item in systems.means] == ["a", "b"]
    assert [item.human.value for item in systems.means] == pytest.approx([0.5, 2 / 3])
    assert [item.score.value for item in systems.means] == pytest.approx([0.5, 2 / 3])
    assert (systems.n_pairs, systems.n_alike, systems.n_tied) == (1, 1, 0)


def test_the_average_is_the_mean_over_dimensions() -> None:
    better: list[float | None] = [0, 0.25, 0.5, 0.75, 1, 1]
    both = [series(), series(scores=better, dimension="form")]
    found = average_row(both, MetaOptions(), agreement=())
    assert found.dimension == "average"
    assert found.correlations.kendall.value == pytest.approx((9 / 14 + 1) / 2)
    assert (found.shapes, found.systems, found.human_mean) == (None, None, None)


def test_differences_are_from_the_first_line_and_adjusted_together() -> None:
    ratings: list[float | None] = [float(i % 5 + 1) for i in range(40)]
    good: list[float | None] = [((i * 3) % 5 + (i % 5) * 3) / 16 for i in range(40)]
    bad: list[float | None] = [((i * 7) % 11) / 10 for i in range(40)]
    lines = [
        [series(ratings, scores, run=run, dimension=dimension) for dimension in ("style", "form")]
        for run, scores in (("bad", bad), ("good", good), ("again", bad))
    ]
    found = line_differences(lines, MetaOptions())
    assert len(found) == 2 * 3 * 3
    assert [item.dimension for item in found[::3]] == ["style", "form", "average"] * 2
    assert {(item.run, item.against_run) for item in found} == {("good", "bad"), ("again", "bad")}
    # Pearson, Spearman and Kendall in turn: each is adjusted for its own six.
    for place in range(3):
        family = [item.difference for item in found[place::3]]
        assert len({item.coefficient for item in family}) == 1
        assert [item.p_adjusted for item in family] == holm([item.p_value or 0.0 for item in family])
    assert found[0].difference.estimate.value is not None
    assert found[0].difference.estimate.value > 0
    same = found[9].difference
    assert (same.estimate.value, same.p_value) == (0, 1)


def test_the_average_difference_is_the_difference_of_the_averages() -> None:
    better: list[float | None] = [0, 0.25, 0.5, 0.75, 1, 1]
    first = [series(), series(dimension="form")]
    second = [series(scores=better, run="s"), series(run="s", dimension="form")]
    found = {
        (item.dimension, item.difference.coefficient): item.difference.estimate.value
        for item in line_differences([first, second], MetaOptions())
    }
    assert found["style", "kendall"] == pytest.approx(1 - 9 / 14)
    assert found["form", "kendall"] == 0
    assert found["average", "kendall"] == pytest.approx((1 - 9 / 14) / 2)


def test_a_difference_that_one_side_leaves_undefined_is_undefined_and_has_no_p_value() -> None:
    constant: list[float | None] = [0.5] * 6
    [found, *_] = line_differences([[series()], [series(scores=constant, run="s")]], MetaOptions())
    assert (found.difference.estimate.value, found.difference.p_value, found.difference.p_adjusted) == (
        None,
        None,
        None,
    )
    assert found.difference.estimate.method == "undefined: all predicted values are equal"


def test_a_row_without_any_coefficient_says_why() -> None:
    row = dimension_row(series(scores=[0.5] * 6), MetaOptions(), agreement=())
    assert not is_defined(row)
    found = row_json(row, [], MetaOptions())
    assert found["pearson"] == {
        "value": None, "low": None, "high": None, "n": 6, "method": "undefined: all predicted values are equal",
    }  # fmt: skip
    assert is_defined(dimension_row(series(), MetaOptions(), agreement=()))


@pytest.mark.parametrize("wrong", [{"level": "item"}, {"constant": "drop"}, {"labeled_share": 1.0}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        MetaOptions(**wrong)


def test_plots_show_people_once_in_each_dimension() -> None:
    lines = [series(), series(run="s"), series(kind="soft")]
    plots = plot_data(lines, [dimension_row(item, MetaOptions(), agreement=()) for item in lines])
    assert [item.name for item in plots.distributions] == ["people", "r", "s", "r (soft)"]
    assert plots.distributions[0].values == (0, 0.25, 0.5, 0.75, 1, 1)
    assert plots.distributions[1].values == tuple(SCORES)
    assert [(item.name, item.system) for item in plots.systems[:4]] == [
        ("people", "a"),
        ("people", "b"),
        ("r", "a"),
        ("r", "b"),
    ]
