from collections.abc import Callable
from dataclasses import replace

import pytest

from bineval.errors import ConfigError
from bineval.judging.calibrated import Calibrated, judge_hash
from bineval.judging.chat import ChatJudge
from bineval.judging.logprob import LogprobJudge, LogprobSettings
from bineval.stats.calibration import Calibration, FittedMap, IsotonicMap, PlattMap
from bineval.types import Example, Question
from support.asking import deciding
from support.probable import CHECKLIST, probable

TRUTH, KIND, CALM = CHECKLIST.questions
# On the way 0.2 -> 0.5, 0.8 -> 0.7, straight in between: 0.5 -> 0.6.
FITTED = FittedMap(map=IsotonicMap(x=(0.2, 0.8), y=(0.5, 0.7)), threshold=0.55, n_train=80)


def plain(p_yes: Callable[[float, str], float | None] = lambda chance, _: chance) -> LogprobJudge:
    return LogprobJudge(probable(p_yes))


def calibration(judge: LogprobJudge, **maps: FittedMap) -> Calibration:
    return Calibration(
        run="monday", judge=judge.name, judge_hash=judge_hash(judge.settings), seed=0, maps=maps or {"*": FITTED}
    )


def calibrated(judge: LogprobJudge, **more: float) -> Calibrated:
    return Calibrated(judge, calibration(judge), **more)


def output(chance: float) -> Example:
    return Example(id="e", output=f"chance {chance}")


def test_probabilities_are_mapped_and_the_raw_ones_are_kept() -> None:
    [verdict] = calibrated(plain()).ask(output(0.5), [TRUTH])
    assert verdict.probability == pytest.approx(0.6)
    assert verdict.raw_probability == pytest.approx(0.5)
    assert verdict.answer == "yes"


@pytest.mark.parametrize(("chance", "answer"), [(0.2, "no"), (0.34, "no"), (0.36, "yes"), (0.9, "yes")])
def test_the_answer_follows_the_threshold_of_the_calibration(chance: float, answer: str) -> None:
    # 0.55 is reached at 0.2 + 0.6 · (0.55 - 0.5) / 0.2 = 0.35
    [verdict] = calibrated(plain()).ask(output(chance), [TRUTH])
    assert verdict.answer == answer


@pytest.mark.parametrize(
    ("threshold", "of_checklist", "answer"),
    [
        (None, 0.5, "yes"),
        (0.5, 0.5, "yes"),  # the checklist's, filled in before asking
        (0.65, 0.65, "yes"),
        (0.65, 0.5, "no"),  # the question's own: 0.6 does not reach it
    ],
)
def test_the_threshold_of_the_calibration_gives_way_to_that_of_a_question_and_to_no_other(
    threshold: float | None, of_checklist: float, answer: str
) -> None:
    judge = calibrated(plain(), checklist_threshold=of_checklist)
    [verdict] = judge.ask(output(0.5), [replace(TRUTH, threshold=threshold)])
    assert verdict.answer == answer


def test_each_dimension_has_its_own_map() -> None:
    judge = plain()
    swapped = FittedMap(map=PlattMap(slope=0.0, intercept=0.0), threshold=0.4, n_train=80)
    both = Calibrated(judge, calibration(judge, truth=swapped, tone=FITTED))
    asked = [both.ask(output(0.8), [question])[0] for question in (TRUTH, CALM)]
    assert [verdict.probability for verdict in asked] == pytest.approx([0.5, 0.7])


def test_what_has_no_answer_stays_as_it_is() -> None:
    [verdict] = calibrated(plain(lambda chance, question: None)).ask(output(0.5), [TRUTH])
    assert (verdict.answer, verdict.reason) == (None, "unparsed")
    assert (verdict.probability, verdict.raw_probability) == (None, None)


def test_a_dimension_without_a_map_is_refused_before_anything_is_asked() -> None:
    judge = plain()
    only_truth = Calibrated(judge, calibration(judge, truth=FITTED))
    assert only_truth.batches([TRUTH]) == [[TRUTH]]
    with pytest.raises(ConfigError, match="question 'ton-1': the calibration has no map for the dimension 'tone'"):
        only_truth.batches([TRUTH, KIND])


def test_another_judge_is_refused_with_what_to_do() -> None:
    known = calibration(plain())
    other = LogprobJudge(probable(lambda chance, _: chance), settings=LogprobSettings(min_mass=0.4))
    with pytest.raises(ConfigError, match=r"fitted to scripted/probable in run monday.*make a run with this judge"):
        Calibrated(other, known)
    with pytest.raises(ConfigError, match="gives no probabilities to calibrate: use --kind logprob"):
        Calibrated(ChatJudge(deciding(lambda *_: "yes")), known)
    with pytest.raises(ConfigError, match="is calibrated already"):
        Calibrated(calibrated(plain()), known)


def test_all_else_is_that_of_the_judge_inside() -> None:
    judge = plain()
    outside = calibrated(judge)
    assert outside.settings == {**judge.settings, "calibration": outside.calibration.fingerprint()}
    assert judge_hash(outside.settings) == judge_hash(judge.settings)
    assert (outside.name, outside.max_concurrency, outside.gives_probability) == (judge.name, None, True)
    assert outside.parameters_changed() == judge.parameters_changed()
    questions: list[Question] = [TRUTH, KIND]
    assert outside.batches(questions) == judge.batches(questions)
    assert outside.first_requests(output(0.5), questions) == judge.first_requests(output(0.5), questions)
