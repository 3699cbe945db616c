import pytest
from scipy import stats

from support.answered import answered

NO_INTERVAL = "no interval: fewer than 5 groups"


def test_the_yes_rate_is_a_share_with_wilsons_interval() -> None:
    rate = answered({"c1": "yyyyyyyynn"}).questions()["c1"].yes_rate
    # Wilson: (0.8 + z²/20) / (1 + z²/10) ± …, z = 1.96.
    assert (rate.value, rate.n, rate.method) == (0.8, 10, "Wilson, 95 %")
    assert (rate.low, rate.high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))


def test_repeats_make_the_yes_rate_a_mean_over_examples() -> None:
    item = answered({"c1": ["yn", "yy", "nn", "y", "yyyn", "u"]}).questions()["c1"]
    assert item.yes_rate.value == pytest.approx((0.5 + 1 + 0 + 1 + 0.75) / 5)
    assert item.yes_rate.method.startswith("BCa bootstrap over 5 groups")
    assert (item.flips.value, item.flips.n) == (0.5, 4)  # of the four with two answers, "yn" and "yyyn"


def test_outputs_of_one_source_are_resampled_together() -> None:
    item = answered({"c1": "yn" * 10}, groups=[f"g{i // 2}" for i in range(20)]).questions()["c1"]
    # In every group one of two is yes.
    assert (item.yes_rate.value, item.yes_rate.method) == (0.5, "no interval: all groups are equal")


def test_what_does_not_apply_is_in_no_share_of_the_unanswered() -> None:
    item = answered({"c1": ["y", "n", "u", "-", "-"]}).questions()["c1"]
    assert (item.unanswered.value, item.unanswered.n) == (pytest.approx(1 / 3), 3)
    assert (item.not_applicable.value, item.not_applicable.n) == (0.4, 5)
    assert item.yes_rate.n == 2


def test_the_rest_is_the_mean_of_the_other_questions_of_its_dimension() -> None:
    columns = {"c1": "yynnyynn", "c2": "yynnnynn", "c3": "ynynynyn", "f1": "nnyynnyy"}
    items = answered(columns).questions()
    one, two, three = ([float(letter == "y") for letter in columns[key]] for key in ("c1", "c2", "c3"))
    rest = [(a + b) / 2 for a, b in zip(two, three, strict=True)]
    assert items["c1"].rest.value == pytest.approx(stats.pearsonr(one, rest).statistic)
    assert items["f1"].rest.value is None
    assert items["f1"].rest.method == "undefined: it is the only question of its dimension"


def test_people_are_compared_by_rank_over_all_examples() -> None:
    ratings = [5, 4, 2, 1, 3, 4, 2, 1]
    items = answered({"c1": "yynnyynn", "f1": "y" * 8}, human={"c": ratings}).questions()
    expected = stats.spearmanr([1, 1, 0, 0, 1, 1, 0, 0], ratings).statistic
    assert (items["c1"].human.value, items["c1"].human.n) == (pytest.approx(expected), 8)
    assert items["f1"].human.method == "undefined: no human ratings of its dimension"
    assert items["c1"].human_probability is None


def test_a_constant_question_has_no_correlations() -> None:
    item = answered({"c1": "yyyyyy", "c2": "ynynyn"}, human={"c": [1, 2, 3, 4, 5, 1]}).questions()["c1"]
    assert (item.rest.value, item.human.value) == (None, None)
    assert item.rest.method == item.human.method == "undefined: all values are equal"


def test_probabilities_are_looked_at_beside_the_answers() -> None:
    probabilities = [0.9, 0.8, 0.7, 0.6, 0.95, 0.85]
    items = answered({"c1": probabilities, "c2": probabilities[::-1]}, human={"c": [4, 3, 2, 1, 5, 4]}).questions()
    assert items["c1"].rest.method == "undefined: all values are equal"
    assert items["c1"].rest_probability is not None
    assert items["c1"].rest_probability.value == pytest.approx(
        stats.pearsonr(probabilities, probabilities[::-1]).statistic
    )
    assert items["c1"].human_probability is not None
    assert items["c1"].human_probability.value == pytest.approx(
        stats.spearmanr(probabilities, [4, 3, 2, 1, 5, 4]).statistic
    )
    assert items["c1"].probability is not None
    assert items["c1"].probability.value == pytest.approx(0.8)


def test_a_failure_is_caught_alone_when_no_other_question_of_the_dimension_says_no() -> None:
    items = answered({"c1": "nnyyu", "c2": "nyyny", "c3": "yyyyy", "f1": "nnnnn"}).questions()
    assert (items["c1"].n_failed, items["c1"].alone) == (2, ("e1",))
    assert (items["c2"].n_failed, items["c2"].alone) == (2, ("e3",))
    assert items["c1"].alone_share.value == 0.5
    assert (items["c3"].n_failed, items["c3"].alone_share.method) == (0, "undefined: no failures")


def test_a_failure_is_open_where_another_question_is_unanswered() -> None:
    # c1 says no five times: c2 answers yes, no, nothing, does not apply, and was not asked.
    run = answered({"c1": "nnnnn", "c2": ["y", "n", "u", "-", ""], "f1": "yuuuu"})
    item = run.questions()["c1"]
    assert (item.n_failed, item.alone, item.n_open) == (5, ("e0", "e3"), 2)
    # Of three that are not open c2 catches one.
    assert (item.alone_share.value, item.alone_share.n) == (pytest.approx(2 / 3), 3)
    unknown = answered({"c1": "nn", "c2": "uu"}).questions()["c1"]
    assert (unknown.alone, unknown.n_open) == ((), 2)
    assert unknown.alone_share.method == "undefined: no failures of which all others are answered"
    # A third question that says no decides it.
    assert answered({"c1": "n", "c2": "u", "c3": "n"}).questions()["c1"].n_open == 0


def test_labels_say_how_much_harsher_than_people_a_question_is() -> None:
    run = answered({"c1": ["y", "yn", "n", "n", "n", "u"]})
    labels = {(f"e{i}", "c1", None): answer for i, answer in enumerate([True, True, True, False, True, True])}
    bias = run.questions(labels)["c1"].human_bias
    # 0, -½, -1, 0, -1; the unanswered one is left out.
    assert (bias.value, bias.n) == (pytest.approx(-0.5), 5)
    assert run.questions()["c1"].human_bias.method == "undefined: no human answers to it"


def test_a_question_that_nobody_asked_yet_has_nothing() -> None:
    run = answered({"c1": ["y", "n"], "c2": ["", ""]})
    item = run.questions()["c2"]
    assert (item.facts.n_yes, item.yes_rate.method, item.unanswered.method) == (
        0,
        "undefined: no answers",
        "undefined: no verdict that applies",
    )
    assert (item.n_failed, item.alone) == (0, ())


def test_few_groups_give_no_interval() -> None:
    item = answered({"c1": "yyn", "c2": "yny"}, human={"c": [1, 2, 3]}).questions()["c1"]
    assert item.rest.method == item.human.method == NO_INTERVAL
