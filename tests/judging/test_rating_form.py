import pytest

from bineval.judging.chat import ChatJudge
from bineval.judging.rating_form import RatingForm, number_in
from bineval.judging.rating_scale import RatingScale, rating_scale
from bineval.types import Example, Question, Scale
from support.asking import Replies

SCALE = RatingScale(low=1, high=5)
QUESTION = Question(id="flu", text="fluency", dimension="fluency", asks="rating")
EXAMPLE = Example(id="e", input="The mayor spoke.", output="The mayor sang.")
SAID = '{"explanation": "It reads well.", "score": %s}'


def rated(*replies: str) -> tuple[float | None, str | None, str | None, int]:
    judge = ChatJudge(Replies(*replies).model, form=RatingForm({"fluency": SCALE}))
    (verdict,) = judge.ask(EXAMPLE, [QUESTION])
    assert verdict.answer is None
    return verdict.rating, verdict.reason, verdict.explanation, verdict.usage.calls


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (None, (1, 5)),
        ((1, 3), (1, 3)),
        ((0, 10), (0, 10)),
        ((0, 1), (1, 5)),  # nothing lies between 0 and 1
        ((0.5, 4.5), (1, 5)),
        ((0, 1000), (1, 5)),
    ],
)
def test_a_dimension_is_rated_on_its_own_scale_of_whole_numbers_or_from_1_to_5(
    scale: Scale | None, expected: tuple[int, int]
) -> None:
    found = rating_scale(scale)
    assert (found.low, found.high) == expected


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        (SAID % 4, 0.75),  # (4 - 1) / (5 - 1)
        (SAID % '"4"', 0.75),
        (SAID % 3.5, 0.625),
        ("4", 0.75),
        ('Sure!\n```json\n{"Explanation": "fine", "Rating": 1}\n```', 0.0),
        ('{"result": {"score": 5}}', 1.0),
        ("<think>2 or 3?</think>" + SAID % 2, 0.25),
    ],
)
def test_a_score_is_read_and_mapped_to_the_unit_interval(reply: str, rating: float) -> None:
    found, reason, _, calls = rated(reply)
    assert (found, reason, calls) == (pytest.approx(rating), None, 1)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I would give it 4 out of 5.", 'no JSON object with a "score"'),
        (SAID % 7, "must be a number from 1 to 5, not '7'"),
        (SAID % "true", "must be a number from 1 to 5"),
        (SAID % "NaN", "must be a number from 1 to 5"),
        (f"{SAID % 2} {SAID % 3}", "scores that disagree"),
        ('{"score": 2, "Score": 3}', "must be a number from 1 to 5"),
        ('{"score": 2, "rating": 3}', "scores that disagree"),
        ("", "the reply is empty"),
    ],
)
def test_what_is_no_score_is_asked_again_once_and_then_unparsed(reply: str, problem: str) -> None:
    rating, reason, explanation, calls = rated(reply, reply)
    assert (rating, reason, calls) == (None, "unparsed", 2)
    assert problem in (explanation or "")
    assert rated(reply, SAID % 5)[:2] == (1.0, None)


def test_the_explanation_stands_before_the_score_in_what_is_asked_for() -> None:
    form = RatingForm({"fluency": SCALE})
    schema = form.schema([QUESTION])
    assert list(schema["properties"]) == ["explanation", "score"]  # type: ignore[call-overload, arg-type]
    assert form.values([QUESTION])["low"] == "1"


@pytest.mark.parametrize(("text", "number"), [(" 3.", 3), ("5", 5), ("6", None), ("3/5", None), ("three", None)])
def test_a_sample_is_a_number_of_the_scale_and_nothing_else(text: str, number: float | None) -> None:
    assert number_in(text, SCALE) == number
