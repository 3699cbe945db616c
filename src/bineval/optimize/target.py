"""The judge whose prompt is improved: which of its prompts may change, and the judge with each version of it."""

from dataclasses import dataclass, replace

from bineval.errors import ConfigError
from bineval.judging.forms import ANSWER_VARIABLES
from bineval.judging.logprob import LOGPROB_PROMPTS, TOKEN_VARIABLES
from bineval.judging.plans import SingleJudge
from bineval.judging.runs import Run
from bineval.optimize.evaluator import Evaluator, version_of
from bineval.optimize.subjects import JUDGE
from bineval.templates import Prompt, load_prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetJudge:
    """A judge as the subject of a loop; see `bineval.optimize.subjects.Subject`.

    Attributes:
        judge: The judge.
        evaluator: Makes its runs.
    """

    judge: SingleJudge
    evaluator: Evaluator
    role = JUDGE

    @property
    def name(self) -> str:
        """Name of its model."""
        return self.judge.name

    @property
    def start(self) -> Prompt:
        """Its own prompt."""
        return changeable_prompt(self.judge)

    @property
    def n_examples(self) -> dict[str, int]:
        """Examples by split."""
        return self.evaluator.n_examples

    def run(self, prompt: Prompt, split: str) -> Run:
        """Its run with a version of the prompt."""
        return self.evaluator.run(with_prompt(self.judge, prompt), split, version_of(prompt))


def changeable_prompt(target: SingleJudge) -> Prompt:
    """The prompt by which a judge asks its questions, which holds the rules that may change.

    Raises:
        ConfigError: It has none, as it is a decision model.
        TemplateError: The prompt has no rules.
    """
    name = _prompt_name(target)
    if name in LOGPROB_PROMPTS:
        prompt = load_prompt(name, given=target.options.logprob.prompts.get(name), variables=TOKEN_VARIABLES)
    else:
        prompt = load_prompt(name, given=target.options.chat.prompts.get(name), variables=ANSWER_VARIABLES[name])
    # Refused now, and not after the first lessons are paid for.
    return prompt.with_rules(prompt.rules or "")


def with_prompt(target: SingleJudge, prompt: Prompt) -> SingleJudge:
    """The judge with another version of its prompt."""
    options = target.options
    if prompt.name in LOGPROB_PROMPTS:
        logprob = replace(options.logprob, prompts={**options.logprob.prompts, prompt.name: prompt})
        return replace(target, options=replace(options, logprob=logprob))
    chat = replace(options.chat, prompts={**options.chat.prompts, prompt.name: prompt})
    return replace(target, options=replace(options, chat=chat))


def _prompt_name(target: SingleJudge) -> str:
    match target.kind:
        case "decision":
            raise ConfigError(f"{target.name} is a decision model: it has no prompt that could be improved")
        case "logprob":
            return LOGPROB_PROMPTS[0]
        case "chat":
            return "judge_one" if target.options.chat.mode == "independent" else "judge_several"
