from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bineval.hashing import Json
from bineval.judging.cascade import Cascade, CascadeSettings
from bineval.judging.chat import ChatJudge
from bineval.judging.composition import Agreement, CascadeFacts, PanelFacts, composition
from bineval.judging.contrast import Contrasted
from bineval.judging.decision import DecisionJudge
from bineval.judging.explained import Explained
from bineval.judging.panel import Panel, PanelSettings
from bineval.types import Answer, Example, Usage, Verdict, VerdictRow
from support.asking import CON_1, deciding
from support.weighing import weighing

CHEAP, STRONG = "scripted/cheap", "scripted/strong"
CASCADE: dict[str, Json] = {"kind": "cascade", "cheap": {"name": CHEAP}, "strong": {"name": STRONG}}
PANEL: dict[str, Json] = {"kind": "panel", "judges": ["a", "b", "c"], "quorum": 2}


def row(verdict: Verdict, question_id: str = "con-1", example_id: str = "e") -> VerdictRow:
    return VerdictRow(example_id=example_id, question_id=question_id, dimension="d", verdict=verdict)


def said(answer: Answer | None, judge: str, *under: Verdict, calls: int = 1, cost: float | None = 0.0) -> Verdict:
    usage = Usage(input_tokens=10 * calls, calls=calls, cost_usd=cost)
    reason = "unparsed" if answer is None else None
    return Verdict(answer=answer, reason=reason, judge=judge, usage=usage, under=under)


def cascade(*verdicts: Verdict) -> CascadeFacts:
    facts = composition([row(verdict) for verdict in verdicts], CASCADE)
    assert isinstance(facts, CascadeFacts)
    return facts


def panel(*rows: VerdictRow) -> PanelFacts:
    facts = composition(rows, PANEL)
    assert isinstance(facts, PanelFacts)
    return facts


def votes(*answers: Answer | None) -> tuple[Verdict, ...]:
    return tuple(said(answer, name) for answer, name in zip(answers, "abc", strict=True))


# Cascades


def test_shares_agreement_and_usage_of_a_cascade_by_hand() -> None:
    facts = cascade(
        said("yes", CHEAP),
        said("no", CHEAP),
        # audited, the second with another answer: 1 of 2 agree
        said("yes", CHEAP, said("yes", STRONG), calls=2),
        said("yes", CHEAP, said("no", STRONG), calls=2),
        # escalated: of the two with two answers 1 agrees
        said("yes", STRONG, said("yes", CHEAP), calls=3),
        said("yes", STRONG, said("no", CHEAP), calls=2),
        said("yes", STRONG, said(None, CHEAP), calls=2),
        said(None, STRONG, said("no", CHEAP), calls=2),
    )
    assert (facts.n, facts.n_kept, facts.n_escalated, facts.n_audited, facts.n_unreached) == (8, 4, 4, 2, 0)
    assert (facts.share_kept, facts.share_escalated) == (0.5, 0.5)
    assert facts.on_audited == Agreement(n=2, n_equal=1)
    assert facts.on_escalated == Agreement(n=2, n_equal=1)
    assert facts.on_escalated.share == 0.5
    # cheap: one call each; strong: 1 + 1 for the audits, 2 + 1 + 1 + 1 for the others
    assert facts.cheap_usage == Usage(input_tokens=80, calls=8)
    assert facts.strong_usage == Usage(input_tokens=70, calls=7)


def test_a_cost_that_is_unknown_for_one_judge_is_unknown_for_it_alone() -> None:
    facts = cascade(
        said("yes", CHEAP, cost=0.25),
        said("yes", STRONG, said("no", CHEAP, cost=0.25), cost=None),
    )
    assert (facts.cheap_usage.cost_usd, facts.strong_usage.cost_usd) == (0.5, None)
    known = cascade(said("yes", STRONG, said("no", CHEAP, cost=0.25), cost=1.0))
    assert (known.cheap_usage.cost_usd, known.strong_usage.cost_usd) == (0.25, 0.75)


def test_what_no_judge_was_reached_for_is_in_no_share() -> None:
    outage = Verdict(answer=None, reason="error", judge=f"cascade({CHEAP}, {STRONG})")
    facts = cascade(said("yes", CHEAP), outage)
    assert (facts.n, facts.n_unreached, facts.share_kept) == (1, 1, 1.0)


def test_without_verdicts_every_share_is_undefined() -> None:
    facts = cascade()
    assert (facts.n, facts.share_kept, facts.share_escalated) == (0, None, None)
    assert (facts.on_escalated.share, facts.on_audited.share) == (None, None)
    assert composition([], PANEL) == panel()
    assert [pair.agreement.share for pair in panel().pairs] == [None] * 3


def test_what_stands_under_a_cheap_verdict_of_its_own_is_no_strong_verdict() -> None:
    cheap = Contrasted(DecisionJudge(weighing(lambda *_: 0.9, CHEAP)))
    strong = ChatJudge(deciding(lambda *_: "yes", STRONG))
    example = Example(id="e", input="A source.", output="x")
    for audit, n_audited in ((0.0, 0), (1.0, 1)):
        judge = Cascade(cheap, strong, settings=CascadeSettings(low=0.6, high=0.7, audit=audit))
        (verdict,) = judge.ask(example, [CON_1])
        facts = composition([row(verdict)], judge.settings)
        assert isinstance(facts, CascadeFacts)
        assert (facts.n_kept, facts.n_escalated, facts.n_audited) == (1, 0, n_audited)
        assert facts.cheap_usage.calls == 2


