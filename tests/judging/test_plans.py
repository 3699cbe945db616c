"""Plans of every kind: the judge each builds has settings that can be saved, and that tell it from any other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.calibrated import judge_hash
from bineval.judging.cascade import CascadeSettings
from bineval.judging.chat import ChatSettings
from bineval.judging.composite_plans import CascadePlan, PanelPlan
from bineval.judging.decision import DecisionSettings
from bineval.judging.explained import Which
from bineval.judging.job import RunOptions
from bineval.judging.logprob import LogprobSettings
from bineval.judging.manifest import differences
from bineval.judging.panel import PanelSettings
from bineval.judging.plans import ExplainSettings, JudgeOptions, JudgePlan, Kind, SingleJudge
from bineval.methods.evaluate import evaluate
from bineval.models.scripted import Scripted
from bineval.stats.calibration import Calibration, FittedMap, PlattMap
from support.asking import CHECKLIST, answer
from support.weighing import weighing

WEIGHING = weighing(lambda output, question: 0.9, "scripted/weighing")
TALKING = Scripted.from_function(lambda request: answer("yes"), "scripted/talking")
OTHER = Scripted.from_function(lambda request: answer("no"), "scripted/other")


def single(kind: Kind = "logprob", model: Scripted = WEIGHING, **options: object) -> SingleJudge:
    return SingleJudge(model=model, options=JudgeOptions(kind=kind, **options))  # type: ignore[arg-type]


def settings(plan: JudgePlan) -> dict[str, Json]:
    return dict(plan.build(lambda model: model, checklist=CHECKLIST).settings)


def calibration(slope: float = 1.0) -> Calibration:
    fitted = FittedMap(map=PlattMap(slope=slope, intercept=0.0), threshold=0.5, n_train=50)
    return Calibration(
        run="r", judge="scripted/weighing", judge_hash=judge_hash(settings(single())), seed=0, maps={"*": fitted}
    )


def explaining(which: Which = "no", model: Scripted = TALKING, **more: object) -> ExplainSettings:
    return ExplainSettings(which=which, model=model, **more)  # type: ignore[arg-type]


def cascade(strong: SingleJudge | None = None, explain: ExplainSettings | None = None, **band: object) -> CascadePlan:
    band = {"low": 0.4, "high": 0.95, **band}
    return CascadePlan(
        cheap=single(),
        strong=strong or single("chat", TALKING),
        settings=CascadeSettings(**band),  # type: ignore[arg-type]
        explain=explain,
    )


def panel(members: tuple[SingleJudge, ...] | None = None, **more: object) -> PanelPlan:
    members = members or (single(), single("chat", TALKING), single("chat", OTHER))
    return PanelPlan(members=members, settings=PanelSettings(**more))  # type: ignore[arg-type]


PLANS: dict[str, tuple[JudgePlan, dict[str, JudgePlan]]] = {
    "chat": (
        single("chat", TALKING),
        {
            "judge.mode": single("chat", TALKING, chat=ChatSettings(mode="all")),
            "judge.evidence": single("chat", TALKING, chat=ChatSettings(evidence=True)),
            "judge.seed": single("chat", TALKING, chat=ChatSettings(seed=1)),
            "judge.max_tokens": single("chat", TALKING, chat=ChatSettings(max_tokens=50)),
            "judge.model.script": single("chat", OTHER),
        },
    ),
    "logprob": (
        single(),
        {
            "judge.min_mass": single(logprob=LogprobSettings(min_mass=0.4)),
            "judge.contrast": single(contrast=True),
            "judge.calibration": single(calibration=calibration()),
            "judge.explain": single(explain=explaining()),
        },
    ),
    "decision": (
        single("decision"),
        {"judge.max_questions": single("decision", decision=DecisionSettings(max_questions=2))},
    ),
    "calibrated": (
        single(calibration=calibration()),
        {"judge.calibration": single(calibration=calibration(slope=2.0))},
    ),
    "explained": (
        single(explain=explaining()),
        {
            "judge.explain.which": single(explain=explaining("all")),
            "judge.explain.unsure_within": single(explain=explaining(unsure_within=0.2)),
            "judge.explain.model.script": single(explain=explaining(model=OTHER)),
        },
    ),
    "cascade": (
        cascade(),
        {
            "judge.low": cascade(low=0.3),
            "judge.high": cascade(high=0.96),
            "judge.on": cascade(on=frozenset({"error"})),
            "judge.audit": cascade(audit=0.1),
            "judge.seed": cascade(seed=1),
            "judge.explain": cascade(explain=explaining()),
            "judge.strong.mode": cascade(single("chat", TALKING, chat=ChatSettings(mode="all"))),
        },
    ),
    "panel": (
        panel(),
        {
            "judge.members.scripted/other.weight": panel(weights=(1.0, 1.0, 2.0)),
            "judge.quorum": panel(quorum=3),
            "judge.members.scripted/talking.temperature": panel(
                (single(), single("chat", TALKING, chat=ChatSettings(temperature=0.5)), single("chat", OTHER))
            ),
        },
    ),
}
CHANGES = [(kind, place) for kind, (_, changes) in PLANS.items() for place in changes]


@pytest.mark.parametrize("kind", PLANS)
def test_settings_are_the_same_after_they_were_saved(kind: str) -> None:
    plan, _ = PLANS[kind]
    assert json.loads(json.dumps(settings(plan))) == settings(plan)


@pytest.mark.parametrize(("kind", "place"), CHANGES)
def test_whatever_can_change_an_answer_is_a_difference_in_its_place(kind: str, place: str) -> None:
    plan, changes = PLANS[kind]
    lines = differences({"judge": settings(plan)}, {"judge": settings(changes[place])})
    assert [line.split(": ")[0] for line in lines] == [place]


@pytest.mark.parametrize("kind", PLANS)
def test_a_run_of_each_kind_resumes_as_it_is_and_not_as_another(kind: str, tmp_path: Path) -> None:
    plan, changes = PLANS[kind]
    options = RunOptions(limit=1)
    data = [{"id": "a", "input": "The ferry leaves.", "output": "The ferry left."}, {"id": "b", "output": "It rained."}]
    with evaluate(data, CHECKLIST, judge=plan, name="r", store=tmp_path / "s.db", options=options) as run:
        assert run.status().finished
    with pytest.raises(ConfigError, match="cannot be resumed"):
        evaluate(data, CHECKLIST, judge=next(iter(changes.values())), name="r", store=tmp_path / "s.db")
    with evaluate(data, CHECKLIST, judge=plan, name="r", store=tmp_path / "s.db") as run:
        assert (run.status().n_done, run.status().n_unanswered) == (2 * len(CHECKLIST.questions), 0)
        names = {model.name for model in plan.models()}
        assert set(run.manifest["answering_models"]) <= names  # type: ignore[call-overload]


def test_thresholds_are_part_of_the_run_s_checklist(tmp_path: Path) -> None:
    data = [{"id": "a", "output": "The ferry left."}]
    with evaluate(data, CHECKLIST, judge=cascade(), name="r", store=tmp_path / "s.db"):
        pass
    with pytest.raises(ConfigError, match=r"checklist\.threshold: .*, 0\.6 now"):
        evaluate(data, replace(CHECKLIST, threshold=0.6), judge=cascade(), name="r", store=tmp_path / "s.db")


def test_a_chat_judge_takes_no_explanations_afterwards() -> None:
    with pytest.raises(ConfigError, match="explains every answer itself"):
        settings(single("chat", TALKING, explain=explaining()))
