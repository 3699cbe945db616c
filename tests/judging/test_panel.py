from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import BudgetExceeded, ConfigError, ModelAuthError, ModelBusyError, ModelRequestError
from bineval.judging.base import Judge
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.composite_plans import PanelPlan
from bineval.judging.composition import PanelFacts, composition
from bineval.judging.decision import DecisionJudge
from bineval.judging.logprob import LogprobJudge
from bineval.judging.panel import Panel, PanelSettings, Rule
from bineval.judging.plans import JudgeOptions, SingleJudge
from bineval.methods.evaluate import evaluate
from bineval.models.scripted import Scripted
from bineval.types import Example, Reply, Request, Usage, Verdict
from support.asking import CHECKLIST, CON_1, CON_2, FLU_1, Replies, answer, answers, deciding
from support.weighing import weighing

EXAMPLE = Example(id="a", output="Ann met Bob.")
QUESTIONS = [CON_1, CON_2, FLU_1]
UNREACHABLE = ModelBusyError("overloaded", model="m")
TOO_LONG = ModelRequestError("too long", model="m")


def chat(word: object, name: str) -> ChatJudge:
    """A judge that says the same to every question; an error is raised."""

    def decide(*_: str) -> object:
        if isinstance(word, Exception):
            raise word
        return word

    return ChatJudge(deciding(decide, name))


def panel(*words: object, **settings: object) -> Panel:
    judges = [chat(word, f"scripted/{place}") for place, word in enumerate(words)]
    return Panel(judges, settings=PanelSettings(**settings))  # type: ignore[arg-type]


def mean_panel(*values: float | str, **settings: object) -> Panel:
    judges = [
        DecisionJudge(weighing(lambda *_, value=value: value, f"scripted/{place}"))
        for place, value in enumerate(values)
    ]
    return Panel(judges, settings=PanelSettings(rule="mean", **settings))  # type: ignore[arg-type]


def ask_one(judge: Judge) -> Verdict:
    (verdict,) = judge.ask(EXAMPLE, [CON_2])
    return verdict


def outcome(*words: object, **settings: object) -> str | None:
    verdict = ask_one(panel(*words, **settings))
    return verdict.answer or verdict.reason


# The vote


@pytest.mark.parametrize(
    ("words", "settings", "expected"),
    [
        (("yes", "yes", "no"), {}, "yes"),
        (("no", "yes", "no"), {}, "no"),
        (("yes", "no"), {}, "unparsed"),
        (("yes", "no", "?"), {}, "unparsed"),
        (("yes", "yes", "?"), {}, "yes"),
        (("yes", "?", "?"), {}, "unparsed"),
        (("yes", TOO_LONG, "?"), {}, "error"),
        (("yes", "?", TOO_LONG), {}, "error"),
        # a lone survivor decides only where the user says so
        (("yes", TOO_LONG, "?"), {"quorum": 1}, "yes"),
        (("yes", "yes", "?"), {"quorum": 3}, "unparsed"),
        # 1 + 1 < 3; 0.1 + 0.2 = 0.3 is a tie, though not in floating point
        (("yes", "no", "no"), {"weights": (3, 1, 1)}, "yes"),
        (("yes", "yes", "no"), {"weights": (0.1, 0.2, 0.3)}, "unparsed"),
        # not applicable: 2 of 3; 2 of 4 is not more than half; 1 of 3 leaves two who agree
        (("not_applicable", "yes", "not_applicable"), {}, "not_applicable"),
        (("not_applicable", "not_applicable", "yes", "yes"), {}, "unparsed"),
        (("not_applicable", "not_applicable", "yes", "yes"), {"quorum": 2}, "yes"),
        (("not_applicable", "yes", "yes"), {}, "yes"),
        (("not_applicable", "yes", "?"), {}, "unparsed"),
        (("not_applicable", TOO_LONG, "yes"), {}, "error"),
        (("not_applicable", "yes", "yes"), {"weights": (3, 1, 1)}, "not_applicable"),
    ],
)
def test_a_vote_needs_a_majority_and_a_quorum(
    words: tuple[object, ...], settings: dict[str, object], expected: str
) -> None:
    assert outcome(*words, **settings) == expected


def test_a_tie_says_that_it_is_one() -> None:
    tie = ask_one(panel("yes", "no", "no", "yes"))
    assert (tie.answer, tie.reason, tie.explanation) == (None, "unparsed", "a tie: 2 of 4 judges say yes")
    weighted = ask_one(panel("yes", "no", "no", weights=(2, 1, 1)))
    assert weighted.explanation == "a tie by weight: 1 of 3 judges say yes"