@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["yes", "no", "?"])), min_size=1, max_size=8),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_facts_fit_the_verdicts_of_a_real_cascade(pairs: list[tuple[float, str]], audit: float) -> None:
    place = 0

    def first(*_: str) -> float:
        return pairs[place][0]

    def second(*_: str) -> str:
        return pairs[place][1]

    settings = CascadeSettings(low=0.3, high=0.7, audit=audit)
    cheap, strong = DecisionJudge(weighing(first, CHEAP)), ChatJudge(deciding(second, STRONG))
    judge = Cascade(cheap, strong, settings=settings)
    verdicts = []
    for i in range(len(pairs)):
        place = i
        verdicts += judge.ask(Example(id=f"e{i}", output="x"), [CON_1])
    facts = composition([row(verdict) for verdict in verdicts], judge.settings)
    assert isinstance(facts, CascadeFacts)
    assert facts.n == len(pairs)
    assert facts.n_escalated == sum(0.3 <= probability <= 0.7 for probability, _ in pairs)
    assert facts.n_audited == {0.0: 0, 1.0: facts.n_kept}.get(audit, facts.n_audited)
    assert facts.cheap_usage + facts.strong_usage == sum((verdict.usage for verdict in verdicts), Usage())
    assert facts.cheap_usage.calls == len(pairs)
    assert facts.on_audited.n + facts.on_escalated.n <= facts.n_audited + facts.n_escalated


# Panels


def test_disagreement_agreement_and_failures_of_a_panel_by_hand() -> None:
    tie = replace(said(None, "panel"), under=votes("yes", "no", None))
    facts = panel(
        row(said("yes", "panel", *votes("yes", "yes", "no")), "con-1", "e0"),
        row(said("yes", "panel", *votes("yes", "yes", "yes")), "con-2", "e0"),
        row(said("no", "panel", *votes("no", "no", None)), "con-1", "e1"),
        row(tie, "con-2", "e1"),
        row(said(None, "panel", *votes("yes", None, None)), "con-1", "e2"),
    )
    assert (facts.n, facts.n_ties, facts.n_below_quorum, facts.n_unreached) == (5, 1, 1, 0)
    # con-1: split on e0, not on e1; on e2 there is nobody to disagree with
    assert [(item.question_id, item.n, item.n_split, item.share) for item in facts.questions] == [
        ("con-1", 2, 1, 0.5),
        ("con-2", 2, 1, 0.5),
    ]
    # a, b answered together in four verdicts, equal in three; a, c and b, c in two, equal in one
    assert [(pair.first, pair.second, pair.agreement.n, pair.agreement.n_equal) for pair in facts.pairs] == [
        ("a", "b", 4, 3),
        ("a", "c", 2, 1),
        ("b", "c", 2, 1),
    ]


def test_not_applicable_is_neither_a_tie_nor_below_the_quorum() -> None:
    skipped = Verdict(answer=None, reason="not_applicable", judge="panel", under=votes("yes", None, None))
    facts = panel(row(skipped))
    assert (facts.n, facts.n_ties, facts.n_below_quorum) == (1, 0, 0)
    assert facts.questions[0].share is None


def test_verdicts_for_which_no_member_was_reached_are_counted_apart() -> None:
    facts = panel(row(Verdict(answer=None, reason="error", judge="panel(a, b, c)")))
    assert (facts.n, facts.n_unreached, facts.n_below_quorum) == (0, 1, 0)


@given(st.lists(st.tuples(*[st.sampled_from(["yes", "no", "?", "not_applicable"])] * 3), min_size=1, max_size=5))
def test_the_facts_fit_the_verdicts_of_a_real_panel(boards: list[tuple[str, str, str]]) -> None:
    place = 0

    def member(index: int) -> ChatJudge:
        return ChatJudge(deciding(lambda *_: boards[place][index], f"scripted/{index}"))

    judge = Panel([member(index) for index in range(3)], settings=PanelSettings(quorum=2))
    question = replace(CON_1, may_not_apply=True)
    verdicts = []
    for i in range(len(boards)):
        place = i
        verdicts += judge.ask(Example(id=f"e{i}", output="x"), [question])
    facts = composition([row(verdict) for verdict in verdicts], judge.settings)
    assert isinstance(facts, PanelFacts)
    failed = [verdict for verdict in verdicts if verdict.reason not in (None, "not_applicable")]
    ties = [verdict for verdict in failed if str(verdict.explanation).startswith("a tie")]
    assert (facts.n_ties, facts.n_below_quorum) == (len(ties), len(failed) - len(ties))
    assert facts.n == len(boards)
    split = [board for board in boards if {"yes", "no"} <= set(board)]
    assert facts.questions[0].n_split == len(split)


# Other judges


def test_a_judge_of_one_model_is_composed_of_nothing() -> None:
    assert composition([], ChatJudge(deciding(lambda *_: "yes")).settings) is None
    assert composition([], {}) is None


def test_explanations_change_no_composition() -> None:
    cheap, strong = DecisionJudge(weighing(lambda *_: 0.9, CHEAP)), ChatJudge(deciding(lambda *_: "yes", STRONG))
    inner = Cascade(cheap, strong, settings=CascadeSettings(low=0.5, high=0.5))
    judge = Explained(inner, model=deciding(lambda *_: "yes", "scripted/explainer"))
    facts = composition([row(judge.ask(Example(id="e", output="x"), [CON_1])[0])], judge.settings)
    assert isinstance(facts, CascadeFacts)
    assert (facts.n_kept, facts.cheap_usage.calls) == (1, 2)
