import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ConfigError
from bineval.stats.bands import Band, ReplayedPair, learn_band, replay


def pair(probability: float | None, cheap: bool | None, strong: bool, group: object = None) -> ReplayedPair:
    return ReplayedPair(group=group or object(), probability=probability, cheap=cheap, strong=strong)


def ends(band: Band | None) -> tuple[float, float]:
    assert band is not None
    return band.low, band.high


# Ten verdicts: the cheap judge is wrong at .35, .45, .55 and, quite sure of itself, at .95; the strong one at .45, .05.
TEN = [
    pair(0.05, True, False),
    pair(0.15, True, True),
    pair(0.25, True, True),
    pair(0.35, False, True),
    pair(0.45, False, False),
    pair(0.55, False, True),
    pair(0.65, True, True),
    pair(0.75, True, True),
    pair(0.85, True, True),
    pair(0.95, False, True),
]


def test_a_band_on_ten_verdicts_worked_by_hand() -> None:
    # Gained by asking the strong judge: -1 0 0 1 0 1 0 0 0 1. Three calls in a row gain most, 2, from .35 to .55. With
    # two calls the most is 1, which one call gets too: at .35, .55 or .95, of which .55 lies nearest to the middle.
    assert ends(learn_band(TEN, share=0.3)) == pytest.approx((0.3, 0.6))
    assert ends(learn_band(TEN, share=0.2)) == pytest.approx((0.5, 0.6))
    # With seven calls all three can be had, up to the end of the scale; more calls would gain nothing.
    assert ends(learn_band(TEN, share=0.7)) == pytest.approx((0.3, 1.0))
    assert ends(learn_band(TEN, share=1.0)) == pytest.approx((0.3, 1.0))


def test_the_replay_of_ten_verdicts_worked_by_hand() -> None:
    figures = replay(TEN, Band(low=0.3, high=0.6))
    assert figures.escalated.value == pytest.approx(3 / 10)
    # The cheap judge is right on 6 of 10, the strong one on 8. Of the 7 kept the cheap one has 6 (all but .95) and the
    # strong one too (all but .05); of the 3 deferred none and 2. Together 6 + 2.
    assert (figures.cheap.value, figures.strong.value, figures.cascade.value) == (0.6, 0.8, 0.8)
    assert figures.cascade_less_cheap.value == pytest.approx(0.2)
    assert figures.cascade_less_strong.value == pytest.approx(0.0)
    assert (figures.kept_cheap.value, figures.kept_strong.value) == (pytest.approx(6 / 7), pytest.approx(6 / 7))
    assert (figures.deferred_cheap.value, figures.deferred_strong.value) == (0.0, pytest.approx(2 / 3))
    assert (figures.both_wrong.value, figures.n) == (0.1, 10)


def test_verdicts_without_a_cheap_answer_are_strong_calls_in_every_band() -> None:
    with_gap = [*TEN, pair(None, None, True), pair(None, None, False)]
    # Three calls of twelve, two of them taken: one is left.
    assert ends(learn_band(with_gap, share=0.25)) == pytest.approx((0.5, 0.6))
    assert learn_band(with_gap, share=0.16) is None
    figures = replay(with_gap, Band(low=0.5, high=0.6))
    assert figures.escalated.value == pytest.approx(3 / 12)
    assert (figures.cheap.n, figures.strong.n, figures.cascade.n, figures.n) == (10, 12, 12, 12)
    # The cascade: 6 right of the cheap judge's 9 kept, 1 deferred right, 1 of the 2 without a cheap answer.
    assert figures.cascade.value == pytest.approx(8 / 12)
    assert figures.cascade_less_cheap.n == 10
    assert (figures.deferred_cheap.n, figures.deferred_strong.n) == (1, 3)


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [pair(0.5, True, False), pair(0.6, True, True)],
        [pair(None, None, True)],
        [pair(0.5, False, True)],  # one call is more than half of one verdict
    ],
)
def test_where_no_band_gains_anything_there_is_none(pairs: list[ReplayedPair]) -> None:
    assert learn_band(pairs, share=0.5) is None


def test_equal_probabilities_are_sent_together_or_not_at_all() -> None:
    pairs = [pair(0.5, False, True), pair(0.5, False, True), pair(0.5, True, True), pair(0.9, True, True)]
    assert learn_band(pairs, share=0.5) is None
    assert learn_band(pairs, share=0.75) == Band(low=0.0, high=0.7)


def test_without_kept_or_deferred_verdicts_their_accuracy_is_undefined() -> None:
    figures = replay([pair(0.5, True, True)], Band(low=0.0, high=1.0))
    assert (figures.kept_cheap.value, figures.kept_cheap.method) == (None, "undefined: no items")
    assert figures.deferred_cheap.value == 1.0


def test_intervals_are_over_groups() -> None:
    grouped = [pair(item.probability, item.cheap, item.strong, f"g{i % 5}") for i, item in enumerate(TEN * 2)]
    figures = replay(grouped, Band(low=0.3, high=0.6))
    assert "5 groups" in figures.cheap.method
    assert "5 groups" in figures.cascade_less_cheap.method


@pytest.mark.parametrize(("low", "high"), [(0.6, 0.4), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_a_band_that_is_none_is_an_error(low: float, high: float) -> None:
    with pytest.raises(ConfigError, match="a band needs 0 ≤ low ≤ high ≤ 1"):
        Band(low=low, high=high)


scattered = st.lists(
    st.tuples(st.sampled_from([i / 12 for i in range(13)]), st.booleans(), st.booleans()), min_size=1, max_size=25
).map(lambda items: [pair(*item) for item in items])


@given(scattered, st.floats(0.05, 1))
def test_no_band_of_all_is_more_accurate_at_no_more_calls(pairs: list[ReplayedPair], share: float) -> None:
    cuts = [i / 12 - 1 / 24 for i in range(14)]
    rights = []
    for low in cuts:
        for high in cuts:
            sent = [item for item in pairs if low < (item.probability or 0) < high]
            if len(sent) <= share * len(pairs):
                rights.append(sum(item.strong if item in sent else bool(item.cheap) for item in pairs))
    band = learn_band(pairs, share=share)
    base = sum(bool(item.cheap) for item in pairs)
    if band is None:
        assert max(rights) == base
        return
    assert sum(item.cascade(band) for item in pairs) == max(rights) > base
    assert sum(item.escalated(band) for item in pairs) <= share * len(pairs) + 1e-9
