"""Asks for one token each and makes verdicts of what the replies' probabilities say."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bineval.errors import ConfigError, ModelBusyError, ModelError
from bineval.judging.talk import Talk, refusal_in, replies_together
from bineval.models.base import Model
from bineval.types import Question, Reply, Request, Verdict


def one_token_verdicts(
    model: Model,
    questions: Sequence[Question],
    requests: Sequence[Request],
    read: Callable[[Question, Reply], Verdict],
) -> list[Verdict]:
    """Sends a request for each question, together where the model then reads what they share only once.

    Args:
        model: Answers, and gives its name to the verdicts.
        questions: What is asked.
        requests: How, in the same order.
        read: Makes the verdict of a reply that was not refused.

    Raises:
        ModelError: No further call can succeed, or the model could not be reached.
    """
    replies = replies_together(model, requests)
    return [_verdict(model, *item, read) for item in zip(questions, requests, replies, strict=True)]


class LogprobCheck:
    """Ends the run of a model that gives no log probabilities; after one that had them, a single reply may lack them.

    Args:
        name: Name of the model.
        advice: What to do about a model without them.
    """

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice
        self._has_seen_some = False

    def problem_of(self, reply: Reply) -> Verdict | None:
        """The verdict of a reply that lacks log probabilities; None for one that has them.

        Raises:
            ConfigError: No reply had any so far.
        """
        lack = _lack_of_logprobs(reply)
        if lack is None:
            self._has_seen_some = self._has_seen_some or bool(reply.logprobs)
            return None
        if not self._has_seen_some:
            raise ConfigError(f"{self._name} gave no log probabilities {lack}{self._advice}")
        problem = f"the reply {reply.text!r} has no log probabilities {lack}"
        return Verdict(answer=None, reason="unparsed", explanation=problem)


def _lack_of_logprobs(reply: Reply) -> str | None:
    """What a reply that says something lacks to give probabilities; None when it lacks nothing."""
    if reply.logprobs is None or (reply.text and not reply.logprobs):
        return "with its reply"
    # Without the probability of the other answers, the one that was written would be certain.
    return "of other tokens" if reply.logprobs and not any(item.top for item in reply.logprobs) else None


def _verdict(
    model: Model,
    question: Question,
    request: Request,
    reply: Reply | None,
    read: Callable[[Question, Reply], Verdict],
) -> Verdict:
    try:
        reply = reply or model.complete(request)
    except ModelError as error:
        if error.stops_run or isinstance(error, ModelBusyError):
            raise
        return Verdict(answer=None, reason="error", explanation=str(error), judge=model.name)
    talk = Talk(model)
    talk.book(reply)
    problem = refusal_in(reply)
    verdict = Verdict(answer=None, reason="refused", explanation=problem) if problem else read(question, reply)
    return replace(verdict, judge=model.name, usage=talk.usage, cached=talk.all_cached, replies=tuple(talk.keys))
