"""The calls made for one batch of questions: what was paid for them, and where their replies are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bineval.errors import ModelRequestError
from bineval.io.values import storable
from bineval.judging.json_text import without_reasoning
from bineval.models.base import Model
from bineval.templates import Prompt
from bineval.types import Message, Reply, Request, Usage


class Talk:
    """The calls made for one batch: what was paid for them, and where their replies are kept."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.usage = Usage()
        self.keys: list[str] = []
        self._n_sent = self._n_cached = 0

    @property
    def all_cached(self) -> bool:
        """Whether there was a call, and every reply came from the cache."""
        return self._n_cached == self._n_sent > 0

    def send(self, request: Request) -> Reply:
        """Completes one request and books it."""
        return self.book(self._model.complete(request))

    def book(self, reply: Reply) -> Reply:
        """Books a reply that was asked for together with others."""
        self._n_sent += 1
        if reply.cached:
            self._n_cached += 1
        else:
            price = self._model.price
            self.usage += replace(reply.usage, cost_usd=None if price is None else price.of(reply.usage))
        if reply.key is not None:
            self.keys.append(reply.key)
        return reply


def replies_together(model: Model, requests: Sequence[Request]) -> Sequence[Reply | None]:
    """The replies of a model that reads what requests share only once; None for those that are to be sent alone.

    Raises:
        ModelError: No further call can succeed, or the model could not be reached.
    """
    if len(requests) > 1 and model.capabilities.shares_prefix:
        try:
            return model.complete_many(requests)
        except ModelRequestError as error:
            if error.stops_run:
                raise
            # One of them cannot be answered; which one, each alone will tell.
    return [None] * len(requests)


def asked_again(request: Request, reply: Reply, prompt: Prompt, values: Mapping[str, str]) -> Request:
    """The request that goes on behind a reply that could not be used, with `prompt` as the next turn."""
    said = Message(role="assistant", content=storable(without_reasoning(reply.text)).strip() or "(nothing)")
    return replace(request, messages=(*request.messages, said, *prompt.fill(values)))


def refusal_in(reply: Reply) -> str | None:
    """What to tell a person about a reply that the server says was refused; None for every other reply."""
    if reply.refusal is None and reply.finish_reason != "refused":
        return None
    return f"the server refused to answer: {reply.refusal or 'content filter'}"