def test_too_few_answers_say_whose_is_missing_and_why() -> None:
    verdict = ask_one(panel("yes", "perhaps", TOO_LONG))
    problem = "1 of 3 judges answered, fewer than the quorum of 2; scripted/2: m: too long"
    assert (verdict.reason, verdict.explanation) == ("error", problem)
    skipped = ask_one(panel("yes", "not_applicable"))
    assert str(skipped.explanation).endswith("quorum of 2; 1 say that the question does not apply")


def test_members_stand_under_the_verdict_in_their_order_and_one_that_agrees_explains_it() -> None:
    judges = [
        ChatJudge(Scripted.from_function(lambda _, word=word: answer(word, f"I say {word}."), f"scripted/{place}"))
        for place, word in enumerate(["no", "yes", "yes"])
    ]
    (verdict,) = Panel(judges).ask(EXAMPLE, [CON_1])
    assert (verdict.answer, verdict.explanation, verdict.probability) == ("yes", "I say yes.", None)
    assert verdict.judge == "panel(scripted/0, scripted/1, scripted/2)"
    assert [(item.judge, item.answer) for item in verdict.under] == [
        ("scripted/0", "no"),
        ("scripted/1", "yes"),
        ("scripted/2", "yes"),
    ]


def test_a_verdict_takes_what_its_members_took() -> None:
    usages = [Usage(input_tokens=5, calls=1), Usage(input_tokens=2, output_tokens=3, calls=1)]
    judges = [
        ChatJudge(
            Scripted.from_function(
                lambda _, i=i: Reply(text=answer("yes"), usage=usages[i], key=f"k{i}", cached=i == 0), f"scripted/{i}"
            )
        )
        for i in range(2)
    ]
    (verdict,) = Panel(judges).ask(EXAMPLE, [CON_1])
    assert verdict.usage == usages[1]  # the other came from the cache
    assert (verdict.replies, verdict.cached) == (("k0", "k1"), False)


@given(st.lists(st.sampled_from(["yes", "no", "not_applicable", "perhaps"]), min_size=2, max_size=4))
def test_the_order_of_the_members_does_not_matter_and_opposite_votes_give_the_opposite_outcome(
    words: list[str],
) -> None:
    expected = outcome(*words)
    assert {outcome(*order) for order in permutations(words)} == {expected}
    opposite = {"yes": "no", "no": "yes"}
    assert outcome(*(opposite.get(word, word) for word in words)) == opposite.get(str(expected), expected)
    assert outcome(*words, weights=(0.7,) * len(words)) == expected


# The mean


@pytest.mark.parametrize(
    ("values", "settings", "threshold", "expected"),
    [
        # (0.9 + 0.8 + 0.1) / 3 = 0.6, where a vote says yes too
        ((0.9, 0.8, 0.1), {}, 0.5, ("yes", 0.6)),
        # (0.6 + 0.6 + 0.0) / 3 = 0.4, where a vote says yes
        ((0.6, 0.6, 0.0), {}, 0.5, ("no", 0.4)),
        # (1 · 0.9 + 3 · 0.3) / 4 = 0.45
        ((0.9, 0.3), {"weights": (1, 3)}, 0.4, ("yes", 0.45)),
        ((0.9, 0.3), {"weights": (1, 3)}, 0.5, ("no", 0.45)),
        # exactly at the threshold: unsure, and no yes
        ((0.25, 0.75), {}, 0.5, ("no", 0.5)),
        # (0.9 + 0.7) / 2: one without an answer has no part in the mean
        ((0.9, "?", 0.7), {}, 0.5, ("yes", 0.8)),
        ((1.0, 1.0, 1.0), {"weights": (0.1, 0.2, 0.3)}, 0.5, ("yes", 1.0)),
    ],
)
def test_the_mean_is_weighted_and_compared_with_the_question_s_threshold(
    values: tuple[float | str, ...], settings: dict[str, object], threshold: float, expected: tuple[str, float]
) -> None:
    (verdict,) = mean_panel(*values, **settings).ask(EXAMPLE, [replace(CON_1, threshold=threshold)])
    assert (verdict.answer, verdict.probability) == (expected[0], pytest.approx(expected[1], abs=1e-12))


def test_a_mean_of_too_few_is_no_answer_and_no_probability() -> None:
    verdict = ask_one(mean_panel(0.9, "?", "?"))
    assert (verdict.answer, verdict.reason, verdict.probability) == (None, "unparsed", None)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(1e-3, 1e3)), min_size=2, max_size=5),
)
def test_a_mean_lies_between_its_least_and_its_greatest_member(pairs: list[tuple[float, float]]) -> None:
    values, weights = [value for value, _ in pairs], tuple(weight for _, weight in pairs)
    probability = ask_one(mean_panel(*values, weights=weights)).probability
    assert probability is not None
    assert 0 <= probability <= 1
    assert min(values) - 1e-9 <= probability <= max(values) + 1e-9


