"""The decision judge: a decision model reads an example once and gives P(yes) for each of its questions.

No text is generated, so there are no explanations. A question's `may_not_apply` has no counterpart: such a question is
answered like any other.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bineval.errors import ConfigError, ModelRequestError
from bineval.hashing import Json
from bineval.judging.base import ModelJudge
from bineval.judging.probability import verdict_at
from bineval.judging.talk import Talk, refusal_in
from bineval.models.base import Model
from bineval.models.decision_format import REFUSED
from bineval.models.sizing import estimated_tokens
from bineval.types import Example, Message, Predicate, Question, Reply, Request, Verdict

# State and questions together, of the reference of the System One format (jev-1.13). A longer request is split.
_MOST_TOKENS = 64_000
# Statuses of a request that is malformed or too large, which a smaller one may not be.
_TOO_MUCH = (400, 413, 422)
# Names how state and instructions are worded: another wording is another run.
_FORM = "decision/1"
_SHOWN_CHARS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionSettings:
    """How the decision judge asks.

    Attributes:
        max_questions: Most questions in one request; None for as many as the model takes.
    """

    max_questions: int | None = None

    def __post_init__(self) -> None:
        if self.max_questions is not None and self.max_questions < 1:
            raise ConfigError(f"max_questions must be at least 1, not {self.max_questions}")


class DecisionJudge(ModelJudge):
    """Asks a decision model; see `bineval.judging.base.Judge`.

    A request with several questions that the server finds malformed or too large is halved until it is taken; where it
    was the number of questions, later requests are smaller from the start.

    Raises:
        ConfigError: The model is no decision model.
    """

    gives_probability = True

    def __init__(self, model: Model, *, task: str | None = None, settings: DecisionSettings | None = None) -> None:
        if not model.capabilities.decides:
            raise ConfigError(f"{model.name} is no decision model: use --kind chat")
        super().__init__(model, task=task)
        self.decision = settings or DecisionSettings()
        caps = (self.decision.max_questions, model.capabilities.max_predicates)
        self._most_questions = min((cap for cap in caps if cap is not None), default=None)
        self._most_taken = self._most_questions
        self._lock = threading.Lock()

    @property
    def settings(self) -> Mapping[str, Json]:
        """Model, wording and the cap on questions, which some models' answers depend on."""
        return {
            "kind": "decision",
            "model": dict(self.model.identity),
            "form": _FORM,
            "max_questions": self.decision.max_questions,
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """All questions together, split at the cap on their number."""
        size = self._most_questions or max(len(questions), 1)
        return [list(questions[i : i + size]) for i in range(0, len(questions), size)]

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """One request for all questions, or for each part that fits a request."""
        state = state_text(example, self.task)
        return [(self.model, _request(state, part, repeat)) for part in self._parts(state, questions)]

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`."""
        return self._ask(state_text(example, self.task), questions, repeat)

    def _ask(self, state: str, questions: Sequence[Question], repeat: int) -> list[Verdict]:
        parts = self._parts(state, questions)
        if len(parts) > 1:
            return [verdict for part in parts for verdict in self._ask(state, part, repeat)]
        talk = Talk(self.model)
        try:
            reply = talk.send(_request(state, questions, repeat))
        except ModelRequestError as error:
            if error.stops_run:
                raise
            if len(questions) == 1 or error.status not in _TOO_MUCH:
                return [Verdict(answer=None, reason="error", explanation=str(error), judge=self.name)] * len(questions)
        else:
            return self._with_calls(read_verdicts(reply, questions), talk)
        halves = _halves(questions)
        verdicts = [verdict for half in halves for verdict in self._ask(state, half, repeat)]
        if all(verdict.reason != "error" for verdict in verdicts):
            # No question was at fault, so it was their number.
            self._learn(len(halves[1]))
        return verdicts

    def _with_calls(self, verdicts: list[Verdict], talk: Talk) -> list[Verdict]:
        cached, replies = talk.all_cached, tuple(talk.keys)
        return [
            replace(verdict, judge=self.name, usage=usage, cached=cached, replies=replies)
            for verdict, usage in zip(verdicts, talk.usage.split(len(verdicts)), strict=True)
        ]

    def _parts(self, state: str, questions: Sequence[Question]) -> list[Sequence[Question]]:
        """The questions, halved until each part fits a request.

        Always along the same halves, so that a later sitting, which has to learn again what the server takes, makes
        requests whose replies are in the cache.
        """
        if len(questions) == 1 or self._fits(state, questions):
            return [questions]
        return [part for half in _halves(questions) for part in self._parts(state, half)]

    def _fits(self, state: str, questions: Sequence[Question]) -> bool:
        if self._most_taken is not None and len(questions) > self._most_taken:
            return False
        room = _MOST_TOKENS - _tokens([state])
        # A state that leaves no room is sent as it is: with fewer questions, it would be no shorter.
        return room <= 0 or _tokens([_instructions(question) for question in questions]) <= room

    def _learn(self, n_taken: int) -> None:
        with self._lock:
            self._most_taken = min(n_taken, self._most_taken or n_taken)


def state_text(example: Example, task: str | None) -> str:
    """The state as JSON text: output and material under fixed names in a fixed order; absent parts are left out."""
    parts = {
        "input": example.input,
        "output": example.output,
        "reference": example.reference,
        "context": example.context,
        "task": task,
    }
    present = {name: text for name, text in parts.items() if text is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":"))


def predicates_for(questions: Sequence[Question]) -> tuple[Predicate, ...]:
    """The questions as a decision model takes them."""
    return tuple(
        Predicate(id=question.id, instructions=_instructions(question), no=question.violation) for question in questions
    )


def read_verdicts(reply: Reply, questions: Sequence[Question]) -> list[Verdict]:
    """Reads the reply of a decision model; a bad answer fails only its own question.

    Args:
        reply: Its text is a JSON object of what was said by question id (see `bineval.models.decision_format`).
        questions: What was asked, each with its threshold.
    """
    if problem := refusal_in(reply):
        return [Verdict(answer=None, reason="refused", explanation=problem)] * len(questions)
    values = _values(reply.text)
    if values is None:
        problem = f"the reply is no JSON object of answers: {reply.text[:_SHOWN_CHARS]!r}"
        return [Verdict(answer=None, reason="unparsed", explanation=problem)] * len(questions)
    return [_verdict(values, question) for question in questions]


def _verdict(values: Mapping[str, object], question: Question) -> Verdict:
    if question.id not in values:
        return Verdict(answer=None, reason="unparsed", explanation="the server's answer leaves this question out")
    value = values[question.id]
    if value == REFUSED:
        return Verdict(answer=None, reason="refused", explanation="the model refused to answer this question")
    # The comparison is false for NaN.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        problem = f"the server's answer is no probability: {json.dumps(value)[:_SHOWN_CHARS]}"
        return Verdict(answer=None, reason="unparsed", explanation=problem)
    return verdict_at(value, question)


def _values(text: str) -> Mapping[str, object] | None:
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _request(state: str, questions: Sequence[Question], repeat: int) -> Request:
    return Request(
        messages=(Message(role="user", content=state),),
        max_tokens=1,  # not sent: nothing is written
        repeat=repeat,
        predicates=predicates_for(questions),
    )


def _instructions(question: Question) -> str:
    if question.sentence is None:
        return f"About `output`: {question.text}"
    sentence = json.dumps(question.sentence, ensure_ascii=False)
    return f"About this sentence of `output` alone: {sentence}\n{question.text}"


def _halves(questions: Sequence[Question]) -> tuple[Sequence[Question], Sequence[Question]]:
    """The second half is the longer one where they differ."""
    middle = len(questions) // 2
    return questions[:middle], questions[middle:]


def _tokens(texts: Sequence[str]) -> int:
    messages = tuple(Message(role="user", content=text) for text in texts)
    return estimated_tokens(Request(messages=messages, max_tokens=1))
