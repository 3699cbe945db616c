"""A judge whose probabilities go through a calibration, and whose answers follow from the calibrated ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bineval.errors import ConfigError
from bineval.hashing import Json, tagged_hash
from bineval.judging.base import Judge, JudgeWrapper
from bineval.judging.probability import decided
from bineval.stats.calibration import Calibration, FittedMap
from bineval.types import USUAL_THRESHOLD, Example, Question, Verdict

_SETTING = "calibration"
_NOT_ITS_OWN = frozenset({_SETTING, "explain"})


def judge_hash(settings: Mapping[str, Json]) -> str:
    """Hash of what makes a judge's own probabilities: its settings without the calibration and the explanations."""
    return tagged_hash("judge/1", {name: value for name, value in settings.items() if name not in _NOT_ITS_OWN})


def calibrated_threshold(question: Question, fitted: FittedMap, checklist_threshold: float) -> float:
    """The calibrated probability above which the answer is yes.

    That of the calibration, unless the question has a threshold other than the checklist's: that one was set for it.
    """
    own = question.threshold
    return fitted.threshold if own is None or own == checklist_threshold else own


class Calibrated(JudgeWrapper):
    """Maps the probabilities of another judge; see `bineval.judging.base.Judge`.

    Args:
        judge: The judge, without a calibration.
        calibration: What was learned about this very judge.
        checklist_threshold: `Checklist.threshold`, which questions without a threshold of their own are asked with.

    Raises:
        ConfigError: The judge gives no probabilities, is calibrated already, or is another one than was calibrated.
    """

    def __init__(self, judge: Judge, calibration: Calibration, *, checklist_threshold: float = USUAL_THRESHOLD) -> None:
        if not judge.gives_probability:
            raise ConfigError(f"{judge.name} gives no probabilities to calibrate: use --kind logprob")
        if _SETTING in judge.settings:
            raise ConfigError(f"{judge.name} is calibrated already")
        if judge_hash(judge.settings) != calibration.judge_hash:
            raise ConfigError(
                f"the calibration is of another judge: it was fitted to {calibration.judge} in run {calibration.run}, "
                f"and {judge.name} differs from it in model, prompts or parameters; judge exactly as that run did, or "
                "make a run with this judge and calibrate that one"
            )
        super().__init__(judge)
        self.calibration, self._checklist_threshold = calibration, checklist_threshold

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of the judge inside, and the hash of the calibration."""
        return {**self.judge.settings, _SETTING: self.calibration.fingerprint()}

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Those of the judge inside.

        Raises:
            ConfigError: A question's dimension has no map.
        """
        for question in questions:
            self._fitted(question)
        return self.judge.batches(questions)

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers as the judge inside and maps each probability; see `Judge.ask`."""
        verdicts = self.judge.ask(example, questions, repeat=repeat)
        return [self._mapped(question, verdict) for question, verdict in zip(questions, verdicts, strict=True)]

    def _mapped(self, question: Question, verdict: Verdict) -> Verdict:
        if verdict.answer is None or verdict.probability is None:
            return verdict
        fitted = self._fitted(question)
        probability = float(fitted.map.apply(verdict.probability))
        threshold = calibrated_threshold(question, fitted, self._checklist_threshold)
        raw = replace(verdict, raw_probability=verdict.probability)
        return decided(raw, probability, replace(question, threshold=threshold))

    def _fitted(self, question: Question) -> FittedMap:
        fitted = self.calibration.of(question.dimension)
        if fitted is None:
            raise ConfigError(
                f"question {question.id!r}: the calibration has no map for the dimension {question.dimension!r}; "
                f"it has {', '.join(self.calibration.maps)}: calibrate on a run with this checklist"
            )
        return fitted