# Members that fail


def test_a_member_that_cannot_be_reached_has_no_answer_and_the_others_decide() -> None:
    verdict = ask_one(panel("yes", UNREACHABLE, "yes"))
    assert (verdict.answer, verdict.under[1].reason) == ("yes", "error")
    assert "overloaded" in str(verdict.under[1].explanation)
    assert outcome("yes", UNREACHABLE) == "error"


def test_when_no_member_can_be_reached_that_is_raised() -> None:
    with pytest.raises(ModelBusyError, match="overloaded"):
        ask_one(panel(UNREACHABLE, UNREACHABLE))


def test_what_a_member_answered_before_it_could_not_be_reached_counts_and_no_more_is_asked_of_it() -> None:
    failing = Replies(answer("yes"), UNREACHABLE)
    others = [chat("no", "scripted/1"), chat("yes", "scripted/2")]
    verdicts = Panel([ChatJudge(failing.model), *others]).ask(EXAMPLE, QUESTIONS)
    assert [verdict.under[0].answer or verdict.under[0].reason for verdict in verdicts] == ["yes", "error", "error"]
    assert [verdict.answer for verdict in verdicts] == ["yes", None, None]
    assert len(failing.requests) == 2


@pytest.mark.parametrize("error", [ModelAuthError("wrong key", model="m"), BudgetExceeded("enough")])
def test_an_error_that_stops_a_run_is_raised_whatever_the_others_say(error: Exception) -> None:
    with pytest.raises(type(error)):
        ask_one(panel("yes", "yes", error))


# Asking


def test_each_member_is_asked_in_its_own_batches() -> None:
    words = {"con-1": "yes", "con-2": "no", "flu-1": "yes"}
    one_by_one = Replies(answer("yes"), answer("yes"), answer("no"))
    together = Replies(answers(words))
    by_dimension = Replies(answers({"con-2": "no", "con-1": "yes"}), answers({"flu-1": "yes"}))
    judges = [
        ChatJudge(one_by_one.model, settings=ChatSettings(mode="independent")),
        ChatJudge(together.model, settings=ChatSettings(mode="all")),
        ChatJudge(by_dimension.model, settings=ChatSettings(mode="dimension")),
    ]
    for place, judge in enumerate(judges):
        judge.model.name = f"scripted/{place}"  # type: ignore[misc]
    board = Panel(judges)
    assert board.batches(QUESTIONS) == [QUESTIONS]
    assert len(board.first_requests(EXAMPLE, QUESTIONS)) == 3 + 1 + 2
    assert [verdict.answer for verdict in board.ask(EXAMPLE, QUESTIONS)] == ["yes", "no", "yes"]
    assert [len(item.requests) for item in (one_by_one, together, by_dimension)] == [3, 1, 2]


def test_sentences_of_one_question_are_told_apart() -> None:
    questions = [replace(CON_1, id=f"con-1/{i}", sentence=text) for i, text in ((1, "Ann met Bob."), (2, "Rob sang."))]

    def by_sentence(request: Request) -> str:
        return answer("no" if "Rob sang." in request.messages[1].content else "yes")

    def by_id(_: Request) -> str:
        return answers({"con-1/2": "no", "con-1/1": "yes"})

    judges = [
        ChatJudge(Scripted.from_function(by_sentence, "scripted/0")),
        ChatJudge(Scripted.from_function(by_id, "scripted/1"), settings=ChatSettings(mode="all")),
    ]
    assert [verdict.answer for verdict in Panel(judges).ask(EXAMPLE, questions)] == ["yes", "no"]


# The judge


def test_a_vote_gives_no_probability_and_a_mean_does() -> None:
    assert not panel("yes", "no").gives_probability
    assert mean_panel(0.1, 0.9).gives_probability


def test_limits_and_changed_parameters_are_those_of_the_members() -> None:
    class Limited(Scripted):
        max_concurrency = 3  # type: ignore[misc,assignment]

        def dropped_parameters(self) -> dict[str, str]:
            return {"seed": "dropped"}

    limited = [ChatJudge(Limited.from_function(lambda _: "", f"scripted/{i}")) for i in range(2)]
    assert Panel(limited).max_concurrency == 3
    assert Panel([*limited, chat("yes", "scripted/2")]).max_concurrency is None
    assert Panel(limited).parameters_changed() == {"scripted/0: seed": "dropped", "scripted/1: seed": "dropped"}


