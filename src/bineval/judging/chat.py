"""The chat judge: asks a language model for an explanation and then yes or no (BinEval, arXiv 2606.27226, section 3.2).

It knows prompts and replies, and nothing about providers, stores or scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from bineval.errors import ConfigError, ModelBusyError, ModelError
from bineval.hashing import Json
from bineval.judging.base import ModelJudge
from bineval.judging.evidence import verify_quotes
from bineval.judging.forms import ANSWER_VARIABLES, Form, SeveralForm, SingleForm
from bineval.judging.json_text import without_reasoning
from bineval.judging.parsing import Parsed, Reading
from bineval.judging.rendering import example_text
from bineval.judging.talk import Talk, asked_again, refusal_in, replies_together
from bineval.models.base import Model
from bineval.templates import Prompt, PromptSource, load_prompt
from bineval.types import Answer, Example, Question, Reason, Reply, Request, Usage, Verdict

Mode = Literal["independent", "dimension", "all"]
MODES: tuple[Mode, ...] = get_args(Mode)

JUDGE_PROMPTS = tuple(ANSWER_VARIABLES)

_TOKENS_PER_ANSWER = 400
_MOST_TOKENS = 8_000
_RAISE_CAP = 4
_SHOWN_CHARS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatSettings:
    """How the chat judge asks.

    Attributes:
        mode: One call per question, per dimension, or for all questions.
        evidence: Whether to ask for quotes, which are then checked against the text.
        temperature: None leaves it to the provider.
        seed: Sent to providers that take one; the repeat index is added to it.
        max_tokens: Cap of a reply; None for 400 an answer. Raised fourfold once when a reply is cut off.
        prompts: Files that take the place of built-in prompts, by name.
    """

    mode: Mode = "independent"
    evidence: bool = False
    temperature: float | None = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)


class ChatJudge(ModelJudge):
    """Asks a chat model; see `bineval.judging.base.Judge`.

    A reply without a usable answer is asked again once (of several questions, only the missing ones). A reply that the
    token cap cut off is asked again once with a higher cap. What is left then is unanswered, with the reason.

    Args:
        model: The model.
        task: What the outputs were written for; None leaves it out.
        settings: Mode, parameters, prompts.
        form: How questions are put and replies are read, one question a call; None for yes or no by mode.

    Raises:
        ConfigError: The settings are not what they should be, or the model writes no text.
    """

    def __init__(
        self,
        model: Model,
        *,
        task: str | None = None,
        settings: ChatSettings | None = None,
        form: Form | None = None,
    ) -> None:
        if not model.capabilities.generates:
            raise ConfigError(f"{model.name} writes no text, and this judge needs a model that does")
        super().__init__(model, task=task)
        self.chat = settings or ChatSettings()
        if self.chat.mode not in MODES:
            raise ConfigError(f"mode {self.chat.mode!r} must be one of {', '.join(MODES)}")
        if self.chat.max_tokens is not None and self.chat.max_tokens < 1:
            raise ConfigError(f"max_tokens must be at least 1, not {self.chat.max_tokens}")
        self._form = form or self._usual_form()
        if unknown := sorted(self.chat.prompts.keys() - self._form.variables.keys()):
            known = ", ".join(self._form.variables)
            raise ConfigError(f"the {self._form.kind} judge has no prompt {unknown[0]!r}; it has {known}")
        self._prompts: dict[str, Prompt] = {
            name: load_prompt(
                name, given=self.chat.prompts.get(name), variables=variables, required=self._form.required[name]
            )
            for name, variables in self._form.variables.items()
        }

    def _usual_form(self) -> Form:
        form = SingleForm if self.chat.mode == "independent" else SeveralForm
        return form(evidence=self.chat.evidence)

    @property
    def gives_probability(self) -> bool:
        """It does not: a number that a model writes is no probability."""
        return False

    @property
    def settings(self) -> Mapping[str, Json]:
        """Model, mode, parameters and the hashes of the prompts."""
        return {
            "kind": self._form.kind,
            "model": dict(self.model.identity),
            "mode": self.chat.mode,
            "evidence": self.chat.evidence,
            "temperature": self.chat.temperature,
            "seed": self.chat.seed,
            "max_tokens": self.chat.max_tokens,
            "prompts": {name: prompt.hash for name, prompt in self._prompts.items()},
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Splits by mode; for a model that reads shared text only once, independent calls go together too."""
        if self.chat.mode == "independent" and not self.model.capabilities.shares_prefix:
            return [[question] for question in questions]
        if self.chat.mode != "dimension":
            return [list(questions)]
        groups: dict[str, list[Question]] = {}
        for question in questions:
            groups.setdefault(question.dimension, []).append(question)
        return list(groups.values())

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`."""
        groups = self._groups(questions)
        requests = [self._first_request(example, group, repeat) for group in groups]
        replies = replies_together(self.model, requests)
        verdicts = []
        for group, request, reply in zip(groups, requests, replies, strict=True):
            verdicts += self._ask(example, group, request, reply)
        return verdicts

    def _groups(self, questions: Sequence[Question]) -> list[Sequence[Question]]:
        """The questions of each call."""
        return [[question] for question in questions] if self.chat.mode == "independent" else [questions]

    def _ask(
        self, example: Example, questions: Sequence[Question], request: Request, reply: Reply | None
    ) -> list[Verdict]:
        outcome = _Outcome(talk=Talk(self.model))
        try:
            self._converse(outcome, request, reply, questions)
        except ModelError as error:
            if error.stops_run or isinstance(error, ModelBusyError):
                raise
            outcome.failed(error, questions)
        return self._verdicts(example, questions, outcome)

    def _converse(
        self, outcome: "_Outcome", request: Request, reply: Reply | None, questions: Sequence[Question]
    ) -> None:
        """Asks until every question has an answer, or nothing that may be tried is left; `reply` is the first one."""
        may_ask_again = may_raise_cap = True
        pending = questions
        while True:
            reply = outcome.talk.send(request) if reply is None else outcome.talk.book(reply)
            reading = self._form.read(reply.text, pending)
            pending = outcome.after(reply, reading, pending, request.max_tokens)
            if pending and outcome.reason == "truncated" and may_raise_cap:
                may_raise_cap = False
                request = replace(request, max_tokens=request.max_tokens * _RAISE_CAP)
            elif pending and outcome.reason == "unparsed" and may_ask_again:
                may_ask_again = False
                request = self._request_again(request, reply, pending, reading.problems[pending[0].id])
            else:
                return
            reply = None

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """One request for each question in mode "independent", else one for all of them."""
        groups = self._groups(questions)
        return [(self.model, self._first_request(example, group, repeat)) for group in groups]

    def _first_request(self, example: Example, questions: Sequence[Question], repeat: int) -> Request:
        values = {"example": example_text(example, self.task), **self._form.values(questions)}
        return Request(
            messages=self._prompts[self._form.prompt].fill(values),
            max_tokens=self.chat.max_tokens or min(_TOKENS_PER_ANSWER * len(questions), _MOST_TOKENS),
            temperature=self.chat.temperature,
            seed=None if self.chat.seed is None else self.chat.seed + repeat,
            schema=self._form.schema(questions),
            repeat=repeat,
        )

    def _request_again(self, request: Request, reply: Reply, pending: Sequence[Question], problem: str) -> Request:
        values = {"problem": problem, "questions": self._form.names(pending), "form": self._form.shape(pending)}
        again = asked_again(request, reply, self._prompts["judge_again"], values)
        return replace(again, schema=self._form.schema(pending))

    def _verdicts(self, example: Example, questions: Sequence[Question], outcome: "_Outcome") -> list[Verdict]:
        talk, shares = outcome.talk, outcome.usage_shares(questions)
        verdicts = []
        for question in questions:
            parsed = outcome.answers.get(question.id)
            explanation, quotes = (parsed.explanation, parsed.quotes) if parsed else (outcome.problems[question.id], ())
            answer, reason = _answer_or_reason(parsed, outcome.reason)
            verdicts.append(
                Verdict(
                    answer=answer,
                    rating=parsed.rating if parsed else None,
                    reason=reason,
                    explanation=explanation,
                    evidence=verify_quotes(quotes, example),
                    judge=self.name,
                    usage=shares.get(question.id, Usage()),
                    cached=talk.all_cached,
                    replies=tuple(talk.keys),
                )
            )
        return verdicts


@dataclass(kw_only=True, slots=True)
class _Outcome:
    """What asking has come to: the calls, the answers, and why the other questions have none."""

    talk: Talk
    answers: dict[str, Parsed] = field(default_factory=dict)
    reason: Reason = "unparsed"
    problems: dict[str, str] = field(default_factory=dict)

    def after(self, reply: Reply, reading: Reading, asked: Sequence[Question], cap: int) -> list[Question]:
        """Takes in a reply to the questions `asked`; returns those that still have no answer."""
        self.answers.update(reading.answers)
        self.reason = _reason(reply)
        pending = [question for question in asked if question.id not in self.answers]
        self.problems = {q.id: _account(self.reason, reading.problems[q.id], reply, cap) for q in pending}
        return pending

    def failed(self, error: ModelError, questions: Sequence[Question]) -> None:
        """Takes in a call that can never succeed; after a reply that was cut off, it is the higher cap that failed."""
        if self.reason != "truncated":
            self.reason = "error"
        for question in questions:
            if question.id not in self.answers:
                before = f"{self.problems[question.id]}; " if self.reason == "truncated" else ""
                self.problems[question.id] = f"{before}{error}"

    def usage_shares(self, questions: Sequence[Question]) -> dict[str, Usage]:
        """What was paid, by question id.

        A question that failed with an error is asked again by the same command, and its verdict replaced: when others
        of its batch have an answer, they bear the cost.
        """
        payers = [q.id for q in questions if self.reason != "error" or q.id in self.answers] or [
            question.id for question in questions
        ]
        return dict(zip(payers, self.talk.usage.split(len(payers)), strict=True))


def _answer_or_reason(parsed: Parsed | None, reason: Reason) -> tuple[Answer | None, Reason | None]:
    if parsed is None:
        return None, reason
    if parsed.answer == "not_applicable":
        return None, "not_applicable"
    return parsed.answer, None


def _reason(reply: Reply) -> Reason:
    """Why a reply has no answer, as far as the server says."""
    if refusal_in(reply):
        return "refused"
    if reply.finish_reason == "length":
        return "truncated"
    return "unparsed"


def _account(reason: Reason, problem: str, reply: Reply, cap: int) -> str:
    """What a person needs to know about a question that stays without an answer."""
    if refusal := refusal_in(reply):
        return refusal
    if reason == "truncated":
        spent = "" if without_reasoning(reply.text).strip() else ", all spent on reasoning"
        return f"the reply was cut off by its cap of {cap} tokens{spent}; raise --max-reply-tokens"
    return f"{problem}; the reply began: {reply.text[:_SHOWN_CHARS]!r}"
