import pytest

from bineval.generation.compound import not_one_thing


@pytest.mark.parametrize(
    "text",
    [
        "Is it short? Is it true?",
        "Is the summary short; does it name the place?",
        "Does the summary name the date as well as the place?",
        "Is the summary short and does it name the winner?",
        "Are the names right and are they spelled in full?",
        "Does the reply greet the customer and answer the question?",
        "Does the summary mention the vote and explain its outcome?",
        "Does the reply apologize but avoid blaming anyone?",
        "Is the summary clear and concise?",
        "Is the reply polite, and also short?",
        "Is the output valid and free of comments?",
        "Does the guide explain the steps clearly and completely?",
        "Is every claim true, or is it marked as opinion?",
    ],
)
def test_compound_questions_are_found(text: str) -> None:
    assert not_one_thing(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Are all names and dates spelled as in the article?",
        "Does the text describe the black and white photograph?",
        "Does every card have a question and answer?",
        "Is there a pros and cons section?",
        "Does the summary name the date and place of the meeting?",
        "Is the reply at most one or two sentences long?",
        "Does the summary do as well as possible without jargon?",
        "Is the tone formal and not casual?",
        'Does the reply end with "Shall we start; and is that fine?"',
        "Does the reply say whether the shop and the office are open?",
        "Is the story about Romeo and Juliet?",
        "Does the recipe list salt and pepper?",
        "Does the report give the title and name of every speaker?",
        "Is every input and output documented?",
    ],
)
def test_joined_nouns_and_quoted_words_are_sound(text: str) -> None:
    assert not_one_thing(text) is None


def test_the_message_names_the_joint() -> None:
    assert not_one_thing("Is it short and does it rhyme?") == (
        'asks more than one thing (a second question after "and"); split it'
    )
