import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import UnknownNameError
from bineval.scoring import (
    UnitVerdicts,
    deciding_units,
    does_not_apply,
    from_scale,
    question_value,
    score_example,
    score_rows,
    soft_value,
    to_scale,
    unit_value,
)
from bineval.types import Checklist, Dimension, OverSentences, Question, Reason, Scale, Score, Verdict, VerdictRow

YES, NO = Verdict(answer="yes"), Verdict(answer="no")


def without(reason: Reason) -> Verdict:
    return Verdict(answer=None, reason=reason)


NA = without("not_applicable")
SHORT = {"y": YES, "n": NO, "-": NA, "u": without("unparsed"), "r": without("refused"), "e": without("error")}


def whole(*verdicts: Verdict) -> UnitVerdicts:
    """Repeats of a question about the whole output."""
    return {None: verdicts}


def checklist(*weights: float, scale: Scale | None = (1, 5), overall: Scale | None = None) -> Checklist:
    questions = tuple(Question(id=f"q{i}", text="?", dimension="d", weight=w) for i, w in enumerate(weights))
    return Checklist(name="c", questions=questions, dimensions={"d": Dimension(scale=scale)}, scale=overall)


def score(answers: list[str], *weights: float, scale: Scale | None = (1, 5)) -> Score:
    """Score of one dimension; `answers` has a word for each question, a letter a repeat."""
    questions = checklist(*(weights or [1.0] * len(answers)), scale=scale)
    verdicts = {f"q{i}": whole(*(SHORT[letter] for letter in word)) for i, word in enumerate(answers) if word}
    return score_example(questions, verdicts)["d"]


# Worked by hand


def test_the_paper_s_seven_of_eight_is_four_and_a_half() -> None:
    # 7/8 = 0.875; 0.875 * (5 - 1) + 1 = 3.5 + 1 = 4.5
    assert score(list("yyyyyyyn")) == Score(value=0.875, scaled=4.5, n_answered=8, n_asked=8)


def test_the_paper_s_three_of_seven_is_two_point_seven_one() -> None:
    result = score(list("yyynnnn"))
    # 3/7 = 0.428571...; 0.428571 * 4 + 1 = 2.714285...
    assert result.value == pytest.approx(3 / 7)
    assert f"{result.scaled:.2f}" == "2.71"


def test_weights_are_shares_of_the_answered_questions() -> None:
    # (3 * 1 + 1 * 0 + 2 * 1) / (3 + 1 + 2) = 5/6
    assert score(["y", "n", "y"], 3, 1, 2).value == pytest.approx(5 / 6)
    # The question of weight 3 has no answer: (1 * 0 + 2 * 1) / (1 + 2) = 2/3
    assert score(["u", "n", "y"], 3, 1, 2).value == pytest.approx(2 / 3)


def test_a_question_s_value_is_the_mean_of_its_answered_repeats() -> None:
    # (2/3 + 0) / 2 = 1/3; the repeat without an answer counts nowhere: (1/2 + 0) / 2 = 1/4
    assert score(["yny", "n"]).value == pytest.approx(1 / 3)
    assert score(["yn", "n"]).value == score(["yun", "n"]).value == 0.25
    assert unit_value([YES, NO, NA, without("error")]) == 0.5
    assert unit_value([without("error")]) is None
    assert unit_value([]) is None


def test_what_does_not_apply_is_neither_answered_nor_asked() -> None:
    assert score(["y", "-", "n", "u"]) == Score(value=0.5, scaled=3.0, n_answered=2, n_asked=3)


def test_a_question_applies_when_one_of_its_repeats_says_so() -> None:
    assert score(["-y", "--"]) == Score(value=1.0, scaled=5.0, n_answered=1, n_asked=1)
    assert score(["-u"]) == Score(value=None, n_answered=0, n_asked=1)
    assert not does_not_apply([])
    assert does_not_apply([NA, NA])
    assert not does_not_apply([NA, without("unparsed")])


