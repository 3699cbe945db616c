import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from bineval.stats.bootstrap import Replicates
from bineval.stats.coefficients import COEFFICIENTS, Coefficient
from bineval.stats.correlation import Correlations, Level, Rated, correlation_average, correlations
from bineval.stats.intervals import draw_counts

ORACLES: dict[Coefficient, Callable[..., object]] = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def rated(group: object, system: str | None, human: float, value: float) -> Rated:
    return Rated(example_id=f"{group}-{system}", group=str(group), system=system, human=human, value=value)


def drawn(n_groups: int, n_systems: int, *, seed: int = 0) -> list[Rated]:
    """Ratings from 1 to 5 and the mean of six yes/no answers; every group has every system."""
    rng = random.Random(seed)
    items = []
    for group in range(n_groups):
        for system in range(n_systems):
            quality = rng.gauss(0.1 * system, 1)
            human = min(max(round(3 + quality + rng.gauss(0, 0.5)), 1), 5)
            value = sum(rng.random() < 1 / (1 + math.exp(-quality)) for _ in range(6)) / 6
            items.append(rated(group, f"s{system}", float(human), value))
    return items


def values(found: Correlations) -> dict[Coefficient, float | None]:
    return {name: getattr(found, name).value for name in COEFFICIENTS}


def by_scipy(pairs: Sequence[tuple[float, float]]) -> dict[Coefficient, float]:
    human, value = zip(*pairs, strict=True)
    return {name: float(ORACLES[name](human, value).statistic) for name in COEFFICIENTS}  # type: ignore[attr-defined]


# Group "a" agrees, "b" half, in "c" all ratings are equal.
WORKED = [
    *(rated("a", f"s{i}", human, value) for i, (human, value) in enumerate([(1, 0.0), (2, 0.5), (3, 1.0)])),
    *(rated("b", f"s{i}", human, value) for i, (human, value) in enumerate([(1, 0.0), (2, 1.0), (3, 0.5)])),
    *(rated("c", f"s{i}", human, value) for i, (human, value) in enumerate([(4, 0.0), (4, 0.5), (4, 1.0)])),
]


def test_within_groups_it_is_the_mean_over_those_that_are_defined() -> None:
    # Group a: all 1. Group b: r and rho 0.5 (ranks 1 3 2), tau (2 - 1) / 3. Group c is skipped.
    found = correlations(WORKED, level="group")
    assert values(found) == pytest.approx({"pearson": 0.75, "spearman": 0.75, "kendall": 2 / 3})
    assert (found.level, found.n, found.groups_used, found.groups_skipped) == ("group", 9, 2, 1)


def test_a_constant_group_counts_as_zero_where_that_is_asked_for() -> None:
    found = correlations(WORKED, level="group", constant_is_zero=True)
    assert values(found) == pytest.approx({"pearson": 0.5, "spearman": 0.5, "kendall": 4 / 9})
    assert (found.n, found.groups_used, found.groups_skipped) == (9, 3, 0)


def test_a_group_of_one_output_is_skipped_even_where_constant_groups_count_as_zero() -> None:
    found = correlations([*WORKED, rated("single", "a", 3, 0.5)], level="group", constant_is_zero=True)
    assert values(found) == pytest.approx({"pearson": 0.5, "spearman": 0.5, "kendall": 4 / 9})
    assert (found.groups_used, found.groups_skipped) == (3, 1)


def test_by_system_those_that_name_none_are_left_out() -> None:
    named = drawn(6, 9)
    nameless = [rated(group, None, 1, 1) for group in range(6)]
    assert correlations([*named, *nameless], level="system") == correlations(named, level="system")


def test_pooled_it_is_over_all_examples() -> None:
    found = correlations(WORKED, level="pooled")
    assert values(found) == pytest.approx(by_scipy([(item.human, item.value) for item in WORKED]))
    assert (found.n, found.groups_used, found.groups_skipped) == (9, 3, 0)


def test_by_system_it_is_over_the_systems_means() -> None:
    # Human means 2, 8/3, 10/3; values 0, 2/3, 5/6: r = (2/3 · 5/6 + 0) / √(8/9 · 7/18) … by scipy; ranks agree.
    found = correlations(WORKED, level="system")
    assert values(found) == pytest.approx(by_scipy([(2, 0), (8 / 3, 2 / 3), (10 / 3, 5 / 6)]))
    assert (found.spearman.value, found.kendall.value) == (1, 1)
    assert (found.n, found.groups_used, found.spearman.n) == (9, 3, 9)
    assert found.spearman.method == "no interval: fewer than 8 systems"


@pytest.mark.parametrize("level", ["pooled", "group", "system"])
def test_each_level_is_that_of_scipy_on_tied_ratings(level: Level) -> None:
    items = drawn(30, 10)
    pairs = [(item.human, item.value) for item in items]
    if level == "pooled":
        expected = by_scipy(pairs)
    elif level == "system":
        expected = by_scipy([tuple(np.mean(pairs[system::10], axis=0)) for system in range(10)])
    else:
        groups = [by_scipy(pairs[10 * group : 10 * group + 10]) for group in range(30)]
        expected = {name: float(np.mean([group[name] for group in groups])) for name in COEFFICIENTS}
    found = correlations(items, level=level)
    assert values(found) == pytest.approx(expected, abs=1e-12)
    for name in COEFFICIENTS:
        estimate = getattr(found, name)
        assert estimate.low < estimate.value < estimate.high
        over, share = ("10 systems", "about 95 %") if level == "system" else ("30 groups", "95 %")
        assert estimate.method == f"BCa bootstrap over {over}, 2000 resamples, {share}"


