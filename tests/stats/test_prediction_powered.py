import random

import pytest

from bineval.stats.intervals import mean_interval
from bineval.stats.prediction_powered import Labeled, Unlabeled, prediction_powered_mean
from bineval.types import Estimate

WORKED: list[Labeled] = [("a", 1, 0), ("b", 2, 1), ("c", 3, 1), ("d", 4, 2)]
WORKED_OTHERS: list[Unlabeled] = [("e", 1), ("f", 2), ("g", 2), ("h", 3)]


def drawn(n: int, n_others: int, *, noise: float = 0.7, seed: int = 11) -> tuple[list[Labeled], list[Unlabeled]]:
    """Ratings from 1 to 5 and a judge that follows them, one example a group."""
    rng = random.Random(seed)

    def pair() -> tuple[float, float]:
        quality = 3 + rng.gauss(0, 1)
        human, judge = quality + rng.gauss(0, 0.5), quality + rng.gauss(0, noise)
        return float(min(max(round(human), 1), 5)), float(min(max(round(judge), 1), 5))

    labeled = [(i, *pair()) for i in range(n)]
    return labeled, [(n + i, pair()[1]) for i in range(n_others)]


def labels_alone(labeled: list[Labeled]) -> Estimate:
    return mean_interval((group, human) for group, human, _ in labeled)


def width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def test_four_labeled_and_four_unlabeled_worked_by_hand() -> None:
    # Means: human 2.5, judge 1 on the labeled and 2 on the others. Covariance 3/4; the judge on all eight has mean 1.5
    # and variance 6/7; lambda = .75 / ((1 + 4/4) · 6/7) = .4375; 2.5 + .4375 (2 - 1)
    estimate = prediction_powered_mean(WORKED, WORKED_OTHERS)
    assert (estimate.value, estimate.n) == (pytest.approx(2.9375), 8)
    assert (estimate.low, estimate.method) == (None, "no interval: fewer than 5 labeled groups")


def test_it_is_that_of_ppi_python() -> None:
    # ppi_mean_pointestimate of ppi-python 0.2.3 on these 30 and 120
    labeled, unlabeled = drawn(30, 120)
    estimate = prediction_powered_mean(labeled, unlabeled)
    assert estimate.value == pytest.approx(3.0395248251557954, abs=1e-12)
    method = "prediction-powered, lambda 0.53, BCa bootstrap over 30 labeled groups, 2000 resamples, 95 %"
    assert (estimate.n, estimate.method) == (150, method)


def test_the_interval_is_shorter_than_that_of_the_labels_alone_where_the_judge_follows_them() -> None:
    labeled, unlabeled = drawn(60, 600, noise=0.4)
    powered, alone = prediction_powered_mean(labeled, unlabeled), labels_alone(labeled)
    assert width(powered) < 0.75 * width(alone)
    assert powered.low is not None
    assert powered.high is not None
    assert powered.low < powered.value < powered.high  # type: ignore[operator]


def test_a_judge_that_knows_nothing_costs_next_to_nothing() -> None:
    labeled, unlabeled = drawn(60, 600)
    rng = random.Random(1)
    of_chance = [(group, human, float(rng.randint(1, 5))) for group, human, _ in labeled]
    others = [(group, float(rng.randint(1, 5))) for group, _ in unlabeled]
    assert width(prediction_powered_mean(of_chance, others)) < 1.05 * width(labels_alone(labeled))


@pytest.mark.parametrize("kind", ["constant", "reversed"])
def test_a_judge_that_cannot_help_leaves_the_labels_alone(kind: str) -> None:
    labeled, unlabeled = drawn(20, 40)

    def spoiled(judge: float) -> float:
        return 3.0 if kind == "constant" else -judge

    estimate = prediction_powered_mean(
        [(group, human, spoiled(judge)) for group, human, judge in labeled],
        [(group, spoiled(judge)) for group, judge in unlabeled],
    )
    assert estimate.value == pytest.approx(labels_alone(labeled).value)
    assert estimate.method.startswith("prediction-powered, lambda 0.00, ")