@pytest.mark.parametrize("answers", [["u", "r"], ["e"], ["", ""], ["-"], ["-", "u"]])
def test_nothing_answered_is_none_and_never_0(answers: list[str]) -> None:
    result = score(answers)
    assert (result.value, result.scaled, result.n_answered) == (None, None, 0)


@pytest.mark.parametrize("reason", ["u", "r", "e"])
def test_a_failed_call_is_neither_a_no_nor_a_yes(reason: str) -> None:
    # One yes of three asked is not 1/3; what is missing is seen in the counts.
    assert score(["y", reason, reason]) == Score(value=1.0, scaled=5.0, n_answered=1, n_asked=3)


def test_a_question_without_a_verdict_yet_is_asked_and_not_answered() -> None:
    assert score(["y", ""]) == Score(value=1.0, scaled=5.0, n_answered=1, n_asked=2)


def test_overall_is_the_mean_of_all_questions_and_not_of_the_dimensions() -> None:
    questions = (
        *(Question(id=f"a{i}", text="?", dimension="a") for i in range(3)),
        Question(id="b0", text="?", dimension="b", weight=2),
    )
    dimensions = {"a": Dimension(scale=(1, 5)), "b": Dimension(), "empty": Dimension(scale=(1, 5))}
    verdicts = {"a0": whole(YES), "a1": whole(YES), "a2": whole(YES), "b0": whole(NO)}
    scores = score_example(Checklist(name="c", questions=questions, dimensions=dimensions, scale=(0, 10)), verdicts)
    assert list(scores) == ["a", "b", "empty", "overall"]
    assert scores["a"] == Score(value=1.0, scaled=5.0, n_answered=3, n_asked=3)
    assert scores["b"] == Score(value=0.0, scaled=None, n_answered=1, n_asked=1)
    assert scores["empty"] == Score(value=None, scaled=None, n_answered=0, n_asked=0)
    # (1 + 1 + 1 + 2 * 0) / (1 + 1 + 1 + 2) = 0.6; 0.6 * 10 = 6. The mean of the dimensions would be 0.5.
    assert scores["overall"] == Score(value=0.6, scaled=6.0, n_answered=4, n_asked=4)
    without_scale = Checklist(name="c", questions=questions, dimensions=dimensions)
    assert score_example(without_scale, verdicts)["overall"].scaled is None


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (0.0, (1, 5), 1.0),
        (1.0, (1, 5), 5.0),
        (0.5, (-1, 1), 0.0),
        (0.25, (0, 100), 25.0),
        (None, (1, 5), None),
        (0.5, None, None),
    ],
)
def test_a_scale_maps_0_to_its_beginning_and_1_to_its_end(
    value: float | None, scale: Scale | None, expected: float | None
) -> None:
    assert to_scale(value, scale) == expected


def test_a_verdict_of_a_question_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="unknown question 'q9'; known: q0, q1"):
        score_example(checklist(1, 1), {"q9": whole(YES)})


def test_rows_are_scored_in_any_order() -> None:
    rows = [
        VerdictRow(example_id="a", question_id=f"q{i}", dimension="d", repeat=repeat, verdict=verdict)
        for i, word in enumerate(["yn", "n"])
        for repeat, verdict in enumerate(SHORT[letter] for letter in word)
    ]
    assert score_rows(checklist(1, 1), rows) == score_rows(checklist(1, 1), reversed(rows))
    assert score_rows(checklist(1, 1), rows)["d"].value == 0.25
    assert score_rows(checklist(1, 1), [])["d"] == Score(value=None, n_answered=0, n_asked=2)


# Sentences

MIN = Question(id="min", text="?", dimension="d", per="sentence")
MEAN = Question(id="mean", text="?", dimension="d", per="sentence", over_sentences="mean")


def sentences(*words: str) -> UnitVerdicts:
    """A word for each sentence, a letter a repeat."""
    return {unit: [SHORT[letter] for letter in word] for unit, word in enumerate(words)}


