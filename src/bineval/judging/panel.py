"""The panel: several judges answer every question, and a vote or the mean of their probabilities decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf, isclose
from typing import Literal, get_args

from bineval.errors import ConfigError, ModelBusyError
from bineval.hashing import Json
from bineval.judging.base import Judge
from bineval.judging.members import (
    asked,
    distinct_names,
    largest_concurrency,
    paid_together,
    prefixed,
    requests_for,
)
from bineval.judging.probability import verdict_at
from bineval.models.base import Model
from bineval.types import Answer, Example, Question, Request, Verdict

Rule = Literal["vote", "mean"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelSettings:
    """How the members' verdicts become one.

    Attributes:
        rule: "vote" for the weighted majority of the answers; "mean" for the weighted mean of P(yes), against the
            question's threshold.
        weights: One for each member, positive; None for equal ones.
        quorum: Fewest members with an answer for the panel to have one; None for more than half of them.
    """

    rule: Rule = "vote"
    weights: tuple[float, ...] | None = None
    quorum: int | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ConfigError(f"the rule of a panel must be one of {', '.join(RULES)}, not {self.rule!r}")
        if bad := [weight for weight in self.weights or () if not 0 < weight < inf]:
            raise ConfigError(f"the weight of a panel's member must be positive and finite, not {bad[0]}")


class Panel:
    """Asks every member every question; see `bineval.judging.base.Judge`.

    The members' verdicts stand in `under`, in their order. Below the quorum there is no answer, and a tie is none
    either. Where members with more than half of all weight find a question not applicable, so does the panel. A member
    that cannot be reached has no answer; when none can be reached, that is raised.

    Raises:
        ConfigError: Fewer than two members, two that are the same, weights or a quorum that do not fit their number, or
            a mean of members that give no probabilities.
    """

    def __init__(self, judges: Sequence[Judge], *, settings: PanelSettings | None = None) -> None:
        self.judges, self.panel = tuple(judges), settings or PanelSettings()
        n = len(self.judges)
        if n < 2:
            raise ConfigError(f"a panel needs at least two judges, not {n}")
        self._names = distinct_names(self.judges)
        self._weights = self.panel.weights or (1.0,) * n
        if len(self._weights) != n:
            raise ConfigError(f"a panel of {n} judges needs {n} weights, not {len(self._weights)}")
        self._quorum = n // 2 + 1 if self.panel.quorum is None else self.panel.quorum
        if not 1 <= self._quorum <= n:
            raise ConfigError(f"the quorum of a panel of {n} judges must lie from 1 to {n}, not at {self._quorum}")
        without = [judge.name for judge in self.judges if not judge.gives_probability]
        if self.panel.rule == "mean" and without:
            raise ConfigError(f"{without[0]} gives no probabilities to take the mean of: use --kind logprob, or a vote")

    @property
    def name(self) -> str:
        """Names of the members."""
        return panel_name([judge.name for judge in self.judges])

    @property
    def max_concurrency(self) -> int | None:
        """The largest limit of a member; None when one has none."""
        return largest_concurrency(self.judges)

    @property
    def gives_probability(self) -> bool:
        """Only a mean does: the share of votes is no P(yes)."""
        return self.panel.rule == "mean"

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of the members with their weights, the rule and the quorum."""
        return {
            "kind": "panel",
            "judges": list(self._names),
            "members": {
                name: {"weight": weight, **judge.settings}
                for name, weight, judge in zip(self._names, self._weights, self.judges, strict=True)
            },
            "rule": self.panel.rule,
            "quorum": self._quorum,
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Those of the member that takes the most questions together."""
        return min((judge.batches(questions) for judge in self.judges), key=len)

    def parameters_changed(self) -> Mapping[str, str]:
        """Those of the members, each after its member's name."""
        pairs = zip(self._names, self.judges, strict=True)
        return prefixed({name: judge.parameters_changed() for name, judge in pairs})

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """Those of all members."""
        return [request for judge in self.judges for request in requests_for(judge, example, questions, repeat=repeat)]

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`."""
        columns: list[list[Verdict]] = []
        outages: list[ModelBusyError] = []
        for name, judge in zip(self._names, self.judges, strict=True):
            verdicts: dict[Question, Verdict] = {}
            missing = Verdict(answer=None, reason="error", judge=name)
            try:
                for question, verdict in asked(judge, example, questions, repeat=repeat):
                    verdicts[question] = replace(verdict, judge=name)
            except ModelBusyError as error:
                # What it answered before stays; further batches would only wait for the same outage.
                outages.append(error)
                missing = replace(missing, explanation=str(error))
            columns.append([verdicts.get(question, missing) for question in questions])
        if len(outages) == len(self.judges):
            raise outages[0]
        rows = zip(questions, zip(*columns, strict=True), strict=True)
        return [self._verdict(question, members) for question, members in rows]

    def _verdict(self, question: Question, members: tuple[Verdict, ...]) -> Verdict:
        return paid_together(replace(self._settle(question, members), judge=self.name, under=members), members)

    def _settle(self, question: Question, members: Sequence[Verdict]) -> Verdict:
        """The panel's verdict, without what it took."""
        votes = list(zip(members, self._weights, strict=True))
        answered = [(verdict, weight) for verdict, weight in votes if verdict.answer is not None]
        skipping = fsum(weight for verdict, weight in votes if verdict.reason == "not_applicable")
        if skipping > fsum(self._weights) / 2 and not isclose(skipping, fsum(self._weights) / 2):
            return _spoken(Verdict(answer=None, reason="not_applicable"), members)
        if len(answered) < self._quorum:
            return self._without_quorum(members, len(answered))
        if self.panel.rule == "mean":
            return _spoken(verdict_at(_mean(answered), question), members)
        answer = _majority(answered)
        if answer is not None:
            return _spoken(Verdict(answer=answer), members)
        n_yes = sum(verdict.answer == "yes" for verdict, _ in answered)
        weighted = "" if self.panel.weights is None else " by weight"
        problem = f"a tie{weighted}: {n_yes} of {len(answered)} judges say yes"
        return Verdict(answer=None, reason="unparsed", explanation=problem)

    def _without_quorum(self, members: Sequence[Verdict], n_answered: int) -> Verdict:
        """No answer, for the reason of a member: first "error", for then the question is asked again on resume."""
        failed = [verdict for verdict in members if verdict.reason not in (None, "not_applicable")]
        failed.sort(key=lambda verdict: verdict.reason != "error")
        problem = f"{n_answered} of {len(members)} judges answered, fewer than the quorum of {self._quorum}"
        if not failed:
            n_skipping = len(members) - n_answered
            problem += f"; {n_skipping} say that the question does not apply"
            return Verdict(answer=None, reason="unparsed", explanation=problem)
        first = failed[0]
        problem += f"; {first.judge}: {first.explanation or first.reason}"
        return Verdict(answer=None, reason=first.reason, explanation=problem)


def panel_name(judges: Sequence[str]) -> str:
    """Name of the panel of these judges."""
    return f"panel({', '.join(judges)})"


def _majority(answered: Sequence[tuple[Verdict, float]]) -> Answer | None:
    """The answer with the greater weight; None for a tie."""
    yes = fsum(weight for verdict, weight in answered if verdict.answer == "yes")
    no = fsum(weight for verdict, weight in answered if verdict.answer == "no")
    if isclose(yes, no):
        return None
    return "yes" if yes > no else "no"


def _mean(answered: Sequence[tuple[Verdict, float]]) -> float:
    """Weighted mean of P(yes)."""
    pairs = [(weight, verdict.probability) for verdict, weight in answered if verdict.probability is not None]
    mean = fsum(weight * probability for weight, probability in pairs) / fsum(weight for weight, _ in pairs)
    return min(mean, 1.0)  # its last bit may be too large


def _spoken(outcome: Verdict, members: Sequence[Verdict]) -> Verdict:
    """The outcome with the words of the first member that came to it and has some."""
    for member in members:
        if (member.answer, member.reason) == (outcome.answer, outcome.reason) and member.explanation:
            return replace(outcome, explanation=member.explanation, evidence=member.evidence, disputed=member.disputed)
    return outcome
