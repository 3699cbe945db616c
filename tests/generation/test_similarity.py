import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.generation.similarity import NEAR_DUPLICATE, content_words, near_duplicates, similarity

SAME = [
    (
        "Are all names in the summary spelled as in the article?",
        "Does the summary spell every name the way the article does?",
    ),
    ("Is every claim supported by the article?", "Is every claim in the summary supported by the source document?"),
    ("Does the reply avoid technical jargon?", "Is the reply free of technical jargon?"),
    ("Is the summary at most 50 words long?", "Is the summary no longer than 50 words?"),
    ("Does the summary contain no spelling errors?", "Is the summary free of spelling mistakes?"),
    ("Does the answer stay polite?", "Is the answer polite?"),
    ("Does the response include a greeting?", "Does the response contain a greeting?"),
    ("Are all dates correct?", "Is every date accurate?"),
    ("Does the summary mention the main event?", "Is the main event mentioned in the summary?"),
    ("Does the email end with a signature?", "Does the email finish with a signature?"),
    ("Is the text grammatically correct?", "Is the text free of grammatical errors?"),
    ("Does the output follow the JSON format?", "Is the output in JSON format?"),
    ("Is the summary in a neutral tone?", "Is the tone of the summary neutral?"),
    ("Are there exactly three bullet points?", "Does the output have 3 bullet points?"),
    ("Doesn’t the reply use slang?", "Does the reply avoid slang?"),
]

DIFFERENT = [
    ("Are all names correct?", "Are all dates correct?"),
    (
        "Does the summary mention the date of the meeting in the first sentence?",
        "Does the summary mention the place of the meeting in the first sentence?",
    ),
    ("Is the summary at most 50 words long?", "Is the summary at least 50 words long?"),
    ("Does the first sentence name the winner?", "Does the last sentence name the winner?"),
    ("Is the summary concise?", "Is the summary concise and free of repetition?"),
    ("Are all dates correct?", "Are all dates and names correct?"),
    ("Does the reply greet the customer by name?", "Does the reply address the customer's complaint?"),
    ("Is each claim supported by the source?", "Is each number supported by the source?"),
    ("Is the summary written in English?", "Is the summary written in the third person?"),
    ("Does the story have a beginning?", "Does the story have an ending?"),
    ("Does the reply mention the refund?", "Does the reply avoid mentioning the refund?"),
    ("Is the recipe for four people?", "Is the recipe for two people?"),
    ("Does it have exactly one title?", "Does it have exactly two titles?"),
    ("Is every ingredient listed with its amount?", "Is every ingredient listed?"),
    ("Does the report say who won?", "Does the report say when it was won?"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_questions_that_say_the_same_reach_the_threshold(a: str, b: str) -> None:
    assert similarity(a, b) >= NEAR_DUPLICATE


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_questions_of_one_pattern_about_different_things_stay_below_it(a: str, b: str) -> None:
    assert similarity(a, b) < NEAR_DUPLICATE


def test_the_score_is_the_share_of_common_words_halved_by_a_contrast() -> None:
    # {name, correct} and {date, correct}: 1 of 3 words is common, and each has a word of its own.
    assert similarity("Are all names correct?", "Are all dates correct?") == pytest.approx(1 / 3 * 0.5)
    # {date, correct} and {date, name, correct}: 2 of 3, and only the second has a word of its own.
    assert similarity("Are all dates correct?", "Are all dates and names correct?") == pytest.approx(2 / 3)


def test_texts_without_content_words_are_compared_as_they_are() -> None:
    assert similarity("Is it?", "is it") == 1
    assert similarity("Is it?", "Are they?") == 0
    assert similarity("", "") == 1
    assert similarity("", "Is it red?") == 0


def test_words_of_other_scripts_count_when_equal() -> None:
    assert similarity("概要は短いですか\uff1f", "概要は短いですか?") == 1


def test_near_duplicates_names_each_pair_once_in_order() -> None:
    texts = ["Are all dates correct?", "Are all names correct?", "Is every date accurate?", "Are the dates right?"]
    assert [(i, j) for i, j, _ in near_duplicates(texts)] == [(0, 2), (0, 3), (2, 3)]


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_symmetric_within_bounds_and_one_for_equal_texts(a: str, b: str) -> None:
    assert 0 <= similarity(a, b) <= 1
    assert similarity(a, b) == similarity(b, a)
    assert similarity(a, a) == 1
    assert content_words(a) == content_words(a.upper()) or not a.isascii()