@pytest.mark.parametrize(
    ("words", "lowest", "mean"),
    [
        (["y", "y", "y"], 1.0, 1.0),
        (["y", "n", "y", "y"], 0.0, 0.75),
        # Repeats first: (1 + 0)/2 = 1/2; then the least of 1 and 1/2, or (1 + 1/2)/2.
        (["yy", "yn"], 0.5, 0.75),
        # The unanswered repeat is left out: 1 and 0.
        (["yu", "nu"], 0.0, 0.5),
        # One "no" decides the minimum, whatever the rest would be.
        (["n", "u", "e"], 0.0, 0.0),
        # Without one, an unanswered sentence might be the lowest.
        (["y", "u"], None, 1.0),
        (["yn", "u"], None, 0.5),
        (["y", ""], None, 1.0),
        # Sentences that it does not apply to are left out.
        (["y", "-", "--"], 1.0, 1.0),
        (["y", "-u"], None, 1.0),
        (["u", "e"], None, None),
        (["-", "-"], None, None),
        ([], None, None),
    ],
)
def test_a_question_per_sentence_has_the_least_or_the_mean_of_its_sentences(
    words: list[str], lowest: float | None, mean: float | None
) -> None:
    assert question_value(MIN, sentences(*words)) == lowest
    assert question_value(MEAN, sentences(*words)) == mean


def per_sentence(*questions: Question) -> Checklist:
    return Checklist(name="c", questions=questions, dimensions={"d": Dimension(scale=(1, 5))})


def test_counts_are_of_questions_and_not_of_sentences() -> None:
    other = Question(id="w", text="?", dimension="d", weight=3)
    verdicts = {"min": sentences("y", "n", "y"), "w": whole(YES)}
    # (1 * 0 + 3 * 1) / 4 = 0.75; 0.75 * 4 + 1 = 4
    assert score_example(per_sentence(MIN, other), verdicts)["d"] == Score(
        value=0.75, scaled=4.0, n_answered=2, n_asked=2
    )
    assert score_example(per_sentence(MIN), {"min": sentences("-", "--")})["d"] == Score(
        value=None, n_answered=0, n_asked=0
    )
    assert score_example(per_sentence(MIN), {"min": sentences("-", "")})["d"].n_asked == 1


def unit_rows(question: Question, words: dict[int, str]) -> list[VerdictRow]:
    return [
        VerdictRow(example_id="a", question_id=question.id, dimension="d", unit=unit, repeat=i, verdict=SHORT[letter])
        for unit, word in words.items()
        for i, letter in enumerate(word)
    ]


def test_rows_are_gathered_by_sentence() -> None:
    rows = unit_rows(MIN, {0: "yy", 1: "ny"})
    assert score_rows(per_sentence(MIN), rows)["d"].value == 0.5
    assert score_rows(per_sentence(MIN), reversed(rows))["d"].value == 0.5


def test_a_sentence_that_another_question_has_answered_is_unanswered_where_it_is_missing() -> None:
    rows = unit_rows(MIN, {0: "y"}) + unit_rows(MEAN, {0: "y", 1: "y", 2: "n"})
    scores = score_rows(per_sentence(MIN, MEAN), rows)["d"]
    # The minimum might be in sentence 2 or 3: not known. The mean is 2/3.
    assert (scores.value, scores.n_answered, scores.n_asked) == (pytest.approx(2 / 3), 1, 2)
    assert score_rows(per_sentence(MIN), unit_rows(MIN, {0: "y", 2: "y"}))["d"].value is None
    assert score_rows(per_sentence(MIN, MEAN), rows[1:])["d"].n_asked == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["y", "n", "y", "n"], {1, 3}),
        (["yy", "yn", "nn"], {2}),
        (["yy", "yn", "yn"], {1, 2}),
        (["n", "u"], {0}),
        (["y", "y"], set()),
        (["y", "u"], set()),
        (["-"], set()),
    ],
)
def test_the_sentences_that_decide_are_those_of_the_lowest_value_below_1(
    words: list[str], expected: set[int | None]
) -> None:
    assert deciding_units(MIN, sentences(*words)) == expected
    assert deciding_units(MEAN, sentences(*words)) == set()
    assert deciding_units(Question(id="w", text="?", dimension="d"), whole(NO)) == set()