def test_settings_hold_all_that_can_change_an_answer() -> None:
    base = panel("yes", "no", "no").settings
    assert base["judges"] == ["scripted/0", "scripted/1", "scripted/2"]
    assert base["quorum"] == 2
    changes: list[tuple[dict[str, object], list[str]]] = [
        ({"quorum": 2}, []),
        ({"quorum": 3}, ["quorum"]),
        ({"weights": (1, 1, 1)}, []),
        ({"weights": (1, 1, 2)}, ["members"]),
    ]
    for change, names in changes:
        changed = panel("yes", "no", "no", **change).settings
        assert [name for name in base if base[name] != changed[name]] == names


def test_one_model_is_two_members_where_it_is_asked_in_two_ways() -> None:
    model = weighing(lambda *_: 0.9, "scripted/one")
    judges = [LogprobJudge(model), DecisionJudge(model)]
    assert [item.judge for item in ask_one(Panel(judges)).under] == [
        "scripted/one (logprob)",
        "scripted/one (decision)",
    ]


@pytest.mark.parametrize(
    ("words", "settings", "problem"),
    [
        (["yes"], {}, "at least two judges, not 1"),
        (["yes", "no"], {"weights": (1, 2, 3)}, "needs 2 weights, not 3"),
        (["yes", "no"], {"weights": (1, 0)}, "positive and finite, not 0"),
        (["yes", "no"], {"weights": (1, float("inf"))}, "positive and finite, not inf"),
        (["yes", "no"], {"weights": (1, float("nan"))}, "positive and finite, not nan"),
        (["yes", "no"], {"quorum": 0}, "from 1 to 2, not at 0"),
        (["yes", "no"], {"quorum": 3}, "from 1 to 2, not at 3"),
        (["yes", "no"], {"rule": "median"}, "one of vote, mean, not 'median'"),
        (["yes", "no"], {"rule": "mean"}, "scripted/0 gives no probabilities"),
    ],
)
def test_a_panel_that_cannot_be_is_refused_before_any_call(
    words: Sequence[str], settings: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        panel(*words, **settings)


def test_two_members_that_are_the_same_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"scripted/x \(chat\) is there 2 times"):
        Panel([chat("yes", "scripted/x"), chat("yes", "scripted/y"), chat("no", "scripted/x")])


# A whole run


@pytest.mark.parametrize("rule", ["vote", "mean"])
def test_a_run_is_judged_by_a_panel_and_resumed_without_a_call(tmp_path: Path, rule: Rule) -> None:
    n_calls = [0, 0, 0]

    def member(place: int) -> SingleJudge:
        def decide(output: str, _: str) -> float:
            n_calls[place] += 1
            return 0.1 if output == f"text {place}" else 0.9

        model = weighing(decide, f"scripted/{place}")
        return SingleJudge(model=model, options=JudgeOptions(kind="logprob"))

    plan = PanelPlan(members=tuple(map(member, range(3))), settings=PanelSettings(rule=rule))
    examples = [Example(id=f"e{i}", output=f"text {i}") for i in range(4)]
    for _ in range(2):
        with evaluate(examples, CHECKLIST, judge=plan, store=tmp_path / "store.db") as run:
            assert [row.verdict.answer for row in run.verdicts()] == ["yes"] * 12
            facts = composition(run.verdicts(), run.manifest["judge"])  # type: ignore[arg-type]
        assert run.judge == plan.name == "panel(scripted/0, scripted/1, scripted/2)"
        assert n_calls == [12, 12, 12]
        assert isinstance(facts, PanelFacts)
        assert [(item.n, item.n_split) for item in facts.questions] == [(4, 3)] * 3
        # Two members differ on two of the four examples.
        assert [(pair.agreement.n, pair.agreement.n_equal) for pair in facts.pairs] == [(12, 6)] * 3


def test_questions_without_a_quorum_for_an_outage_are_asked_again(tmp_path: Path) -> None:
    out = True

    def decide(*_: str) -> str:
        if out:
            raise ModelRequestError("too long for now", model="scripted/0")
        return "yes"

    members = (SingleJudge(model=deciding(decide, "scripted/0")), SingleJudge(model=deciding(lambda *_: "yes")))
    plan = PanelPlan(members=members)
    examples = [Example(id="a", output="A")]
    with evaluate(examples, CHECKLIST, judge=plan, store=tmp_path / "store.db") as run:
        assert run.status().n_unanswered == 3
    out = False
    with evaluate(examples, CHECKLIST, judge=plan, store=tmp_path / "store.db") as run:
        assert run.status().n_answered == 3
        assert run.usage().calls == 6
