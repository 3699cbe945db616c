import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ConfigError, ModelRequestError
from bineval.judging.chat import ChatJudge
from bineval.judging.contrast import Contrasted, log_odds
from bineval.judging.logprob import LogprobJudge
from bineval.models.scripted import Scripted
from bineval.types import Example, Reply, Request
from support.asking import CON_1, CON_2, FLU_1
from support.weighing import weighing, word

EXAMPLE = Example(id="e", input="The mayor spoke.", output="The mayor sang.", reference="He spoke.")


def judge(p_given: float, p_withheld: float) -> Contrasted:
    def reply(request: Request) -> Reply:
        p = p_given if "BEGIN INPUT" in request.messages[1].content else p_withheld
        return word({"Yes": p, "No": 1 - p})

    return Contrasted(LogprobJudge(Scripted.from_function(reply)))


def test_the_source_must_raise_the_odds() -> None:
    # Odds with the source .6/.4 = 1.5, without it .9/.1 = 9: the source makes them 1.5/9 = 1/6 as large, so P is 1/7.
    (verdict,) = judge(0.6, 0.9).ask(EXAMPLE, [CON_1])
    assert (verdict.answer, verdict.probability) == ("no", pytest.approx(1 / 7))
    assert [item.probability for item in verdict.under] == [pytest.approx(0.6), pytest.approx(0.9)]
    assert verdict.usage.calls == 2
    (raised,) = judge(0.6, 0.5).ask(EXAMPLE, [CON_1])
    assert (raised.answer, raised.probability) == ("yes", pytest.approx(0.6))


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_it_is_the_difference_of_the_log_odds(given_p: float, withheld_p: float) -> None:
    (verdict,) = judge(given_p, withheld_p).ask(EXAMPLE, [CON_1])
    assert verdict.probability is not None
    expected = log_odds(given_p) - log_odds(withheld_p)
    assert math.log(verdict.probability / (1 - verdict.probability)) == pytest.approx(expected, abs=1e-6)


def test_certainty_is_kept_finite() -> None:
    (verdict,) = judge(1.0, 0.5).ask(EXAMPLE, [CON_1])
    assert verdict.probability is not None
    assert 0.999 < verdict.probability < 1


def test_an_example_without_a_source_keeps_its_verdicts() -> None:
    (verdict,) = judge(0.6, 0.9).ask(Example(id="e", output="The mayor sang."), [CON_1])
    assert (verdict.probability, verdict.under) == (pytest.approx(0.9), ())


def test_without_an_answer_to_one_of_the_two_there_is_none() -> None:
    def reply(request: Request) -> Reply:
        if "BEGIN INPUT" not in request.messages[1].content:
            raise ModelRequestError("no", model="m")
        return word({"Yes": 0.9, "No": 0.1})

    (verdict,) = Contrasted(LogprobJudge(Scripted.from_function(reply))).ask(EXAMPLE, [CON_1])
    assert (verdict.answer, verdict.reason, verdict.probability) == (None, "error", None)
    assert "with the source withheld" in (verdict.explanation or "")


def test_whether_a_question_applies_is_asked_with_the_source_alone() -> None:
    def reply(request: Request) -> Reply:
        # A model that finds nothing to go by without the source skips whatever it may.
        if "BEGIN INPUT" in request.messages[1].content:
            return word({"Yes": 0.6, "No": 0.4})
        return word(
            {"Skip": 0.8, "No": 0.2} if "reply Skip" in request.messages[1].content else {"Yes": 0.5, "No": 0.5}
        )

    contrasted = Contrasted(LogprobJudge(Scripted.from_function(reply)))
    (verdict,) = contrasted.ask(EXAMPLE, [CON_2])
    assert (verdict.answer, verdict.reason, verdict.probability) == ("yes", None, pytest.approx(0.6))
    asked = [request for _, request in contrasted.first_requests(EXAMPLE, [CON_2])]
    assert ["reply Skip" in request.messages[1].content for request in asked] == [True, False]


def test_a_question_that_does_not_apply_is_no_failure() -> None:
    skipping = Contrasted(LogprobJudge(Scripted.from_function(lambda _: word({"Skip": 0.8, "Yes": 0.1, "No": 0.1}))))
    (verdict,) = skipping.ask(EXAMPLE, [CON_2])
    assert (verdict.answer, verdict.reason) == (None, "not_applicable")


def test_both_readings_are_forecast() -> None:
    asked = judge(0.5, 0.5).first_requests(EXAMPLE, [CON_1, FLU_1])
    assert len(asked) == 4
    withheld = [request.messages[1].content for _, request in asked[2:]]
    assert all("The mayor spoke." not in text and "He spoke." in text for text in withheld)


def test_a_judge_without_probabilities_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs probabilities"):
        Contrasted(ChatJudge(weighing(lambda *_: 0.5)))