# Soft scores


def p(probability: float) -> Verdict:
    return Verdict(answer="yes" if probability > 0.5 else "no", probability=probability)


def test_a_soft_score_is_the_mean_of_probabilities_beside_the_hard_one() -> None:
    verdicts = {"q0": whole(p(0.9)), "q1": whole(p(0.2), p(0.6))}
    # q0: 0.9, q1: (0.2 + 0.6)/2 = 0.4. Soft (1 * 0.9 + 3 * 0.4)/4 = 0.525; hard (1 * 1 + 3 * 1/2)/4 = 0.625
    result = score_example(checklist(1, 3), verdicts)["d"]
    assert result == Score(value=0.625, soft=pytest.approx(0.525), scaled=pytest.approx(3.5), n_answered=2, n_asked=2)


def test_a_soft_score_never_mixes_in_hard_answers() -> None:
    assert soft_value(MIN, whole(p(0.9), YES)) is None
    for other in (whole(YES), whole(p(0.9), NO)):
        result = score_example(checklist(1, 1), {"q0": whole(p(0.9)), "q1": other})["d"]
        assert (result.soft, result.n_answered) == (None, 2)


def test_what_has_no_answer_takes_no_soft_score_away() -> None:
    verdicts = {"q0": whole(p(0.9), without("error")), "q1": whole(NA), "q2": whole(without("unparsed"))}
    result = score_example(checklist(1, 1, 1), verdicts)["d"]
    assert result == Score(value=1.0, soft=0.9, scaled=5.0, n_answered=1, n_asked=2)
    assert score_example(checklist(1), {"q0": whole(NA)})["d"].soft is None


@pytest.mark.parametrize(
    ("units", "over", "expected"),
    [
        ([[p(0.9)], [p(0.3), p(0.5)], [p(0.8)]], "min", 0.4),
        ([[p(0.9)], [p(0.3), p(0.5)], [p(0.8)]], "mean", 0.7),  # (0.9 + 0.4 + 0.8)/3
        ([[p(0.9)], [NA]], "min", 0.9),
        # A hard minimum of 0 is decided by one "no"; a probability is not, unless it is 0.
        ([[p(0.2)], [without("error")]], "min", None),
        ([[p(0.0)], [without("error")]], "min", 0.0),
        ([[p(0.2)], [without("error")]], "mean", 0.2),
        ([[p(0.2)], [NO]], "mean", None),
    ],
)
def test_the_soft_value_over_sentences_has_the_formula_of_the_hard_one(
    units: list[list[Verdict]], over: OverSentences, expected: float | None
) -> None:
    question = Question(id="q", text="?", dimension="d", per="sentence", over_sentences=over)
    result = soft_value(question, dict(enumerate(units)))
    assert result == (None if expected is None else pytest.approx(expected))


def test_a_no_that_decides_a_minimum_without_its_soft_value_leaves_the_soft_score_unknown() -> None:
    result = score_example(per_sentence(MIN), {"min": {0: [p(0.2)], 1: [without("error")]}})["d"]
    assert result == Score(value=0.0, soft=None, scaled=1.0, n_answered=1, n_asked=1)


# Properties

PROBABILITIES = st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=6)


@given(PROBABILITIES)
def test_a_minimum_is_never_above_the_mean_and_both_lie_within_what_they_are_made_of(units: list[list[float]]) -> None:
    verdicts = {i: [p(probability) for probability in unit] for i, unit in enumerate(units)}
    for value in (question_value, soft_value):
        low, mean = value(MIN, verdicts), value(MEAN, verdicts)
        assert low is not None
        assert mean is not None
        assert 0 <= low <= mean + 1e-12
        assert mean <= 1 + 1e-12


WORDS = st.lists(st.text("yn-ure", max_size=3), min_size=1, max_size=8)
WEIGHTS = st.floats(0.01, 100)