@pytest.mark.parametrize("level", ["pooled", "group"])
def test_the_interval_is_that_of_groups_really_drawn_again(level: Level) -> None:
    items = drawn(9, 5, seed=3)
    cells = np.array([(item.human, item.value) for item in items]).reshape(9, 5, 2)

    def pearson(counts: Sequence[float]) -> float:
        again = np.repeat(cells, np.asarray(counts, dtype=int), axis=0)
        if level == "pooled":
            again = again.reshape(1, -1, 2)
        return float(np.mean([np.corrcoef(group[:, 0], group[:, 1])[0, 1] for group in again]))

    low, high = Replicates(
        value=pearson(np.ones(9)),
        draws=np.array([pearson(counts) for counts in draw_counts(9, seed=6)]),
        left_out=np.array([pearson(counts) for counts in 1 - np.eye(9)]),
        n_groups=9,
    ).interval()
    found = correlations(items, level=level, seed=6).pearson
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_copies_within_a_group_know_no_more() -> None:
    items = drawn(12, 3)
    copied = [
        Rated(example_id=f"{item.example_id}-{i}", group=item.group, system=None, human=item.human, value=item.value)
        for item in items
        for i in range(4)
    ]
    once, often = correlations(items, level="pooled").spearman, correlations(copied, level="pooled").spearman
    assert (often.value, often.low, often.high) == pytest.approx((once.value, once.low, once.high))
    assert often.n == 4 * once.n


@pytest.mark.parametrize(
    ("items", "level", "method"),
    [
        ([], "pooled", "undefined: no items"),
        ([], "group", "undefined: no items"),
        ([], "system", "undefined: no items"),
        ([rated(i, "s", 3, i) for i in range(6)], "pooled", "undefined: all human ratings are equal"),
        (
            [rated(i, "s", i, 0.3 if i % 2 else 0.1 + 0.2) for i in range(6)],
            "pooled",
            "undefined: all predicted values are equal",
        ),
        (
            [rated(i, "s", i, i) for i in range(6)],
            "group",
            "undefined: no group has two distinct human ratings and two distinct predicted values",
        ),
        ([rated(i, "s", i, i) for i in range(6)], "system", "undefined: all human ratings are equal"),
    ],
)
def test_what_is_undefined_is_none_with_the_reason(items: list[Rated], level: Level, method: str) -> None:
    found = correlations(items, level=level)
    for name in COEFFICIENTS:
        estimate = getattr(found, name)
        assert (estimate.value, estimate.low, estimate.n, estimate.method) == (None, None, len(items), method)


def test_without_any_system_there_is_nothing_to_correlate_at_their_level() -> None:
    found = correlations([rated(1, None, 1, 1), rated(2, None, 2, 2)], level="system")
    assert (found.n, found.kendall.value, found.kendall.method) == (0, None, "undefined: no example names its system")


@pytest.mark.parametrize("level", ["pooled", "group"])
def test_fewer_than_five_groups_have_a_value_and_no_interval(level: Level) -> None:
    found = correlations(drawn(4, 6), level=level)
    assert found.kendall.value is not None
    assert (found.kendall.low, found.kendall.method) == (None, "no interval: fewer than 5 groups")


def test_a_single_group_is_correlated_within_itself() -> None:
    items = drawn(1, 8)
    assert values(correlations(items, level="group")) == pytest.approx(values(correlations(items, level="pooled")))


def test_agreement_in_every_resample_has_no_interval() -> None:
    items = [rated(group, f"s{i}", i, i / 3) for group in range(6) for i in range(4)]
    found = correlations(items, level="pooled").kendall
    assert (found.value, found.low, found.method) == (1.0, None, "no interval: all resamples are equal")


def test_a_coefficient_that_many_resamples_leave_undefined_has_no_interval() -> None:
    # Only one of six groups differs: (5/6)^6, a third of the resamples, leave it out.
    items = [rated(i, "s", 5.0 if i else 1.0, 1.0 if i else 0.0) for i in range(6)]
    estimate = correlations(items, level="pooled").pearson
    assert (estimate.value, estimate.low) == (pytest.approx(1.0), None)
    assert estimate.method.startswith("no interval: undefined in ")


@pytest.mark.parametrize("level", ["pooled", "group", "system"])
def test_the_same_seed_gives_the_same_and_another_seed_another(level: Level) -> None:
    items = drawn(10, 9)
    assert correlations(items, level=level, seed=2) == correlations(items, level=level, seed=2)
    assert correlations(items, level=level, seed=2) != correlations(items, level=level, seed=3)


def test_the_average_over_dimensions_is_that_of_their_coefficients() -> None:
    first, second = drawn(12, 4), drawn(12, 4, seed=1)[:-4]
    found = correlation_average({"coherence": first, "fluency": second}, level="group")
    of_first, of_second = (values(correlations(items, level="group")) for items in (first, second))
    for name, value in values(found).items():
        assert value == pytest.approx(((of_first[name] or 0) + (of_second[name] or 0)) / 2)
    assert (found.n, found.groups_used) == (48, 11)


def test_the_average_of_a_dimension_with_itself_has_its_own_interval() -> None:
    items = drawn(12, 4)
    assert correlation_average({"a": items, "b": items}, level="pooled") == correlations(items, level="pooled")


def test_the_average_is_undefined_where_one_dimension_is() -> None:
    constant = [rated(i, "s", 3, i) for i in range(6)]
    found = correlation_average({"coherence": drawn(6, 2), "fluency": constant}, level="pooled")
    assert (found.pearson.value, found.pearson.method) == (None, "undefined: fluency: all human ratings are equal")
    assert correlation_average({}, level="pooled").pearson.method == "undefined: no dimensions"