def test_lambda_stops_at_one() -> None:
    # The judge says a fifth of what people say, so that 5 would be best.
    labeled = [(i, float(i % 5), i % 5 / 5) for i in range(20)]
    unlabeled = [(100 + i, i % 3 / 5) for i in range(400)]
    mean_judge = sum(judge for _, judge in unlabeled) / 400
    estimate = prediction_powered_mean(labeled, unlabeled)
    assert estimate.value == pytest.approx(2.0 + mean_judge - 0.4)
    assert "lambda 1.00" in estimate.method


def test_without_unlabeled_examples_it_is_the_mean_of_the_labels() -> None:
    labeled, _ = drawn(20, 0)
    estimate, alone = prediction_powered_mean(labeled, []), labels_alone(labeled)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_the_interval_leans_as_the_influence_of_skewed_ratings_does() -> None:
    # One rating in twelve is far above the others. The acceleration of the jackknife moves both ends up, by more than
    # half of what the percentiles of the resamples alone would leave above the value.
    labeled: list[Labeled] = [(i, 9.0 if i % 12 == 0 else 1.0 + i % 3 / 10, 0.0) for i in range(48)]
    estimate = prediction_powered_mean(labeled, [])
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.value) / (estimate.value - estimate.low) > 1.4
    assert (estimate.low, estimate.high) == pytest.approx(
        (labels_alone(labeled).low, labels_alone(labeled).high), rel=0.005
    )


def test_labeled_and_unlabeled_groups_are_drawn_apart() -> None:
    # As many of both, with the same values in the same order: drawn alike, the difference of the judge's means would be
    # 0 in every resample, and the judge would seem to know nothing of itself.
    labeled, unlabeled = drawn(60, 60, noise=0.1)
    same = [(60 + group, judge) for group, _, judge in labeled]
    alike, apart = prediction_powered_mean(labeled, same), prediction_powered_mean(labeled, unlabeled)
    assert width(alike) == pytest.approx(width(apart), rel=0.25)
    assert width(alike) < 0.9 * width(labels_alone(labeled))


def test_copies_within_a_group_know_no_more() -> None:
    labeled, unlabeled = drawn(20, 80)
    once = prediction_powered_mean(labeled, unlabeled)
    twice = prediction_powered_mean(labeled * 2, unlabeled * 2)
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))
    assert twice.n == 2 * once.n


def test_a_group_may_hold_labeled_and_unlabeled_examples() -> None:
    labeled, unlabeled = drawn(20, 60)
    # Each unlabeled one is of a labeled group.
    estimate = prediction_powered_mean(labeled, [(group % 20, judge) for group, judge in unlabeled])
    assert "over 20 labeled groups" in estimate.method
    assert estimate.n == 80


def test_more_groups_than_are_drawn_singly_have_the_interval_of_the_normal_theory() -> None:
    labeled, unlabeled = drawn(40, 5000, noise=0.4)
    estimate = prediction_powered_mean(labeled, unlabeled)
    slope_left = [human - 0.9 * judge for _, human, judge in labeled]
    mean = sum(slope_left) / 40
    error = (sum((one - mean) ** 2 for one in slope_left) / 39 / 40) ** 0.5
    assert width(estimate) == pytest.approx(2 * 2.02 * error, rel=0.25)


@pytest.mark.parametrize(
    ("labeled", "unlabeled", "value", "method"),
    [
        ([], WORKED_OTHERS, None, "undefined: no labeled examples"),
        ([], [], None, "undefined: no labeled examples"),
        (WORKED[:1], [], 1.0, "no interval: fewer than 5 labeled groups"),
        ([(i, float(i), 1.0) for i in range(6)], [("x", 1.0)], 2.5, "no interval: fewer than 5 unlabeled groups"),
        ([(i, 3.0, float(i)) for i in range(6)], [], 3.0, "no interval: all resamples are equal"),
    ],
)
def test_where_there_is_no_interval_the_method_says_why(
    labeled: list[Labeled], unlabeled: list[Unlabeled], value: float | None, method: str
) -> None:
    n = len(labeled) + len(unlabeled)
    expected = Estimate(value=value, low=None, high=None, n=n, method=method)
    assert prediction_powered_mean(labeled, unlabeled) == expected


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    labeled, unlabeled = drawn(20, 20)
    assert prediction_powered_mean(labeled, unlabeled, seed=4) == prediction_powered_mean(labeled, unlabeled, seed=4)
    assert prediction_powered_mean(labeled, unlabeled, seed=4) != prediction_powered_mean(labeled, unlabeled, seed=5)
