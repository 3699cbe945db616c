from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import BudgetExceeded, ConfigError, ModelAuthError, ModelBusyError, ModelError, ModelRequestError
from bineval.judging.base import Judge
from bineval.judging.cascade import FAILURES, Cascade, CascadeSettings
from bineval.judging.chat import ChatJudge, ChatSettings, Mode
from bineval.judging.composite_plans import CascadePlan
from bineval.judging.composition import CascadeFacts, composition
from bineval.judging.decision import DecisionJudge
from bineval.judging.logprob import LogprobJudge
from bineval.judging.plans import JudgeOptions, SingleJudge
from bineval.methods.evaluate import evaluate, prepare
from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.decision_format import REFUSED
from bineval.models.scripted import Scripted
from bineval.store.database import Store
from bineval.types import Example, Price, Reason, Reply, Request, Usage, Verdict
from support.asking import CHECKLIST, CON_1, CON_2, FLU_1, Replies, answer, answers, deciding
from support.weighing import token, weighing

EXAMPLE = Example(id="a", input="An article.", output="Ann met Bob.")
QUESTIONS = [CON_1, CON_2, FLU_1]
BAND = CascadeSettings(low=0.3, high=0.7)
CHEAP, STRONG = "scripted/cheap", "scripted/strong"
UNREACHABLE = ModelBusyError("overloaded", model="m")


def cheap(*values: float | str) -> DecisionJudge:
    """A judge with these probabilities for the three questions; its numbers arrive as they are."""
    by_text = dict(zip([question.text for question in QUESTIONS], values, strict=False))
    return DecisionJudge(weighing(lambda _, text: by_text[text], CHEAP))


def strong(decide: Callable[[str, str], object] = lambda *_: "no", mode: Mode = "independent") -> ChatJudge:
    return ChatJudge(deciding(decide, STRONG), settings=ChatSettings(mode=mode))


def ask(first: Judge, second: Judge, settings: CascadeSettings = BAND, example: Example = EXAMPLE) -> list[Verdict]:
    return Cascade(first, second, settings=settings).ask(example, QUESTIONS)


def outcomes(verdicts: list[Verdict]) -> list[tuple[str | None, str]]:
    return [(verdict.answer or verdict.reason, verdict.judge) for verdict in verdicts]


# Who answers


@pytest.mark.parametrize(
    ("probability", "band", "judge"),
    [
        (0.29, (0.3, 0.7), CHEAP),
        (0.3, (0.3, 0.7), STRONG),
        (0.5, (0.3, 0.7), STRONG),
        (0.7, (0.3, 0.7), STRONG),
        (0.71, (0.3, 0.7), CHEAP),
        (0.5, (0.5, 0.5), STRONG),
        (0.51, (0.5, 0.5), CHEAP),
        (0.0, (0.0, 1.0), STRONG),
        (1.0, (0.0, 1.0), STRONG),
    ],
)
def test_probabilities_from_one_end_of_the_band_to_the_other_go_to_the_strong_judge(
    probability: float, band: tuple[float, float], judge: str
) -> None:
    settings = CascadeSettings(low=band[0], high=band[1])
    (verdict,) = Cascade(cheap(probability), strong(), settings=settings).ask(EXAMPLE, [CON_1])
    assert verdict.judge == judge


def test_the_strong_verdict_counts_and_the_cheap_one_stands_under_it() -> None:
    verdicts = ask(cheap(0.9, 0.5, 0.1), strong(lambda *_: "not_applicable"))
    assert outcomes(verdicts) == [("yes", CHEAP), ("not_applicable", STRONG), ("no", CHEAP)]
    kept, escalated, _ = verdicts
    assert kept.under == ()
    assert (kept.probability, escalated.probability) == (0.9, None)
    (under,) = escalated.under
    assert (under.answer, under.probability, under.judge) == ("no", 0.5, CHEAP)
    assert escalated.explanation == "Because."


