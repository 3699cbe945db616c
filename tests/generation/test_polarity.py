import pytest

from bineval.generation.polarity import asks_for_what_is_forbidden, double_negation, no_is_good


@pytest.mark.parametrize(
    "text",
    [
        "Does the output contain errors?",
        "Does the summary contain any spelling errors?",
        "Is there any unsupported claim in the summary?",
        "Are there contradictions between the sentences?",
        "Does the reply fail to greet the customer?",
        "Does the summary lack a conclusion?",
        "Is the date missing?",
        "Is any claim in the summary unsupported by the article?",
        "Does the summary hallucinate facts?",
        "Does anything in the reply contradict the policy?",
        "Does the essay exceed 300 words?",
        "Has the model invented a quotation?",
        "Does the reply use offensive language?",
    ],
)
def test_questions_whose_yes_is_bad_are_found(text: str) -> None:
    assert no_is_good(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Is the summary free of errors?",
        "Is the text written without errors?",
        "Does the summary avoid unsupported claims?",
        "Does the reply contain no errors?",
        "Does the summary not contradict the article?",
        "Does the summary contain nothing invented?",
        "Does the review mention the errors in the code?",
        "Does the reply say what is missing?",
        "Is every false claim in the prompt corrected?",
        "Does the function return an error when the file is missing?",
        "Does the message include the error code?",
        "Does the guide explain why builds fail?",
        "Does the reply acknowledge that the user made a mistake?",
        "Is the summary consistent with the article?",
        "Does the reply refrain from using offensive language?",
        "Does the story have a hero who fails?",
    ],
)
def test_questions_whose_yes_is_good_are_sound(text: str) -> None:
    assert no_is_good(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Does the summary not fail to name the winner?",
        "Is the date not missing?",
        "Does the reply avoid omitting the date?",
        "Is the answer never unclear?",
        "Doesn't the reply avoid jargon?",
        "Is the report not without a title?",
        "Does the summary not avoid the topic?",
    ],
)
def test_double_negations_are_found(text: str) -> None:
    assert double_negation(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Does the summary avoid claims that are not in the article?",
        "Is the summary free of unsupported claims?",
        "Is the summary no longer than 50 words?",
        "Does the reply contain no unnecessary words?",
        "Does the reply name not only the date but the place?",
        "Does the reply avoid jargon?",
    ],
)
def test_single_negations_are_sound(text: str) -> None:
    assert double_negation(text) is None


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        ("Do not quote anyone word for word.", "Does the text quote anyone word for word?"),
        ("Never promise a delivery date.", "Does the reply promise a delivery date?"),
        ("Leave out small talk.", "Does the text contain small talk?"),
        ("The poem has no title.", "Does the poem have a title?"),
    ],
)
def test_a_question_that_asks_for_what_its_requirement_forbids_is_found(requirement: str, text: str) -> None:
    assert asks_for_what_is_forbidden(text, requirement) is not None


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        ("Do not quote anyone word for word.", "Is the text free of words quoted from anyone?"),
        ("Leave out small talk.", "Does the text leave out small talk?"),
        ("Use no more than 150 words.", "Does the text use at most 150 words?"),
        ("Do not exceed 150 words.", "Does the text have 150 words or fewer?"),
        ("Never promise a delivery date.", "Does the reply leave the date of delivery open?"),
        ("The summary does not mention prices.", "Is the summary silent about prices?"),
        ("Name everyone present.", "Do the minutes name everyone present?"),
        ("No.", "Is it short?"),
    ],
)
def test_a_question_that_respects_its_requirement_is_sound(requirement: str, text: str) -> None:
    assert asks_for_what_is_forbidden(text, requirement) is None
