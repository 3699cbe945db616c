"""Numbers about cascades and panels, from their saved verdicts: who answered, who agreed, what it took."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, cast

from bineval.hashing import Json
from bineval.types import Usage, Verdict, VerdictRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Raw agreement of two judges.

    Attributes:
        n: Pairs in which both answered yes or no.
        n_equal: Of these, the pairs with the same answer.
    """

    n: int
    n_equal: int

    @property
    def share(self) -> float | None:
        """Share of equal answers, in [0, 1]; None without pairs."""
        return self.n_equal / self.n if self.n else None


@dataclass(frozen=True, kw_only=True, slots=True)
class CascadeFacts:
    """What the verdicts of a cascade say about it; each repeat and sentence counts.

    Attributes:
        cheap: Name of the cheap judge.
        strong: Name of the strong judge.
        n_kept: Verdicts of the cheap judge that count.
        n_escalated: Verdicts of the strong judge that count.
        n_audited: Kept answers about which the strong judge was asked too.
        n_unreached: Verdicts besides these, of neither, because a judge could not be reached.
        on_escalated: Agreement where the strong judge took over.
        on_audited: Agreement on the audited answers.
        cheap_usage: What the cheap judge took.
        strong_usage: What the strong judge took, audits included. Explanations asked for afterwards count to the judge
            whose answer they explain.
    """

    cheap: str
    strong: str
    n_kept: int
    n_escalated: int
    n_audited: int
    n_unreached: int
    on_escalated: Agreement
    on_audited: Agreement
    cheap_usage: Usage
    strong_usage: Usage

    @property
    def n(self) -> int:
        """Verdicts of one of the two judges."""
        return self.n_kept + self.n_escalated

    @property
    def share_escalated(self) -> float | None:
        """Share of the verdicts that the strong judge gave, in [0, 1]; None without verdicts."""
        return self.n_escalated / self.n if self.n else None

    @property
    def share_kept(self) -> float | None:
        """Share of the verdicts that stayed with the cheap judge, in [0, 1]; None without verdicts."""
        return self.n_kept / self.n if self.n else None


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionSplit:
    """How often the members of a panel disagree about one question.

    Attributes:
        question_id: Its id.
        n: Verdicts in which at least two members answered yes or no: one an example, repeat and sentence.
        n_split: Of these, the ones in which they do not all agree.
    """

    question_id: str
    n: int
    n_split: int

    @property
    def share(self) -> float | None:
        """Share of the verdicts in which members disagree, in [0, 1]; None without verdicts."""
        return self.n_split / self.n if self.n else None


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberPair:
    """Two members of a panel and their agreement."""

    first: str
    second: str
    agreement: Agreement


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelFacts:
    """What the verdicts of a panel say about it; each repeat and sentence counts.

    Attributes:
        judges: Names of the members.
        n: Verdicts for which members were asked.
        n_ties: Of these, the ones without an answer because of a tie.
        n_below_quorum: Of these, the ones without an answer because too few members had one.
        n_unreached: Verdicts besides these, for which no member could be reached.
        questions: Disagreement by question, in the order of the checklist.
        pairs: Agreement of each two members.
    """

    judges: tuple[str, ...]
    n: int
    n_ties: int
    n_below_quorum: int
    n_unreached: int
    questions: tuple[QuestionSplit, ...]
    pairs: tuple[MemberPair, ...]


def composition(rows: Iterable[VerdictRow], settings: Mapping[str, Json]) -> CascadeFacts | PanelFacts | None:
    """Returns the facts about the cascade or panel that gave the verdicts; None for a judge of another kind.

    Args:
        rows: The verdicts of a run.
        settings: The judge's settings, as the run's manifest has them under "judge".
    """
    values = cast(Mapping[str, Any], settings)
    match values.get("kind"):
        case "cascade":
            return _cascade_facts(rows, cheap=values["cheap"]["name"], strong=values["strong"]["name"])
        case "panel":
            return _panel_facts(rows, judges=tuple(values["judges"]), quorum=values["quorum"])
    return None