@given(st.lists(st.sampled_from([0.0, 0.2, 0.3, 0.5, 0.7, 0.8, 1.0]), min_size=1, max_size=6), st.sampled_from([1, 3]))
def test_exactly_the_questions_in_the_band_go_to_the_strong_judge_and_the_order_stays(
    probabilities: list[float], most_together: int
) -> None:
    questions = [replace(CON_1, id=f"q{i}", text=f"Is it {i}?") for i in range(len(probabilities))]
    first = weighing(lambda _, text: probabilities[int(text[6:-1])], CHEAP)
    second = strong(lambda _, key: "yes", "all" if most_together > 1 else "independent")
    verdicts = Cascade(DecisionJudge(first), second, settings=BAND).ask(EXAMPLE, questions)
    in_band = [0.3 <= value <= 0.7 for value in probabilities]
    assert [verdict.judge == STRONG for verdict in verdicts] == in_band
    assert [verdict.answer for verdict in verdicts] == [
        "yes" if inside or value > 0.5 else "no" for value, inside in zip(probabilities, in_band, strict=True)
    ]


@pytest.mark.parametrize(("said", "reason"), [("no number", "unparsed"), (REFUSED, "refused")])
def test_what_the_cheap_judge_cannot_answer_goes_to_the_strong_one_for_the_reasons_that_are_set(
    said: str, reason: Reason
) -> None:
    assert outcomes(ask(cheap(said, 0.9, 0.9), strong()))[0] == ("no", STRONG)
    kept = ask(cheap(said, 0.9, 0.9), strong(), replace(BAND, on=FAILURES - {reason}))
    assert outcomes(kept)[0] == (reason, CHEAP)


def test_a_cheap_error_goes_to_the_strong_judge() -> None:
    def too_long(*_: str) -> float:
        raise ModelRequestError("9000 tokens do not fit", model="m")

    verdicts = ask(LogprobJudge(weighing(too_long)), strong(lambda *_: "yes"))
    assert outcomes(verdicts) == [("yes", STRONG)] * 3
    assert [verdict.under[0].reason for verdict in verdicts] == ["error"] * 3


def test_not_applicable_is_an_answer_that_is_kept() -> None:
    first = LogprobJudge(weighing(lambda *_: "Skip", CHEAP))
    (verdict,) = Cascade(first, strong(), settings=BAND).ask(EXAMPLE, [CON_2])
    assert (verdict.reason, verdict.judge, verdict.under) == ("not_applicable", CHEAP, ())


def test_nothing_is_asked_of_the_strong_judge_when_all_is_kept() -> None:
    unused = Replies()
    second = ChatJudge(unused.model, settings=ChatSettings(mode="all"))
    assert len(ask(cheap(0.9, 0.9, 0.1), second)) == 3
    assert unused.requests == []


# Failures of the strong judge


def test_a_failure_of_the_strong_judge_is_unanswered_and_the_cheap_answer_does_not_come_back() -> None:
    def refuses(*_: str) -> object:
        raise ModelRequestError("too long", model="m")

    verdicts = ask(cheap(0.9, 0.5, 0.6), strong(refuses))
    assert outcomes(verdicts) == [("yes", CHEAP), ("error", STRONG), ("error", STRONG)]
    assert verdicts[2].under[0].answer == "yes"
    assert verdicts[2].probability is None


def test_a_question_that_the_strong_judge_leaves_out_is_unparsed_and_no_other_slips_into_its_place() -> None:
    fewer = Replies(answers({"flu-1": "yes"}), answers({"flu-1": "yes", "zzz": "no"}))
    second = ChatJudge(fewer.model, settings=ChatSettings(mode="all"))
    verdicts = ask(cheap(0.5, 0.9, 0.5), second)
    assert [verdict.answer or verdict.reason for verdict in verdicts] == ["unparsed", "yes", "yes"]
    assert verdicts[1].judge == CHEAP


def test_a_judge_that_breaks_its_promise_of_one_verdict_a_question_is_found_out() -> None:
    class Short(ChatJudge):
        def ask(self, example: Example, questions: object, *, repeat: int = 0) -> list[Verdict]:
            return []

    with pytest.raises(ValueError, match="zip"):
        ask(cheap(0.5, 0.5, 0.5), Short(deciding(lambda *_: "yes", STRONG)))


