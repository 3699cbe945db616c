"""Explanations after the fact: a language model is told a verdict that has none, and explains or disputes it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from bineval.errors import ConfigError, ModelBusyError, ModelError
from bineval.hashing import Json
from bineval.judging.base import Judge, JudgeWrapper
from bineval.judging.forms import SingleForm
from bineval.judging.members import largest_concurrency, prefixed
from bineval.judging.parsing import Parsed
from bineval.judging.rendering import example_text
from bineval.judging.talk import Talk, asked_again, refusal_in, replies_together
from bineval.models.base import Model
from bineval.templates import Prompt, PromptSource, load_prompt
from bineval.types import Example, Question, Reply, Request, Usage, Verdict

Which = Literal["all", "no", "unsure", "none"]
WHICH: tuple[Which, ...] = get_args(Which)

UNSURE_WITHIN = 0.1
"""How far from its threshold a P(yes) may lie to be unsure, where nobody says otherwise."""

_EXPLAIN, _AGAIN = "explain", "judge_again"
_VARIABLES = {
    _EXPLAIN: frozenset({"example", "question", "violation", "verdict", "form"}),
    _AGAIN: frozenset({"problem", "questions", "form"}),
}
# Without these, it would explain nothing.
_REQUIRED = {_EXPLAIN: frozenset({"example", "question", "verdict"}), _AGAIN: frozenset({"questions"})}
EXPLAIN_PROMPTS = tuple(_VARIABLES)

_MAX_TOKENS = 400
_RAISE_CAP = 4
# So that 0.6 is within 0.1 of 0.5, whatever its last bit.
_ROUNDING = 1e-9


class Explained(JudgeWrapper):
    """Explains verdicts of a judge that gives no explanations; see `bineval.judging.base.Judge`.

    An explanation changes no answer: when it leads to another one, the verdict is `disputed`. A reply that cannot be
    used is asked for again once; after that the verdict stays without explanation.

    Args:
        judge: The judge; verdicts that have an explanation already keep it.
        model: The language model that explains.
        task: What the outputs were written for; None leaves it out.
        which: Which answers are explained: all of them, those that are "no", those that are unsure, or none.
        unsure_within: How far from its question's threshold a P(yes) may lie to be unsure; exactly 0.5 always is.
        prompts: Files that take the place of built-in prompts, by name.

    Raises:
        ConfigError: The model writes no text, or a setting is not what is said here.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        model: Model,
        task: str | None = None,
        which: Which = "all",
        unsure_within: float = UNSURE_WITHIN,
        prompts: Mapping[str, PromptSource] | None = None,
    ) -> None:
        prompts = prompts or {}
        if not model.capabilities.generates:
            raise ConfigError(f"{model.name} writes no text, so it cannot explain: give --explainer MODEL")
        if which not in WHICH:
            raise ConfigError(f"explanations can be asked for {', '.join(WHICH)}, not {which!r}")
        if not 0 <= unsure_within <= 1:  # false for NaN too
            raise ConfigError(f"unsure_within must lie in [0, 1], not at {unsure_within}")
        if unknown := sorted(prompts.keys() - _VARIABLES.keys()):
            raise ConfigError(f"explanations have no prompt {unknown[0]!r}, only {', '.join(EXPLAIN_PROMPTS)}")
        super().__init__(judge)
        self.model, self.task = model, task
        self.which, self.unsure_within = which, unsure_within
        self._form = SingleForm(evidence=False)
        self._prompts: dict[str, Prompt] = {
            name: load_prompt(name, given=prompts.get(name), variables=variables, required=_REQUIRED[name])
            for name, variables in _VARIABLES.items()
        }

    @property
    def max_concurrency(self) -> int | None:
        """The larger limit of judge and model; None when one has none."""
        return largest_concurrency([self.judge, self.model])

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of the judge inside, and what is explained by which model."""
        explain: dict[str, Json] = {
            "model": dict(self.model.identity),
            "which": self.which,
            "unsure_within": self.unsure_within,
            "prompts": {name: prompt.hash for name, prompt in self._prompts.items()},
        }
        return {**self.judge.settings, "explain": explain}

    def parameters_changed(self) -> Mapping[str, str]:
        """Those of the judge inside, and the explaining model's after its name."""
        return {**self.judge.parameters_changed(), **prefixed({self.model.name: self.model.dropped_parameters()})}

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers as the judge inside, and explains; see `Judge.ask`."""
        verdicts = list(self.judge.ask(example, questions, repeat=repeat))
        wanted = [place for place, verdict in enumerate(verdicts) if self._is_wanted(verdict)]
        shown = example_text(example, self.task)
        requests = [self._request(shown, questions[place], verdicts[place], repeat) for place in wanted]
        for place, request, reply in zip(wanted, requests, replies_together(self.model, requests), strict=True):
            verdicts[place] = self._explained(questions[place], verdicts[place], request, reply)
        return verdicts

    def _is_wanted(self, verdict: Verdict) -> bool:
        if verdict.answer is None or verdict.explanation is not None:
            return False
        match self.which:
            case "all":
                return True
            case "no":
                return verdict.answer == "no"
            case "unsure":
                return self._is_unsure(verdict)
            case "none":
                return False

    def _is_unsure(self, verdict: Verdict) -> bool:
        if verdict.probability is None or verdict.threshold is None:
            return False
        # Decision models round to two decimals: exactly one half is what they say when they do not know.
        distance = abs(verdict.probability - verdict.threshold)
        return verdict.probability == 0.5 or distance <= self.unsure_within + _ROUNDING

    def _request(self, shown: str, question: Question, verdict: Verdict, repeat: int) -> Request:
        values = {"example": shown, **self._form.values([question]), "verdict": str(verdict.answer)}
        return Request(
            messages=self._prompts[_EXPLAIN].fill(values),
            max_tokens=_MAX_TOKENS,
            schema=self._form.schema([question]),
            repeat=repeat,
        )

    def _explained(self, question: Question, verdict: Verdict, request: Request, reply: Reply | None) -> Verdict:
        """The verdict with its explanation, if one can be had, and what that took."""
        talk = Talk(self.model)
        try:
            found = self._converse(question, request, talk, reply)
        except ModelError as error:
            if error.stops_run or isinstance(error, ModelBusyError):
                raise
            found = None
        return replace(
            verdict,
            explanation=found.explanation if found else None,
            disputed=found is not None and found.answer != verdict.answer,
            usage=verdict.usage + talk.usage,
            cached=verdict.cached and talk.usage == Usage(),
            replies=(*verdict.replies, *talk.keys),
        )

    def _converse(self, question: Question, request: Request, talk: Talk, reply: Reply | None) -> Parsed | None:
        """Asks, and once again where that can help; None without a usable explanation."""
        reply = talk.send(request) if reply is None else talk.book(reply)
        found, problem = self._read(question, reply)
        if found is not None or refusal_in(reply):
            return found
        return self._read(question, talk.send(self._request_again(question, request, reply, problem)))[0]

    def _read(self, question: Question, reply: Reply) -> tuple[Parsed | None, str]:
        """The explanation with the answer it leads to, or what is wrong with the reply."""
        reading = self._form.read(reply.text, [question])
        found = reading.answers.get(question.id)
        if found is None:
            return None, reading.problems[question.id]
        return (found, "") if found.explanation else (None, "the reply has no explanation")

    def _request_again(self, question: Question, request: Request, reply: Reply, problem: str) -> Request:
        if reply.finish_reason == "length":
            return replace(request, max_tokens=request.max_tokens * _RAISE_CAP)
        values = {"problem": problem, "questions": self._form.names([question]), "form": self._form.shape([question])}
        return asked_again(request, reply, self._prompts[_AGAIN], values)
