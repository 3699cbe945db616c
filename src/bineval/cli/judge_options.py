"""Options that say who judges and how: one model, a cascade of two, or a panel; and the plan they make."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bineval.cli.options import Number, added, model_options, model_options_of, prompt_option, prompts_of, section

if TYPE_CHECKING:
    from bineval.judging.cascade import CascadeSettings
    from bineval.judging.plans import ExplainSettings, JudgePlan, Kind, SingleJudge
    from bineval.models.base import Model
    from bineval.models.catalog import ModelOptions
    from bineval.stats.bands import Band

    OpenModel = Callable[[str, ModelOptions], Model]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_KINDS = click.Choice(["chat", "logprob", "decision"])
# Names of options whose values are called otherwise.
_SHOWN = {"judges": "judge", "methods": "method", "n_samples": "samples", "prompts": "prompt"}
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHARE = Number(min=0, max=1)
_OPTIONS_OF: "Mapping[Kind, Sequence[str]]" = {
    "chat": ("mode", "evidence", "temperature", "seed", "max_reply_tokens"),
    "logprob": ("min_mass",),
    "decision": ("max_questions",),
}


def judge_options(command: _Command) -> _Command:
    """Adds the options; `plan_of` makes their value."""
    for add in (
        _panel_options,
        _cascade_options,
        _explain_options,
        _probability_options,
        _chat_options,
        model_options,
        _who_options,
    ):
        command = add(command)
    return command


def _who_options(command: _Command) -> _Command:
    return added(
        command,
        click.option(
            "--judge",
            "judges",
            multiple=True,
            metavar="MODEL",
            help="provider/model, such as openai/NAME or llamacpp/NAME; several make a panel.",
        ),
        click.option(
            "--kind",
            type=_KINDS,
            help="Answers in writing, the probability of one word, or a decision model.  "
            "[default: decision for decision models, else chat]",
        ),
        prompt_option,
    )


def _chat_options(command: _Command) -> _Command:
    option = section("Answers in writing (--kind chat)")
    return added(
        command,
        option(
            "--mode",
            type=click.Choice(["independent", "dimension", "all"]),
            help="One call per question, per dimension, or for all questions.  [default: independent]",
        ),
        option("--evidence", is_flag=True, help="Ask for quotes too, and check them against the text."),
        option("--temperature", type=Number(min=0), help="0 for the likeliest answer.  [default: 0]"),
        option("--seed", type=int, help="Sent to models that take one; repeats add their number to it."),
        option(
            "--max-reply-tokens",
            type=click.IntRange(min=1),
            metavar="N",
            help="Cap of a reply.  [default: 400 an answer]",
        ),
    )


def _probability_options(command: _Command) -> _Command:
    option = section("Probabilities of yes and no (--kind logprob or decision)")
    return added(
        command,
        option(
            "--min-mass",
            type=_SHARE,
            metavar="SHARE",
            help="logprob: least P(yes) + P(no); below it there is no answer.  [default: 0.5]",
        ),
        option(
            "--max-questions",
            type=click.IntRange(min=1),
            metavar="N",
            help="decision: most questions in one request.  [default: what the model takes]",
        ),
        option("--calibration", type=_FILE, help="File of bineval calibrate, made for this very judge."),
        option(
            "--contrast", is_flag=True, help="Ask without the source too, and count how much it raises the odds of yes."
        ),
    )


def _explain_options(command: _Command) -> _Command:
    option = section("Explanations of answers that have none")
    return added(
        command,
        option(
            "--explain",
            type=click.Choice(["all", "no", "unsure", "none"]),
            help="Which answers are explained afterwards.  [default: none]",
        ),
        option("--explainer", metavar="MODEL", help="Model that explains.  [default: the judge, or the strong one]"),
        option("--explainer-url", metavar="URL", help="Root of the explainer's server."),
    )


def _cascade_options(command: _Command) -> _Command:
    option = section("Cascade (a strong judge takes over where the first is unsure)")
    return added(
        command,
        option("--strong", metavar="MODEL", help="The strong judge."),
        option(
            "--band",
            metavar="LOW,HIGH|FILE",
            help="It takes over where P(yes) is in this band: two numbers, or a file of bineval band.",
        ),
        option(
            "--audit",
            type=_SHARE,
            metavar="SHARE",
            help="Share of the other questions that it is asked too, to see how often it agrees.  [default: 0]",
        ),
        option("--strong-kind", type=_KINDS, help="As --kind."),
        option("--strong-url", metavar="URL", help="As --base-url."),
        option("--strong-key-env", metavar="NAME", help="As --api-key-env."),
        option("--strong-price", metavar="INPUT,OUTPUT", help="As --price."),
    )


def _panel_options(command: _Command) -> _Command:
    option = section("Panel (several --judge)")
    return added(
        command,
        option(
            "--rule",
            type=click.Choice(["vote", "mean"]),
            help="Majority of the answers, or mean of the probabilities.  [default: vote]",
        ),
        option("--weights", metavar="W,W,…", help="One for each judge, in their order.  [default: equal]"),
        option(
            "--quorum",
            type=click.IntRange(min=1),
            metavar="N",
            help="So many judges must have an answer, or there is none.  [default: more than half]",
        ),
    )


def plan_of(values: Mapping[str, Any], open_with: "OpenModel | None" = None) -> "JudgePlan":
    """The judge that a command's values describe.

    Args:
        values: Those of `judge_options`.
        open_with: Opens models; None for `bineval.models.catalog.open_model`.

    Raises:
        ConfigError: A model's name, or what it should do, cannot be.
    """
    from bineval.judging.composite_plans import CascadePlan, PanelPlan
    from bineval.judging.panel import PanelSettings
    from bineval.models.catalog import open_model

    prompts = _Prompts(prompts_of(values["prompts"]))
    values = {**values, "open_with": open_with or open_model}
    reach = model_options_of(values)
    weights = _numbers(values["weights"], "--weights")
    if len(values["judges"]) == 1:
        refuse(values, ("rule", "weights", "quorum"), "a second --judge")
    if not values["strong"]:
        refuse(values, ("strong_kind", "strong_url", "strong_key_env", "strong_price", "band", "audit"), "--strong")
    explain = _explain(values, prompts)
    is_single = len(values["judges"]) == 1 and not values["strong"]
    own = {**values, "explain": explain if is_single else None}
    members = [_single(name, reach, values["kind"], own, prompts) for name in values["judges"]]
    plan: JudgePlan = members[0]
    if len(members) > 1:
        settings = PanelSettings(weights=weights, quorum=values["quorum"], **_given(values, "rule"))
        plan = PanelPlan(members=tuple(members), settings=settings, explain=None if values["strong"] else explain)
    judges = [*members]
    if values["strong"]:
        judges.append(strong := _strong(values, prompts))
        plan = CascadePlan(cheap=plan, strong=strong, settings=_cascade_settings(values), explain=explain)
    prompts.refuse_unused()
    _refuse_unheeded(values, judges)
    return plan


def open_writer(values: Mapping[str, Any]) -> "Model":
    """The model of --generate; the server, key and price of the command are the judge's.

    Raises:
        ConfigError: There can be no such model.
    """
    from bineval.models.catalog import open_model

    reach = {"base_url": values["generate_url"], "api_key_env": None, "price": None}
    return open_model(values["generate"], model_options_of({**values, **reach}))


def _strong(values: Mapping[str, Any], prompts: "_Prompts") -> "SingleJudge":
    reach = {
        "base_url": values["strong_url"],
        "api_key_env": values["strong_key_env"],
        "price": values["strong_price"],
        "timeout_s": values["timeout_s"],
    }
    # What was learned about the cheap judge says nothing about the strong one.
    own = {**values, "calibration": None, "contrast": False, "explain": None}
    options = model_options_of(reach, price_option="--strong-price")
    return _single(values["strong"], options, values["strong_kind"], own, prompts)


def _single(
    name: str, reach: "ModelOptions", kind: "Kind | None", values: Mapping[str, Any], prompts: "_Prompts"
) -> "SingleJudge":
    from bineval.io.calibrations import load_calibration
    from bineval.judging.chat import JUDGE_PROMPTS, ChatSettings
    from bineval.judging.decision import DecisionSettings
    from bineval.judging.logprob import LOGPROB_PROMPTS, LogprobSettings
    from bineval.judging.plans import JudgeOptions, SingleJudge, usual_kind

    model = values["open_with"](name, reach)
    kind = kind or usual_kind(model)
    chat_prompts = prompts.take(JUDGE_PROMPTS if kind == "chat" else ())
    logprob_prompts = prompts.take(LOGPROB_PROMPTS if kind == "logprob" else ())
    options = JudgeOptions(
        kind=kind,
        chat=ChatSettings(
            evidence=values["evidence"],
            seed=values["seed"],
            max_tokens=values["max_reply_tokens"],
            prompts=chat_prompts,
            **_given(values, "mode", "temperature"),
        ),
        logprob=LogprobSettings(prompts=logprob_prompts, **_given(values, "min_mass")),
        decision=DecisionSettings(max_questions=values["max_questions"]),
        contrast=values["contrast"],
        calibration=load_calibration(values["calibration"]) if values["calibration"] else None,
        explain=values["explain"],
    )
    return SingleJudge(model=model, options=options)


def _explain(values: Mapping[str, Any], prompts: "_Prompts") -> "ExplainSettings | None":
    from bineval.judging.explained import EXPLAIN_PROMPTS
    from bineval.judging.plans import ExplainSettings

    if values["explain"] in (None, "none"):
        refuse(values, ("explainer", "explainer_url"), "--explain all, no or unsure")
        return None
    model = None
    if values["explainer"]:
        reach = {"base_url": values["explainer_url"], "api_key_env": None, "price": None}
        model = values["open_with"](values["explainer"], model_options_of({**values, **reach}))
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
    return CascadeSettings(low=band.low, high=band.high, **_given(values, "audit"))


def _band(text: str) -> "Band":
    from bineval.io.bands import load_band
    from bineval.stats.bands import Band

    if Path(text).is_file():
        return load_band(text)
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        problem = f"{text!r} must be two numbers, such as 0.2,0.8, or a file that is there"
        raise click.BadParameter(problem, param_hint="--band") from None
    return Band(low=low, high=high)


def _numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} must be numbers with commas between them", param_hint=option) from None


def _given(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The values that were given; the settings know what the others are."""
    return {name: values[name] for name in names if values[name] is not None}


def refuse(values: Mapping[str, Any], names: Sequence[str], needs: str) -> None:
    """Refuses options that are given without what they need."""
    for name in names:
        if is_given(values[name]):
            raise click.UsageError(f"--{_SHOWN.get(name, name).replace('_', '-')} needs {needs}")


def is_given(value: object) -> bool:
    """Whether the value of an option was given, and is not that of an option left out."""
    return value is not None and value is not False and value != ()


def unheeded_by_kind(kind: str) -> dict[str, str]:
    """The options that a judge of a kind does not heed, each with what it needs."""
    return {
        name: f"a judge of --kind {other}" for other, names in _OPTIONS_OF.items() if other != kind for name in names
    }


def _refuse_unheeded(values: Mapping[str, Any], judges: Sequence["SingleJudge"]) -> None:
    """Refuses options that none of the judges heeds."""
    kinds = {judge.kind for judge in judges}
    for kind, names in _OPTIONS_OF.items():
        if kind not in kinds:
            refuse(values, names, f"a judge of --kind {kind}")