@pytest.mark.parametrize("error", [UNREACHABLE, ModelAuthError("wrong key", model="m"), BudgetExceeded("enough")])
@pytest.mark.parametrize("place", ["cheap", "strong"])
def test_an_error_that_is_not_about_one_question_is_raised_by_either_judge(error: Exception, place: str) -> None:
    def fails(*_: str) -> float:
        raise error

    first = LogprobJudge(weighing(fails)) if place == "cheap" else cheap(0.5, 0.5, 0.5)
    with pytest.raises(type(error)):
        ask(first, strong(fails))


# Sentences


@pytest.mark.parametrize("mode", ["independent", "all"])
def test_sentences_of_one_question_are_told_apart(mode: Mode) -> None:
    sentences = {"Ann met Bob.": 0.9, "Bob left.": 0.5, "Rob sang.": 0.4}
    questions = [replace(CON_1, id=f"con-1/{place + 1}", sentence=sentence) for place, sentence in enumerate(sentences)]

    def first(request: Request) -> Reply:
        shown = request.messages[1].content
        return token(next(value for text, value in sentences.items() if f"SENTENCE>>>\n{text}" in shown))

    def second(request: Request) -> str:
        shown = request.messages[1].content
        if mode == "all":
            return answers({"con-1/3": "no", "con-1/2": "yes"})
        return answer("no" if "Rob sang." in shown else "yes")

    judge = Cascade(
        LogprobJudge(Scripted.from_function(first, CHEAP)),
        ChatJudge(Scripted.from_function(second, STRONG), settings=ChatSettings(mode=mode)),
        settings=BAND,
    )
    assert outcomes(judge.ask(EXAMPLE, questions)) == [("yes", CHEAP), ("yes", STRONG), ("no", STRONG)]


# Audits


def test_an_audited_answer_stays_with_the_strong_verdict_under_it() -> None:
    verdicts = ask(cheap(0.9, 0.5, 0.1), strong(lambda *_: "yes"), replace(BAND, audit=1.0))
    assert outcomes(verdicts) == [("yes", CHEAP), ("yes", STRONG), ("no", CHEAP)]
    assert [verdict.under[0].judge for verdict in verdicts] == [STRONG, CHEAP, STRONG]
    assert verdicts[2].under[0].answer == "yes"
    assert (verdicts[2].explanation, verdicts[2].probability) == (None, 0.1)


def test_what_has_no_answer_is_no_kept_answer_to_audit() -> None:
    settings = replace(BAND, audit=1.0, on=frozenset[Reason]())
    assert ask(cheap("?", "?", "?"), strong(), settings)[0].under == ()


def test_about_the_stated_share_of_kept_answers_is_audited_and_always_the_same_ones() -> None:
    def audited(seed: int) -> list[bool]:
        settings = replace(BAND, audit=0.25, seed=seed)
        examples = [Example(id=f"e{i}", output="x") for i in range(200)]
        return [
            bool(verdict.under) for item in examples for verdict in ask(cheap(0.9, 0.9, 0.9), strong(), settings, item)
        ]

    # 600 answers: 150 expected, standard deviation sqrt(600 · .25 · .75) = 10.6
    assert 110 < sum(audited(0)) < 190
    assert audited(0) == audited(0)
    assert audited(0) != audited(1)


# What it took


def test_usage_and_replies_are_those_of_both_judges() -> None:
    first = LogprobJudge(
        Scripted.from_function(lambda _: replace(token(0.5), usage=Usage(input_tokens=10, calls=1), key="k1"))
    )
    second = ChatJudge(
        Scripted(STRONG.partition("/")[2], ModelOptions(price=Price(input_usd=1.0, output_usd=0.0)),
                 script=lambda _: Reply(text=answer("no"), usage=Usage(input_tokens=7, calls=1), key="k2"))
    )  # fmt: skip
    (verdict,) = Cascade(first, second, settings=BAND).ask(EXAMPLE, [CON_1])
    assert verdict.usage == Usage(input_tokens=17, calls=2, cost_usd=7e-6)
    assert verdict.under[0].usage == Usage(input_tokens=10, calls=1)
    assert verdict.replies == ("k1", "k2")
    assert not verdict.cached


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_a_verdict_is_cached_when_both_replies_are(first: bool, second: bool) -> None:
    judge = Cascade(
        LogprobJudge(Scripted.from_function(lambda _: replace(token(0.5), cached=first), CHEAP)),
        ChatJudge(Scripted.from_function(lambda _: Reply(text=answer("no"), cached=second), STRONG)),
        settings=BAND,
    )
    assert judge.ask(EXAMPLE, [CON_1])[0].cached is (first and second)