@given(st.data(), WORDS)
def test_scores_stay_within_their_bounds(data: st.DataObject, words: list[str]) -> None:
    weights = data.draw(st.lists(WEIGHTS, min_size=len(words), max_size=len(words)))
    result = score(words, *weights)
    assert 0 <= result.n_answered <= result.n_asked <= len(words)
    assert (result.value is None) == (result.n_answered == 0)
    if result.value is not None:
        assert -1e-12 <= result.value <= 1 + 1e-12
        assert 1 - 1e-9 <= (result.scaled or 0) <= 5 + 1e-9


@given(st.data(), WORDS)
def test_the_order_of_questions_and_repeats_changes_nothing(data: st.DataObject, words: list[str]) -> None:
    mixed = ["".join(data.draw(st.permutations(word))) for word in data.draw(st.permutations(words))]
    one, other = score(words), score(mixed)
    assert (one.n_answered, one.n_asked) == (other.n_answered, other.n_asked)
    assert one.value == pytest.approx(other.value)


@given(WORDS, st.floats(-100, 100), st.floats(0.1, 100))
def test_the_scaled_value_is_an_affine_map_of_the_value(words: list[str], low: float, width: float) -> None:
    plain, scaled = score(words, scale=(0, 1)), score(words, scale=(low, low + width))
    assert plain.scaled == plain.value == scaled.value
    if plain.value is not None:
        assert math.isclose(scaled.scaled or 0.0, low + plain.value * width, abs_tol=1e-9)


@given(WORDS, WEIGHTS, st.integers(0, 7))
def test_turning_a_no_into_a_yes_never_lowers_a_score(words: list[str], weight: float, at: int) -> None:
    at %= len(words)
    weights = [weight if i == at else 1.0 for i in range(len(words))]
    better = [word.replace("n", "y") if i == at else word for i, word in enumerate(words)]
    before, after = score(words, *weights).value, score(better, *weights).value
    assert (before is None) == (after is None)
    assert before is None or after is None or after >= before - 1e-12


def rated(rating: float) -> Verdict:
    return Verdict(answer=None, rating=rating)


def test_a_rating_is_the_mean_of_its_repeats_and_has_no_soft_value() -> None:
    sheet = Checklist(
        name="c",
        dimensions={"d": Dimension(scale=(1, 5)), "e": Dimension()},
        questions=tuple(Question(id=name, text="t", dimension=name, asks="rating") for name in "de"),
    )
    found = score_example(
        sheet, {"d": whole(rated(0.25), without("unparsed"), rated(1.0)), "e": whole(without("error"))}
    )
    # (.25 + 1) / 2 = .625; .625 · 4 + 1 = 3.5
    assert found["d"] == Score(value=0.625, soft=None, scaled=3.5, n_answered=1, n_asked=1)
    assert (found["e"].value, found["e"].n_answered, found["e"].n_asked) == (None, 0, 1)
    assert found["overall"].value == 0.625


def test_a_rating_in_a_unit_of_its_own_may_be_negative() -> None:
    sheet = Checklist(
        name="c",
        dimensions={"d": Dimension()},
        questions=(Question(id="d", text="t", dimension="d", asks="rating"),),
    )
    assert score_example(sheet, {"d": whole(rated(-3.5))})["d"].value == -3.5


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (4.0, (1, 5), 0.75),
        (4.0, (5, 1), 0.25),  # 1 is the best
        (0.5, None, 0.5),
        (5 + 1e-10, (1, 5), 1.0),
        (-1e-10, None, 0.0),
        (5.1, (1, 5), None),
        (0.9, (1, 5), None),
        (1.1, None, None),
    ],
)
def test_a_rating_is_mapped_from_its_scale_unless_it_lies_outside(
    value: float, scale: Scale | None, expected: float | None
) -> None:
    assert from_scale(value, scale) == expected
    if expected is not None and scale is not None:
        assert to_scale(expected, scale) == pytest.approx(value)
