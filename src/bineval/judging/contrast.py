"""Source contrast: how much the source raises the odds of "yes", over what the judge would say without it.

A judge may find an output plausible whether its source supports it or not. So each question is asked twice, with the
source and with it withheld, and the difference of the log-odds counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.base import Judge, JudgeWrapper
from bineval.judging.members import paid_together
from bineval.judging.probability import decided
from bineval.models.base import Model
from bineval.types import Example, Question, Request, Verdict

# Beyond this a probability is rounding of the server's: log-odds of 0 and 1 would be infinite.
_LEAST = 1e-6


class Contrasted(JudgeWrapper):
    """Asks a judge with and without the source; see `bineval.judging.base.Judge`.

    `probability` is the logistic function of the difference: above one half when the source raises the odds of "yes".
    `under` holds the two verdicts, with the source and without it. Without an answer to one of the two there is none.
    An example without input and context has no source to withhold, and keeps its verdicts.

    Raises:
        ConfigError: The judge gives no probabilities.
    """

    def __init__(self, judge: Judge) -> None:
        if not judge.gives_probability:
            raise ConfigError(f"source contrast needs probabilities, which {judge.name} does not give: --kind logprob")
        super().__init__(judge)

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of the judge inside, and that the source is contrasted."""
        return {**self.judge.settings, "contrast": "source"}

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """Those with the source, then those without."""
        asked = self.judge.first_requests(example, questions, repeat=repeat)
        if _has_source(example):
            asked = asked + self.judge.first_requests(_withheld(example), _applying(questions), repeat=repeat)
        return asked

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`."""
        given = self.judge.ask(example, questions, repeat=repeat)
        if not _has_source(example):
            return given
        withheld = self.judge.ask(_withheld(example), _applying(questions), repeat=repeat)
        return [_contrast(*item) for item in zip(questions, given, withheld, strict=True)]


def log_odds(probability: float) -> float:
    """Natural logarithm of p / (1 - p), with p kept within [1e-6, 1 - 1e-6]."""
    bounded = min(max(probability, _LEAST), 1 - _LEAST)
    return log(bounded / (1 - bounded))


def _has_source(example: Example) -> bool:
    return example.input is not None or example.context is not None


def _withheld(example: Example) -> Example:
    return replace(example, input=None, context=None)


def _applying(questions: Sequence[Question]) -> list[Question]:
    """The questions as they are asked without the source: whether they apply is seen with it."""
    return [replace(question, may_not_apply=False) for question in questions]


def _contrast(question: Question, given: Verdict, withheld: Verdict) -> Verdict:
    both = paid_together(replace(given, under=(given, withheld)), [given, withheld])
    if given.probability is None:
        return both
    if withheld.probability is None:
        problem = f"with the source withheld there was no answer: {withheld.explanation or withheld.reason}"
        return replace(
            both,
            answer=None,
            reason=withheld.reason or "unparsed",
            probability=None,
            threshold=None,
            explanation=problem,
        )
    probability = 1 / (1 + exp(log_odds(withheld.probability) - log_odds(given.probability)))
    return decided(both, probability, question)
