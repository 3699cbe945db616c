from dataclasses import replace

import pytest

from bineval.errors import ConfigError, ModelAuthError, ModelBusyError, ModelRequestError
from bineval.judging.rating import RateSettings, SampledRatingJudge, WeightedRatingJudge
from bineval.judging.rating_scale import RatingScale
from bineval.types import Example, Question, Reply
from support.asking import Replies
from support.weighing import word

SCALES = {"fluency": RatingScale(low=1, high=5)}
QUESTION = Question(id="flu", text="fluency", dimension="fluency", asks="rating")
EXAMPLE = Example(id="e", input="The mayor spoke.", output="The mayor sang.")


def weighted(*replies: str | Reply | Exception, min_mass: float = 0.5) -> WeightedRatingJudge:
    return WeightedRatingJudge(
        Replies(*replies).model,  # type: ignore[arg-type]
        task=None,
        scales=SCALES,
        settings=RateSettings(min_mass=min_mass),
    )


def sampled(*replies: str | Reply | Exception, n: int = 4) -> SampledRatingJudge:
    return SampledRatingJudge(
        Replies(*replies).model,  # type: ignore[arg-type]
        task=None,
        scales=SCALES,
        settings=RateSettings(n_samples=n),
    )


def test_a_rating_is_the_mean_of_the_scale_weighted_by_renormalized_probabilities() -> None:
    (verdict,) = weighted(word({"4": 0.4, "5": 0.3, "2": 0.1, "The": 0.2})).ask(EXAMPLE, [QUESTION])
    # (4·.4 + 5·.3 + 2·.1) / .8 = 4.125; (4.125 - 1) / 4 = .78125
    assert verdict.rating == pytest.approx(0.78125)
    assert (verdict.answer, verdict.reason) == (None, None)
    assert verdict.outside_mass == pytest.approx(0.2)
    assert verdict.explanation == "probabilities: 1 0.000, 2 0.125, 3 0.000, 4 0.500, 5 0.375"
    assert verdict.usage.calls == 1


def test_numbers_below_the_floor_are_no_rating() -> None:
    reply = word({"The": 0.7, "4": 0.3})
    (verdict,) = weighted(reply).ask(EXAMPLE, [QUESTION])
    assert (verdict.rating, verdict.reason) == (None, "unparsed")
    (verdict,) = weighted(reply, min_mass=0.2).ask(EXAMPLE, [QUESTION])
    assert verdict.rating == pytest.approx(0.75)
    (verdict,) = weighted(word({"The": 1.0}), min_mass=0.0).ask(EXAMPLE, [QUESTION])
    assert (verdict.rating, verdict.reason) == (None, "unparsed")


def test_a_refusal_and_an_error_have_their_reasons_and_a_wrong_key_ends_the_run() -> None:
    refusal = Reply(text="", refusal="No.", finish_reason="refused")
    assert weighted(refusal).ask(EXAMPLE, [QUESTION])[0].reason == "refused"
    (verdict,) = weighted(ModelRequestError("too long", model="m")).ask(EXAMPLE, [QUESTION])
    assert (verdict.reason, verdict.rating) == ("error", None)
    with pytest.raises(ModelAuthError):
        weighted(ModelAuthError("wrong key", model="m")).ask(EXAMPLE, [QUESTION])
    with pytest.raises(ModelBusyError):
        sampled(ModelBusyError("down", model="m")).ask(EXAMPLE, [QUESTION])


def test_a_server_without_log_probabilities_is_told_to_sample() -> None:
    with pytest.raises(ConfigError, match=r"gave no log probabilities .* give --samples 20"):
        weighted("4").ask(EXAMPLE, [QUESTION])


def test_probabilities_are_read_of_scales_with_one_digit_only() -> None:
    with pytest.raises(ConfigError, match="dimension fluency: probabilities are read of one digit"):
        WeightedRatingJudge(Replies().model, task=None, scales={"fluency": RatingScale(low=0, high=10)})


def test_samples_are_averaged_and_unusable_ones_left_out_and_counted() -> None:
    (verdict,) = sampled("4", "about 3", "5", "4.").ask(EXAMPLE, [QUESTION])
    # (4 + 5 + 4) / 3 = 4.333…; (4.333… - 1) / 4 = .8333…
    assert verdict.rating == pytest.approx(10 / 12)
    assert verdict.explanation == "samples: 4 (2), 5 (1); 1 of 4 without a usable number are left out"
    assert verdict.usage.calls == 4


def test_without_any_usable_sample_there_is_no_rating() -> None:
    (verdict,) = sampled("good", "bad", n=2).ask(EXAMPLE, [QUESTION])
    assert (verdict.rating, verdict.reason) == (None, "unparsed")
    assert "'good' is no number of the scale" in (verdict.explanation or "")
    refusal = Reply(text="", refusal="No.", finish_reason="refused")
    (verdict,) = sampled(refusal, refusal, n=2).ask(EXAMPLE, [QUESTION])
    assert verdict.reason == "refused"


def test_every_sample_of_every_repeat_is_a_request_of_its_own() -> None:
    judge = sampled(n=3)
    judge.rate = replace(judge.rate, seed=10)
    requests = [request for repeat in (0, 1) for _, request in judge.first_requests(EXAMPLE, [QUESTION], repeat=repeat)]
    assert [request.repeat for request in requests] == [0, 1, 2, 3, 4, 5]
    assert [request.seed for request in requests] == [10, 11, 12, 13, 14, 15]
    assert {request.temperature for request in requests} == {1.0}


def test_one_reply_without_log_probabilities_among_others_is_unparsed_and_does_not_end_the_run() -> None:
    judge = weighted(word({"4": 1.0}), "4", word({"5": 1.0}))
    verdicts = [judge.ask(EXAMPLE, [QUESTION])[0] for _ in range(3)]
    assert [verdict.rating for verdict in verdicts] == [pytest.approx(0.75), None, pytest.approx(1.0)]
    assert verdicts[1].reason == "unparsed"
    assert "has no log probabilities" in (verdicts[1].explanation or "")


def test_samples_that_are_cut_off_or_fail_say_so_when_none_is_left() -> None:
    cut_off = Reply(text="The text reads as if it", finish_reason="length")
    (verdict,) = sampled(cut_off, n=1).ask(EXAMPLE, [QUESTION])
    assert (verdict.rating, verdict.reason) == (None, "truncated")
    assert "the cap of 8 tokens cut the reply off" in (verdict.explanation or "")
    assert "raise --max-reply-tokens" in (verdict.explanation or "")
    failed = ModelRequestError("too long", model="m")
    assert sampled(failed, n=1).ask(EXAMPLE, [QUESTION])[0].reason == "error"
    assert sampled(failed, "5", n=2).ask(EXAMPLE, [QUESTION])[0].rating == 1.0


def test_a_scale_of_more_than_one_digit_is_sampled() -> None:
    judge = SampledRatingJudge(
        Replies("10", "7").model,
        task=None,
        scales={"fluency": RatingScale(low=1, high=10)},
        settings=RateSettings(n_samples=2),
    )
    # (10 + 7) / 2 = 8.5; (8.5 - 1) / 9
    assert judge.ask(EXAMPLE, [QUESTION])[0].rating == pytest.approx(7.5 / 9)


@pytest.mark.parametrize(
    "wrong", [{"min_mass": 1.5}, {"min_mass": float("nan")}, {"n_samples": 0}, {"prompts": {"rate": "x.md"}}]
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        RateSettings(**wrong)  # type: ignore[arg-type]