# The judge


class Busy(Scripted):
    """A model with a limit that had to drop a parameter."""

    max_concurrency = 2  # type: ignore[misc,assignment]

    def dropped_parameters(self) -> dict[str, str]:
        return {"seed": "dropped"}


def test_batches_and_first_requests_are_the_cheap_judge_s() -> None:
    judge = Cascade(cheap(0.5, 0.5, 0.5), strong(), settings=BAND)
    assert judge.batches(QUESTIONS) == [QUESTIONS]
    assert [model.name for model, _ in judge.first_requests(EXAMPLE, QUESTIONS)] == [CHEAP]


def test_limits_and_changed_parameters_are_those_of_both() -> None:
    limited = DecisionJudge(Busy.from_function(lambda _: "", CHEAP))
    judge = Cascade(limited, strong(), settings=BAND)
    assert judge.max_concurrency is None
    assert judge.parameters_changed() == {f"{CHEAP}: seed": "dropped"}
    both = Cascade(limited, ChatJudge(Busy.from_function(lambda _: "", STRONG)), settings=BAND)
    assert both.max_concurrency == 2


def test_it_gives_probabilities_when_both_do() -> None:
    assert not Cascade(cheap(), strong(), settings=BAND).gives_probability
    assert Cascade(cheap(), LogprobJudge(deciding(lambda *_: "yes", STRONG)), settings=BAND).gives_probability


def test_settings_hold_all_that_can_change_an_answer() -> None:
    base = Cascade(cheap(), strong(), settings=BAND).settings
    assert base["cheap"] == {"name": CHEAP, **cheap().settings}
    assert base["strong"] == {"name": STRONG, **strong().settings}
    changes: list[dict[str, object]] = [
        {"low": 0.4}, {"high": 0.6}, {"on": frozenset({"error"})}, {"audit": 0.1}, {"seed": 1},
    ]  # fmt: skip
    for change in changes:
        changed = Cascade(cheap(), strong(), settings=replace(BAND, **change)).settings  # type: ignore[arg-type]
        assert [name for name in base if base[name] != changed[name]] == list(change)


def test_one_model_can_be_both_judges_where_it_is_asked_in_two_ways() -> None:
    def both(request: Request) -> str | Reply:
        return token(0.5) if request.top_logprobs else answer("no")

    model = Scripted.from_function(both, "scripted/one")
    judge = Cascade(LogprobJudge(model), ChatJudge(model), settings=BAND)
    (verdict,) = judge.ask(EXAMPLE, [CON_1])
    assert (verdict.judge, verdict.under[0].judge) == ("scripted/one (chat)", "scripted/one (logprob)")
    with pytest.raises(ConfigError, match=r"scripted/one \(logprob\) is there 2 times"):
        Cascade(LogprobJudge(model), LogprobJudge(model), settings=BAND)