@dataclass(slots=True)
class _Pairs:
    n: int = 0
    n_equal: int = 0

    def add(self, first: Verdict, second: Verdict) -> None:
        if first.answer is not None and second.answer is not None:
            self.n += 1
            self.n_equal += first.answer == second.answer

    def agreement(self) -> Agreement:
        return Agreement(n=self.n, n_equal=self.n_equal)


def _cascade_facts(rows: Iterable[VerdictRow], *, cheap: str, strong: str) -> CascadeFacts:
    n_kept = n_audited = n_unreached = n_escalated = 0
    on_escalated, on_audited = _Pairs(), _Pairs()
    usage = {cheap: Usage(), strong: Usage()}
    for row in rows:
        verdict = row.verdict
        if verdict.judge not in usage:
            n_unreached += 1
            continue
        first = verdict.under[0] if verdict.under else None
        own = verdict.usage
        if first is not None and {verdict.judge, first.judge} == {cheap, strong}:
            own = _less(own, first.usage)
            usage[first.judge] += first.usage
            n_audited += verdict.judge == cheap
            (on_audited if verdict.judge == cheap else on_escalated).add(verdict, first)
        usage[verdict.judge] += own
        n_kept += verdict.judge == cheap
        n_escalated += verdict.judge == strong
    return CascadeFacts(
        cheap=cheap,
        strong=strong,
        n_kept=n_kept,
        n_escalated=n_escalated,
        n_audited=n_audited,
        n_unreached=n_unreached,
        on_escalated=on_escalated.agreement(),
        on_audited=on_audited.agreement(),
        cheap_usage=usage[cheap],
        strong_usage=usage[strong],
    )


def _less(whole: Usage, part: Usage) -> Usage:
    """What is left of `whole`; its cost is unknown where one of the two is."""
    cost = None
    if whole.cost_usd is not None and part.cost_usd is not None:
        cost = max(whole.cost_usd - part.cost_usd, 0.0)  # the last bit may fall below
    return Usage(
        input_tokens=whole.input_tokens - part.input_tokens,
        output_tokens=whole.output_tokens - part.output_tokens,
        cached_input_tokens=whole.cached_input_tokens - part.cached_input_tokens,
        calls=whole.calls - part.calls,
        cost_usd=cost,
    )


@dataclass(slots=True)
class _Split:
    n: int = 0
    n_split: int = 0


@dataclass(slots=True)
class _PanelTally:
    n: int = 0
    n_ties: int = 0
    n_below_quorum: int = 0
    n_unreached: int = 0
    splits: dict[str, _Split] = field(default_factory=lambda: defaultdict(_Split))
    pairs: dict[tuple[str, str], _Pairs] = field(default_factory=lambda: defaultdict(_Pairs))


def _panel_facts(rows: Iterable[VerdictRow], *, judges: tuple[str, ...], quorum: int) -> PanelFacts:
    tally = _PanelTally()
    for row in rows:
        _add(tally, row, quorum)
    return PanelFacts(
        judges=judges,
        n=tally.n,
        n_ties=tally.n_ties,
        n_below_quorum=tally.n_below_quorum,
        n_unreached=tally.n_unreached,
        questions=tuple(
            QuestionSplit(question_id=key, n=split.n, n_split=split.n_split) for key, split in tally.splits.items()
        ),
        pairs=tuple(
            MemberPair(first=first, second=second, agreement=tally.pairs[first, second].agreement())
            for first, second in combinations(judges, 2)
        ),
    )


def _add(tally: _PanelTally, row: VerdictRow, quorum: int) -> None:
    verdict, members = row.verdict, row.verdict.under
    split = tally.splits[row.question_id]
    if not members:
        tally.n_unreached += 1
        return
    answers = [member.answer for member in members if member.answer is not None]
    tally.n += 1
    if verdict.reason not in (None, "not_applicable"):
        # At the quorum, nothing but a tie leaves a panel without an answer.
        tally.n_ties += len(answers) >= quorum
        tally.n_below_quorum += len(answers) < quorum
    split.n += len(answers) > 1
    split.n_split += len(set(answers)) > 1
    for first, second in combinations(members, 2):
        tally.pairs[first.judge, second.judge].add(first, second)
