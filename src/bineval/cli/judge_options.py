"""Options that say who judges and how: one model, a cascade of two, or a panel; and the plan they make."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bineval.cli.options import Number, added, model_options, model_options_of, prompt_option, prompts_of

if TYPE_CHECKING:
    from bineval.judging.cascade import CascadeSettings
    from bineval.judging.plans import ExplainSettings, JudgePlan, Kind, SingleJudge
    from bineval.models.catalog import ModelOptions
    from bineval.stats.bands import Band

_Command = TypeVar("_Command", bound=Callable[..., Any])

_KINDS = click.Choice(["chat", "logprob", "decision"])
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHARE = Number(min=0, max=1)


def judge_options(command: _Command) -> _Command:
    """Adds the options; `plan_of` makes their value."""
    return _who_options(_how_options(_cascade_options(_panel_options(command))))


def _who_options(command: _Command) -> _Command:
    return added(
        command,
        click.option(
            "--judge",
            "judges",
            required=True,
            multiple=True,
            metavar="MODEL",
            help="provider/model, such as openai/NAME or llamacpp/NAME; several make a panel.",
        ),
        click.option(
            "--kind",
            type=_KINDS,
            help="Written answers with explanations, the probability of one word, or a decision model.  "
            "[default: decision for decision models, else chat]",
        ),
    )


def _how_options(command: _Command) -> _Command:
    return added(
        command,
        click.option(
            "--mode",
            type=click.Choice(["independent", "dimension", "all"]),
            default="independent",
            show_default=True,
            help="Chat: one call per question, per dimension, or for all questions.",
        ),
        click.option("--evidence", is_flag=True, help="Chat: ask for quotes, and check them against the text."),
        click.option("--temperature", type=Number(min=0), default=0.0, show_default=True, help="Chat."),
        click.option("--seed", type=int, help="Chat: sent to models that take one; repeats add their number to it."),
        click.option(
            "--max-reply-tokens",
            type=click.IntRange(min=1),
            help="Chat: cap of one reply.  [default: 400 an answer]",
        ),
        click.option(
            "--min-mass",
            type=_SHARE,
            default=0.5,
            show_default=True,
            help="Logprob: least P(yes) + P(no); below it there is no answer.",
        ),
        click.option("--max-questions", type=click.IntRange(min=1), help="Decision: most questions in one request."),
        click.option("--contrast", is_flag=True, help="Count how much the source raises the odds of yes."),
        click.option("--calibration", type=_FILE, help="File of bineval calibrate, made for this very judge."),
        click.option(
            "--explain",
            type=click.Choice(["all", "no", "unsure", "none"]),
            help="Logprob and decision: which answers are explained afterwards.  [default: none]",
        ),
        click.option("--explainer", metavar="MODEL", help="Model that explains.  [default: the judge]"),
        click.option("--explainer-url", metavar="URL", help="Root of the explainer's server."),
        prompt_option,
    )


def _cascade_options(command: _Command) -> _Command:
    return added(
        command,
        click.option("--strong", metavar="MODEL", help="Cascade: judge that gets the questions in --band."),
        click.option("--strong-kind", type=_KINDS, help="Cascade: how the strong judge answers."),
        click.option("--strong-url", metavar="URL", help="Cascade: root of the strong judge's server."),
        click.option("--strong-key-env", metavar="NAME", help="Cascade: variable that holds the strong judge's key."),
        click.option("--strong-price", metavar="INPUT,OUTPUT", help="Cascade: US dollars per million tokens."),
        click.option(
            "--band",
            metavar="LOW,HIGH|FILE",
            help="Cascade: the P(yes) in which the strong judge is asked, or a file of bineval band.",
        ),
        click.option(
            "--audit",
            type=_SHARE,
            default=0.0,
            show_default=True,
            help="Cascade: share of the other questions that the strong judge is asked too.",
        ),
    )


def _panel_options(command: _Command) -> _Command:
    return added(
        command,
        click.option(
            "--rule",
            type=click.Choice(["vote", "mean"]),
            default="vote",
            show_default=True,
            help="Panel: majority of the answers, or mean of the probabilities.",
        ),
        click.option("--weights", metavar="W,W,…", help="Panel: weights of the judges, in order.  [default: equal]"),
        click.option(
            "--quorum",
            type=click.IntRange(min=1),
            help="Panel: least judges with an answer.  [default: more than half]",
        ),
        model_options,
    )


def plan_of(values: Mapping[str, Any]) -> "JudgePlan":
    """The judge that a command's values describe.

    Raises:
        ConfigError: A model's name, or what it should do, cannot be.
    """
    from bineval.judging.composite_plans import CascadePlan, PanelPlan
    from bineval.judging.panel import PanelSettings

    prompts = _Prompts(prompts_of(values["prompts"]))
    reach = model_options_of(values)
    weights = _numbers(values["weights"], "--weights")
    if len(values["judges"]) == 1:
        _refuse(values, ("weights", "quorum"), "a second --judge")
    if not values["strong"]:
        _refuse(values, ("strong_kind", "strong_url", "strong_key_env", "strong_price", "band", "audit"), "--strong")
    explain = _explain(values, prompts)
    is_single = len(values["judges"]) == 1 and not values["strong"]
    own = {**values, "explain": explain if is_single else None}
    members = [_single(name, reach, values["kind"], own, prompts) for name in values["judges"]]
    plan: JudgePlan = members[0]
    if len(members) > 1:
        settings = PanelSettings(rule=values["rule"], weights=weights, quorum=values["quorum"])
        plan = PanelPlan(members=tuple(members), settings=settings, explain=None if values["strong"] else explain)
    if values["strong"]:
        plan = CascadePlan(
            cheap=plan, strong=_strong(values, prompts), settings=_cascade_settings(values), explain=explain
        )
    prompts.refuse_unused()
    return plan


def _strong(values: Mapping[str, Any], prompts: "_Prompts") -> "JudgePlan":
    reach = {
        "base_url": values["strong_url"],
        "api_key_env": values["strong_key_env"],
        "price": values["strong_price"],
        "timeout_s": values["timeout_s"],
    }
    # What was learned about the cheap judge says nothing about the strong one.
    own = {**values, "calibration": None, "contrast": False, "explain": None}
    return _single(values["strong"], model_options_of(reach), values["strong_kind"], own, prompts)


def _single(
    name: str, reach: "ModelOptions", kind: "Kind | None", values: Mapping[str, Any], prompts: "_Prompts"
) -> "SingleJudge":
    from bineval.io.calibrations import load_calibration
    from bineval.judging.chat import JUDGE_PROMPTS, ChatSettings
    from bineval.judging.decision import DecisionSettings
    from bineval.judging.logprob import LOGPROB_PROMPTS, LogprobSettings
    from bineval.judging.plans import JudgeOptions, SingleJudge, usual_kind
    from bineval.models.catalog import open_model

    model = open_model(name, reach)
    kind = kind or usual_kind(model)
    chat_prompts = prompts.take(JUDGE_PROMPTS if kind == "chat" else ())
    logprob_prompts = prompts.take(LOGPROB_PROMPTS if kind == "logprob" else ())
    options = JudgeOptions(
        kind=kind,
        chat=ChatSettings(
            mode=values["mode"],
            evidence=values["evidence"],
            temperature=values["temperature"],
            seed=values["seed"],
            max_tokens=values["max_reply_tokens"],
            prompts=chat_prompts,
        ),
        logprob=LogprobSettings(min_mass=values["min_mass"], prompts=logprob_prompts),
        decision=DecisionSettings(max_questions=values["max_questions"]),
        contrast=values["contrast"],
        calibration=load_calibration(values["calibration"]) if values["calibration"] else None,
        explain=values["explain"],
    )
    return SingleJudge(model=model, options=options)


def _explain(values: Mapping[str, Any], prompts: "_Prompts") -> "ExplainSettings | None":
    from bineval.judging.explained import EXPLAIN_PROMPTS
    from bineval.judging.plans import ExplainSettings
    from bineval.models.catalog import open_model

    if values["explain"] in (None, "none"):
        _refuse(values, ("explainer", "explainer_url"), "--explain all, no or unsure")
        return None
    model = None
    if values["explainer"]:
        reach = {"base_url": values["explainer_url"], "api_key_env": None, "price": None}
        model = open_model(values["explainer"], model_options_of({**values, **reach}))
    return ExplainSettings(which=values["explain"], model=model, prompts=prompts.take(EXPLAIN_PROMPTS))


class _Prompts:
    """The user's prompt files, and which of them a judge has taken."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._known: set[str] = set()

    def take(self, names: Sequence[str]) -> dict[str, Path]:
        self._known.update(names)
        return {name: path for name, path in self._files.items() if name in names}

    def refuse_unused(self) -> None:
        for name in self._files:
            if name not in self._known:
                known = ", ".join(sorted(self._known)) or "none at all"
                raise click.BadParameter(f"this judge has no prompt {name!r}; it has {known}", param_hint="--prompt")


def _cascade_settings(values: Mapping[str, Any]) -> "CascadeSettings":
    from bineval.judging.cascade import CascadeSettings

    if values["band"] is None:
        raise click.UsageError("--strong needs --band: LOW,HIGH or a file of bineval band")
    band = _band(values["band"])
    return CascadeSettings(low=band.low, high=band.high, audit=values["audit"])


def _band(text: str) -> "Band":
    from bineval.io.bands import load_band
    from bineval.stats.bands import Band

    if Path(text).is_file():
        return load_band(text)
    ends = _numbers(text, "--band")
    if ends is None or len(ends) != 2:
        raise click.BadParameter(f"{text!r} must be two numbers, such as 0.2,0.8, or a file", param_hint="--band")
    return Band(low=ends[0], high=ends[1])


def _numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} must be numbers with commas between them", param_hint=option) from None


def _refuse(values: Mapping[str, Any], names: Sequence[str], needs: str) -> None:
    for name in names:
        if values[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {needs}")