def test_a_cheap_judge_without_probabilities_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"scripted/strong gives no probabilities.*--kind logprob"):
        Cascade(strong(), cheap(), settings=BAND)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"low": 0.7, "high": 0.3}, "band"),
        ({"low": -0.1, "high": 0.3}, "band"),
        ({"low": 0.1, "high": float("nan")}, "band"),
        ({"low": 0, "high": 1, "on": {"not_applicable"}}, "cannot escalate on 'not_applicable'"),
        ({"low": 0, "high": 1, "audit": 1.5}, "audit is a share"),
        ({"low": 0, "high": 1, "audit": float("nan")}, "audit is a share"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        CascadeSettings(**settings)  # type: ignore[arg-type]


def test_a_cascade_can_be_the_strong_judge_of_another() -> None:
    inner = Cascade(DecisionJudge(weighing(lambda *_: 0.5, "scripted/middle")), strong(), settings=BAND)
    (verdict,) = Cascade(cheap(0.5), inner, settings=BAND).ask(EXAMPLE, [CON_1])
    assert verdict.judge == "cascade(scripted/middle, scripted/strong)"
    assert [item.judge for item in verdict.under] == [CHEAP, "scripted/middle"]


# A whole run


class Counted:
    """Models for a cascade; they count their calls, and the strong one may fail."""

    def __init__(self) -> None:
        self.n_cheap = self.n_strong = 0
        self.error: ModelError | None = None

    def plan(self, **settings: object) -> CascadePlan:
        first = SingleJudge(model=weighing(self._first, CHEAP), options=JudgeOptions(kind="logprob"))
        second = SingleJudge(model=deciding(self._second, STRONG))
        band = replace(BAND, **settings)  # type: ignore[arg-type]
        return CascadePlan(cheap=first, strong=second, settings=band)

    def _first(self, output: str, _: str) -> float:
        self.n_cheap += 1
        return 0.5 if output == "text 1" else 0.9

    def _second(self, *_: str) -> str:
        self.n_strong += 1
        if self.error is not None:
            raise self.error
        return "no"


EXAMPLES = [Example(id=f"e{i}", output=f"text {i}") for i in range(4)]


def test_a_run_is_judged_by_a_cascade_and_resumed_without_a_call(tmp_path: Path) -> None:
    counted = Counted()
    for _ in range(2):
        with evaluate(EXAMPLES, CHECKLIST, judge=counted.plan(), store=tmp_path / "store.db") as run:
            verdicts = [row.verdict for row in run.verdicts()]
            facts = composition(run.verdicts(), run.manifest["judge"])  # type: ignore[arg-type]
        assert [verdict.answer for verdict in verdicts] == ["yes"] * 3 + ["no"] * 3 + ["yes"] * 6
        assert [verdict.under[0].judge for verdict in verdicts[3:6]] == [CHEAP] * 3
        assert run.judge == "cascade(scripted/cheap, scripted/strong)"
        assert isinstance(facts, CascadeFacts)
        assert (facts.n_kept, facts.n_escalated, facts.n_unreached) == (9, 3, 0)
        assert (facts.cheap_usage.calls, facts.strong_usage.calls) == (12, 3)
        assert (counted.n_cheap, counted.n_strong) == (12, 3)


def test_another_band_is_another_run(tmp_path: Path) -> None:
    counted = Counted()
    place = tmp_path / "store.db"
    evaluate(EXAMPLES, CHECKLIST, judge=counted.plan(), store=place, name="run").close()
    with pytest.raises(ConfigError, match=r"judge\.high: 0\.7 in the run, 0\.95 now"):
        evaluate(EXAMPLES, CHECKLIST, judge=counted.plan(high=0.95), store=place, name="run")


@pytest.mark.parametrize("error", [ModelRequestError("too long", model=STRONG), ModelAuthError("no", model=STRONG)])
def test_what_the_strong_judge_failed_at_is_asked_again_and_nothing_is_paid_twice(
    tmp_path: Path, error: ModelError
) -> None:
    counted = Counted()
    counted.error = error
    place = tmp_path / "store.db"
    try:
        with evaluate(EXAMPLES, CHECKLIST, judge=counted.plan(), store=place) as run:
            assert [row.verdict.reason for row in run.verdicts()][3:6] == ["error"] * 3
    except ModelAuthError:
        pass
    counted.error = None
    with evaluate(EXAMPLES, CHECKLIST, judge=counted.plan(), store=place) as run:
        assert run.status().n_answered == 12
        assert run.usage().calls == 12 + 3
    assert counted.n_cheap == 12


def test_a_forecast_needs_no_call(tmp_path: Path) -> None:
    counted = Counted()
    job = prepare(EXAMPLES, CHECKLIST, judge=counted.plan())
    with Store(tmp_path / "store.db") as store:
        assert job.forecast(store, None).n_calls == 12
    assert counted.n_cheap == 0


def test_a_model_without_log_probabilities_is_refused_before_any_call(tmp_path: Path) -> None:
    class Mute(Scripted):
        capabilities = Capabilities(top_logprobs=0)

    first = SingleJudge(model=Mute.from_function(lambda _: "", CHEAP), options=JudgeOptions(kind="logprob"))
    plan = replace(Counted().plan(), cheap=first)
    with pytest.raises(ConfigError, match="reports no log probabilities"):
        evaluate(EXAMPLES, CHECKLIST, judge=plan, store=tmp_path / "store.db")
