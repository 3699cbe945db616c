"""The logprob judge: asks a language model for one word and reads P(yes) from the probabilities of its first token.

One token is written for each question, so nearly all the work is reading; a model that reads what questions share only
once answers all questions of an example for about the price of one (`Capabilities.shares_prefix`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bineval.errors import ConfigError, ModelBusyError, ModelError
from bineval.hashing import Json
from bineval.judging.base import ModelJudge
from bineval.judging.probability import AnswerMass, answer_mass, verdict_at
from bineval.judging.rendering import example_text, question_text
from bineval.judging.talk import Talk, refusal_in, replies_together
from bineval.models.base import Model
from bineval.templates import load_prompt
from bineval.types import Example, Question, Reply, Request, Verdict

_PROMPT = "judge_token"
_VARIABLES = frozenset({"example", "question", "details"})
_REQUIRED = frozenset({"example", "question"})
LOGPROB_PROMPTS = (_PROMPT,)

_YES, _NO, _SKIP = "yes", "no", "skip"
_TOP_LOGPROBS = 20
_MAY_NOT_APPLY = "If the question does not apply to this text at all, reply Skip instead.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogprobSettings:
    """How the logprob judge reads probabilities.

    Attributes:
        min_mass: Least P(yes) + P(no), in [0, 1]; below it the model was about to say something else, and the verdict
            is unparsed.
        prompts: Files that take the place of built-in prompts, by name.
    """

    min_mass: float = 0.5
    prompts: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.min_mass <= 1:  # false for NaN too
            raise ConfigError(f"min_mass must lie in [0, 1], not at {self.min_mass}")
        if unknown := sorted(self.prompts.keys() - set(LOGPROB_PROMPTS)):
            raise ConfigError(f"the logprob judge has no prompt {unknown[0]!r}; it has {', '.join(LOGPROB_PROMPTS)}")


class LogprobJudge(ModelJudge):
    """Asks for one word; see `bineval.judging.base.Judge`.

    P(yes) is renormalized over yes and no, all spellings of each summed; the probability of everything else is kept as
    `outside_mass`.

    Raises:
        ConfigError: The model reports no log probabilities.
    """

    gives_probability = True

    def __init__(self, model: Model, *, task: str | None = None, settings: LogprobSettings | None = None) -> None:
        if model.capabilities.top_logprobs == 0:
            other = "chat" if model.capabilities.generates else "decision"
            raise ConfigError(f"{model.name} reports no log probabilities: use --kind {other}")
        super().__init__(model, task=task)
        self.logprob = settings or LogprobSettings()
        path = self.logprob.prompts.get(_PROMPT)
        self._prompt = load_prompt(_PROMPT, path=path, variables=_VARIABLES, required=_REQUIRED)
        self._has_seen_logprobs = False

    @property
    def settings(self) -> Mapping[str, Json]:
        """Model, floor and the hash of the prompt."""
        return {
            "kind": "logprob",
            "model": dict(self.model.identity),
            "min_mass": self.logprob.min_mass,
            "prompts": {_PROMPT: self._prompt.hash},
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """All questions together for a model that then reads the example once, else each alone."""
        if self.model.capabilities.shares_prefix:
            return [list(questions)]
        return [[question] for question in questions]

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """One request for each question."""
        return [(self.model, request) for request in self._requests(example, questions, repeat)]

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`.

        Raises:
            ConfigError: The model gives no log probabilities, whatever it promised.
        """
        requests = self._requests(example, questions, repeat)
        replies = replies_together(self.model, requests)
        return [self._answer(*item) for item in zip(questions, requests, replies, strict=True)]

    def _requests(self, example: Example, questions: Sequence[Question], repeat: int) -> list[Request]:
        shown = example_text(example, self.task)
        return [
            Request(
                messages=self._prompt.fill(
                    {"example": shown, "question": question_text(question), "details": _details(question)}
                ),
                max_tokens=1,
                top_logprobs=min(_TOP_LOGPROBS, self.model.capabilities.top_logprobs),
                repeat=repeat,
            )
            for question in questions
        ]

    def _answer(self, question: Question, request: Request, reply: Reply | None) -> Verdict:
        try:
            reply = reply or self.model.complete(request)
        except ModelError as error:
            if error.stops_run or isinstance(error, ModelBusyError):
                raise
            return Verdict(answer=None, reason="error", explanation=str(error), judge=self.name)
        return self._verdict(question, reply, Talk(self.model))

    def _verdict(self, question: Question, reply: Reply, talk: Talk) -> Verdict:
        talk.book(reply)
        if problem := refusal_in(reply):
            return self._with_calls(Verdict(answer=None, reason="refused", explanation=problem), talk)
        if lack := _lack(reply):
            if not self._has_seen_logprobs:
                problem = f"{self.name} gave no log probabilities {lack}, so there is no P(yes): use --kind chat"
                raise ConfigError(problem)
            problem = f"the reply {reply.text!r} has no log probabilities {lack}"
            return self._with_calls(Verdict(answer=None, reason="unparsed", explanation=problem), talk)
        self._has_seen_logprobs = self._has_seen_logprobs or bool(reply.logprobs)
        words = (_YES, _NO, _SKIP) if question.may_not_apply else (_YES, _NO)
        return self._with_calls(self._read(question, reply, answer_mass(reply.logprobs or (), words)), talk)

    def _read(self, question: Question, reply: Reply, mass: AnswerMass | None) -> Verdict:
        if mass is None:
            problem = f"no token of the reply {reply.text!r} says anything"
            return Verdict(answer=None, reason="unparsed", explanation=problem)
        yes, no = mass.masses[_YES], mass.masses[_NO]
        skip = mass.masses.get(_SKIP, 0.0)
        if skip > max(yes, no) and yes + no + skip >= self.logprob.min_mass:
            return Verdict(answer=None, reason="not_applicable", outside_mass=mass.outside)
        if yes + no == 0 or yes + no < self.logprob.min_mass:
            problem = (
                f"P(yes) + P(no) is {yes + no:.3f}, below --min-mass {self.logprob.min_mass:g}: "
                f"the reply began with {mass.token!r}"
            )
            return Verdict(answer=None, reason="unparsed", explanation=problem, outside_mass=mass.outside)
        probability = yes / (yes + no)
        return replace(verdict_at(probability, question), outside_mass=mass.outside)

    def _with_calls(self, verdict: Verdict, talk: Talk) -> Verdict:
        return replace(
            verdict,
            judge=self.name,
            usage=talk.usage,
            cached=talk.all_cached,
            replies=tuple(talk.keys),
        )


def _lack(reply: Reply) -> str | None:
    """What a reply that says something lacks to give a P(yes); None when it lacks nothing."""
    if reply.logprobs is None or (reply.text and not reply.logprobs):
        return "with its reply"
    # Without the probability of the other answer, the one that was written would be certain.
    return "of other tokens" if reply.logprobs and not any(item.top for item in reply.logprobs) else None


def _details(question: Question) -> str:
    violation = f'An example of "No": {question.violation}\n' if question.violation else ""
    return violation + (_MAY_NOT_APPLY if question.may_not_apply else "")
