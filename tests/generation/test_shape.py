import pytest

from bineval.generation.shape import no_question_mark, not_yes_no, refers_to_other_question, too_long, vague


@pytest.mark.parametrize(
    "text", ["Is it short?", "Is it “short?”", "概要は短いですか\uff1f", "Is it short (in words)? "]
)
def test_a_question_mark_may_be_of_any_script_and_be_followed_by_a_quotation_mark(text: str) -> None:
    assert no_question_mark(text) is None


@pytest.mark.parametrize("text", ["The summary is short.", "Is it short", ""])
def test_a_text_without_a_question_mark_at_its_end_is_found(text: str) -> None:
    assert no_question_mark(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "What is the tone of the reply?",
        "How many sentences does the summary have?",
        "To what extent is the reply polite?",
        "Why does the story end there?",
        "Which names are wrong?",
        "Where is the meeting?",
        "Rate the fluency of the text?",
    ],
)
def test_questions_that_ask_for_more_than_yes_or_no_are_found(text: str) -> None:
    assert not_yes_no(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Does the answer say how many people came?",
        "Is it clear who speaks?",
        "When the customer is angry, does the reply apologize?",
        "If a date is given, is it the date of the article?",
        "In the first line, is the winner named?",
        "¿Es breve el resumen?",
    ],
)
def test_yes_no_questions_with_question_words_inside_are_sound(text: str) -> None:
    assert not_yes_no(text) is None


@pytest.mark.parametrize(("n_words", "found"), [(40, False), (41, True)])
def test_more_than_forty_words_are_too_long(n_words: int, found: bool) -> None:
    assert (too_long(" ".join(["word"] * n_words)) is not None) is found


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Is the summary good?", "good"),
        ("Is the tone of the reply appropriate?", "appropriate"),
        ("Is the output of high quality?", "high quality"),
        ("Is the answer very clear and helpful?", "clear"),
        ("Is this a good summary?", "good"),
        ("Is each term explained well?", "well"),
        ("Is the essay well-written?", "well-written"),
    ],
)
def test_a_criterion_that_is_only_a_vague_word_is_named(text: str, word: str) -> None:
    message = vague(text)
    assert message is not None
    assert word in message


@pytest.mark.parametrize(
    "text",
    [
        "Is the tone appropriate for a child of six?",
        "Are all dates correct?",
        "Does the reply wish the customer a good day?",
        "Is the story set in a good school?",
        "Is it clear who speaks?",
    ],
)
def test_a_vague_word_with_a_criterion_is_sound(text: str) -> None:
    assert vague(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Is the answer to question 2 also right?",
        "As in Q3, is the name right?",
        "Is the error in the previous question gone?",
    ],
)
def test_a_question_about_another_question_is_found(text: str) -> None:
    assert refers_to_other_question(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Does the reply answer the previous question of the user?",
        "Does the reply end with a question?",
        "Is Q in the text?",
    ],
)
def test_questions_that_the_judged_text_deals_with_are_sound(text: str) -> None:
    assert refers_to_other_question(text) is None
