import random
from dataclasses import replace

import pytest

from bineval.stats.coefficients import COEFFICIENTS
from bineval.stats.correlation import correlations
from bineval.stats.levels import Level, Rated
from bineval.stats.paired_differences import Difference, correlation_difference, paired_differences


def drawn(n_groups: int, n_systems: int, *, seed: int = 0) -> tuple[list[Rated], list[Rated]]:
    """A judge that follows people's ratings, and one that hardly does."""
    rng = random.Random(seed)
    good, weak = [], []
    for group in range(n_groups):
        for system in range(n_systems):
            human = float(min(max(round(rng.gauss(3 + 0.1 * system, 1)), 1), 5))
            item = Rated(example_id=f"{group}-{system}", group=group, system=f"s{system}", human=human, value=0.0)
            good.append(replace(item, value=round(human + rng.gauss(0, 0.6))))
            weak.append(replace(item, value=round(human + rng.gauss(0, 4))))
    return good, weak


def one(first: list[Rated], second: list[Rated], level: Level = "pooled") -> Difference:
    return correlation_difference(first, second, level=level, coefficient="spearman")


@pytest.mark.parametrize("level", ["pooled", "group", "system"])
def test_it_is_the_difference_of_the_coefficients_with_the_better_one_named(level: Level) -> None:
    good, weak = drawn(30, 10)
    of_good, of_weak = correlations(good, level=level), correlations(weak, level=level)
    for difference in paired_differences({"": good}, {"": weak}, level=level):
        name, estimate = difference.coefficient, difference.estimate
        assert estimate.value == pytest.approx(getattr(of_good, name).value - getattr(of_weak, name).value)
        assert estimate.low is not None
        assert difference.p_value is not None
        if level != "system":
            assert estimate.low > 0
            assert (difference.estimate.direction, difference.p_value < 0.01) == ("above", True)


def test_exchanging_the_two_exchanges_the_signs() -> None:
    good, weak = drawn(20, 4)
    forward, backward = one(good, weak), one(weak, good)
    assert backward.estimate.direction == "below"
    ends = (forward.estimate.value, forward.estimate.low, forward.estimate.high)
    assert ends == pytest.approx(
        tuple(-(end or 0) for end in (backward.estimate.value, backward.estimate.high, backward.estimate.low))
    )
    assert backward.p_value == pytest.approx(forward.p_value)


def test_a_pair_is_compared_on_the_same_groups_so_that_its_interval_is_shorter() -> None:
    # Two judges that nearly agree: their difference is known better than either.
    good, _ = drawn(20, 4)
    other = [replace(item, value=item.value + 1) if i % 17 == 0 else item for i, item in enumerate(good)]
    difference, alone = one(good, other).estimate, correlations(good, level="pooled").spearman
    assert (difference.high or 0) - (difference.low or 0) < 0.8 * ((alone.high or 0) - (alone.low or 0))


def test_a_judge_does_not_differ_from_itself() -> None:
    good, _ = drawn(20, 4)
    difference = one(good, good)
    assert (difference.estimate.value, difference.estimate.low, difference.p_value) == (0.0, None, 1.0)
    assert difference.estimate.direction == "unclear"


def test_the_greatest_difference_that_there_can_be_has_a_p_value() -> None:
    good = [
        Rated(example_id=f"{g}-{i}", group=g, system=None, human=float(i), value=float(i))
        for g in range(8)
        for i in range(4)
    ]
    found = one(good, [replace(item, value=-item.value) for item in good], level="group")
    assert (found.estimate.value, found.estimate.low) == (2.0, None)
    assert found.p_value == pytest.approx(2 * 0.5**8), "the sign test over eight groups"


def test_one_coefficient_is_that_of_all_at_once() -> None:
    good, weak = drawn(12, 4)
    together = paired_differences({"": good}, {"": weak}, level="group", seed=3)
    assert [difference.coefficient for difference in together] == list(COEFFICIENTS)
    for difference in together:
        alone = correlation_difference(good, weak, level="group", coefficient=difference.coefficient, seed=3)
        assert alone == difference


def test_only_the_examples_of_both_count() -> None:
    good, weak = drawn(12, 4)
    assert one(good, weak[4:]) == one(good[4:], weak[4:]) == one(good[4:], weak)
    assert one(good, weak[4:]).estimate.n == 44


def test_within_groups_only_those_count_that_both_define() -> None:
    good, weak = drawn(12, 4)
    # The weak judge says the same of all in group 0.
    flat = [replace(item, value=1.0) if item.group == 0 else item for item in weak]
    assert one(good, flat, "group") == one(good[4:], weak[4:], "group")
    zero = correlation_difference(good, flat, level="group", coefficient="spearman", constant_is_zero=True)
    assert zero.estimate.n == 48


def test_over_dimensions_it_is_the_mean_of_their_differences() -> None:
    pairs = {name: drawn(12, 4, seed=seed) for seed, name in enumerate(("coherence", "fluency"))}
    first, second = ({name: pair[i] for name, pair in pairs.items()} for i in (0, 1))
    [found] = paired_differences(first, second, level="pooled", wanted=["spearman"])
    alone = [one(*pair).estimate.value or 0 for pair in pairs.values()]
    assert found.estimate.value == pytest.approx(sum(alone) / 2)
    assert found.estimate.n == 48


def test_what_is_undefined_is_none_with_the_reason() -> None:
    good, weak = drawn(12, 4)
    flat = [replace(item, value=1.0) for item in weak]

    def method(first: list[Rated], second: list[Rated], level: Level = "pooled") -> str:
        difference = one(first, second, level)
        assert (difference.estimate.value, difference.p_value, difference.estimate.direction) == (None, None, "unclear")
        return difference.estimate.method

    assert method(good, flat) == "undefined: all predicted values are equal"
    assert method(good, flat, "group") == "undefined: no example or group that both define"
    assert method(good[:4], weak[4:]) == "undefined: no example or group that both define"
    assert method([], []) == "undefined: no example or group that both define"
    [found] = paired_differences({"a": good, "b": good}, {"a": weak, "b": flat}, level="pooled", wanted=["kendall"])
    assert found.estimate.method == "undefined: b: all predicted values are equal"
    assert paired_differences({}, {}, level="pooled")[0].estimate.method == "undefined: no dimensions"


def test_fewer_than_five_groups_have_a_difference_and_no_interval() -> None:
    difference = one(*drawn(4, 5))
    assert difference.estimate.value is not None
    assert (difference.estimate.low, difference.p_value) == (None, None)
    assert difference.estimate.method == "no interval: fewer than 5 groups"


def test_the_same_seed_gives_the_same() -> None:
    good, weak = drawn(10, 3)
    calls = [correlation_difference(good, weak, level="pooled", coefficient="kendall", seed=seed) for seed in (1, 1, 2)]
    assert calls[0] == calls[1] != calls[2]
