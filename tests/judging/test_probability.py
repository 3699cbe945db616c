import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.judging.probability import answer_mass, verdict_at
from bineval.types import Question, TokenLogprob

YES_NO = ("yes", "no")


def token(text: str, p: float, top: dict[str, float]) -> TokenLogprob:
    return TokenLogprob(
        token=text, logprob=math.log(p), top=tuple((name, math.log(mass)) for name, mass in top.items())
    )


def question(threshold: float | None = None) -> Question:
    return Question(id="q", text="Is it so?", dimension="d", threshold=threshold)


def test_spellings_are_summed() -> None:
    top = {"Yes": 0.3, " yes": 0.2, "YES": 0.1, '"No"': 0.15, "no.": 0.05, "Maybe": 0.1}
    mass = answer_mass([token("Yes", 0.3, top)], YES_NO)
    assert mass is not None
    # yes = .3 + .2 + .1 = .6, no = .15 + .05 = .2, outside = 1 - .8
    assert mass.masses == {"yes": pytest.approx(0.6), "no": pytest.approx(0.2)}
    assert mass.outside == pytest.approx(0.2)


@pytest.mark.parametrize("other", ["not", "know", "none", "yesterday", "incorrect", "No one", "y", "n", ""])
def test_words_that_hold_an_answer_are_no_answer(other: str) -> None:
    mass = answer_mass([token("Yes", 0.5, {"Yes": 0.5, other: 0.4})], YES_NO)
    assert mass is not None
    assert mass.masses == {"yes": pytest.approx(0.5), "no": 0.0}


def test_a_word_that_the_tokenizer_splits_is_known_by_its_beginning() -> None:
    mass = answer_mass([token("Sk", 0.5, {"Sk": 0.5, "▁Ye": 0.2, "S": 0.1, "Skill": 0.1})], ("yes", "no", "skip"))
    assert mass is not None
    assert mass.masses == {"yes": pytest.approx(0.2), "no": 0.0, "skip": pytest.approx(0.5)}


def test_blank_tokens_before_the_answer_are_passed_over() -> None:
    first = token("\n\n", 0.9, {"\n\n": 0.9, "No": 0.1})
    mass = answer_mass([first, token("Yes", 0.8, {"Yes": 0.8, "No": 0.2})], YES_NO)
    assert mass is not None
    assert (mass.token, mass.masses["yes"]) == ("Yes", pytest.approx(0.8))


def test_a_written_token_that_its_alternatives_leave_out_counts_once() -> None:
    left_out = answer_mass([token("Yes", 0.7, {"No": 0.2})], YES_NO)
    listed = answer_mass([token("Yes", 0.7, {"Yes": 0.7, "No": 0.2})], YES_NO)
    assert left_out == listed


def test_tokens_that_read_the_same_are_summed_and_one_that_is_listed_twice_is_not() -> None:
    # A vocabulary may hold one text as several tokens: yes = .4 + .3, and the second "No" is the first one again.
    top = (("Yes", math.log(0.4)), ("Yes", math.log(0.3)), ("No", math.log(0.2)), ("No", math.log(0.2)))
    mass = answer_mass([TokenLogprob(token="Yes", logprob=math.log(0.4), top=top)], YES_NO)
    assert mass is not None
    assert mass.masses == {"yes": pytest.approx(0.7), "no": pytest.approx(0.2)}


def test_nothing_said_has_no_masses() -> None:
    assert answer_mass([], YES_NO) is None
    assert answer_mass([token(" ", 1.0, {})], YES_NO) is None


@given(st.dictionaries(st.sampled_from(["Yes", "yes", " No", "no", "Skip", "The"]), st.floats(0.001, 1), min_size=1))
def test_masses_and_the_rest_add_up_to_one(weights: dict[str, float]) -> None:
    total = sum(weights.values())
    top = {name: weight / total for name, weight in weights.items()}
    first = next(iter(top))
    mass = answer_mass([token(first, top[first], top)], YES_NO)
    assert mass is not None
    assert sum(mass.masses.values()) + mass.outside == pytest.approx(1)


@pytest.mark.parametrize(
    ("probability", "threshold", "expected"),
    [
        (0.5, None, "no"),
        (0.51, None, "yes"),
        (0.49, None, "no"),
        (0.7, 0.8, "no"),
        (0.81, 0.8, "yes"),
        (0.8, 0.8, "no"),
    ],
)
def test_the_answer_is_yes_above_the_threshold_only(probability: float, threshold: float | None, expected: str) -> None:
    verdict = verdict_at(probability, question(threshold))
    assert (verdict.answer, verdict.probability, verdict.threshold) == (expected, probability, threshold or 0.5)
