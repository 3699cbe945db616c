"""Judges without any model: replies that are written down, and what was asked for them."""

import json
import re
import signal
import threading
from collections.abc import Callable, Mapping

from bineval.errors import ModelError
from bineval.judging.units import Asked
from bineval.models.scripted import Scripted
from bineval.types import Checklist, Dimension, Question, Reply, Request

CON_1 = Question(id="con-1", text="Are all names right?", dimension="consistency")
CON_2 = Question(id="con-2", text="Are all dates right?", dimension="consistency", may_not_apply=True)
FLU_1 = Question(id="flu-1", text="Is it fluent?", dimension="fluency")
CHECKLIST = Checklist(
    name="summary",
    questions=(CON_1, CON_2, FLU_1),
    dimensions={"consistency": Dimension(scale=(1, 5)), "fluency": Dimension()},
    task="Summarize.",
    scale=(0, 100),
)

_LISTED = re.compile(r"^- id (\S+): ", re.MULTILINE)


def asked(*questions: Question) -> tuple[Asked, ...]:
    """Questions of a checklist, all asked of the whole output."""
    return tuple(Asked(place=i, original=item, unit=None, question=item) for i, item in enumerate(questions))


def answer(word: object, explanation: str = "Because.") -> str:
    """A reply to one question."""
    return json.dumps({"explanation": explanation, "answer": word})


def answers(words: Mapping[str, object]) -> str:
    """A reply to several questions."""
    return json.dumps(
        {"answers": [{"id": key, "explanation": f"On {key}.", "answer": word} for key, word in words.items()]}
    )


class Replies:
    """A model that gives these replies in turn, raising those that are errors, and remembers what it was asked."""

    def __init__(self, *replies: str | Reply | ModelError) -> None:
        self.requests: list[Request] = []
        self._replies = list(replies)
        self.model = Scripted.from_function(self._next)

    @property
    def users(self) -> list[str]:
        """The last message of each request."""
        return [request.messages[-1].content for request in self.requests]

    def _next(self, request: Request) -> str | Reply:
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        return reply


def deciding(decide: Callable[[str, str], object], name: str = "scripted/judge") -> Scripted:
    """A judge model that answers each question, one or several a call, by `decide(output, question's text or id)`.

    One question is known by its text, several by their ids. What `decide` raises is raised.
    """

    def reply(request: Request) -> str:
        text = request.messages[1].content
        output = text.split("<<<BEGIN OUTPUT>>>\n")[1].split("\n<<<END OUTPUT>>>")[0]
        if ids := _LISTED.findall(text):
            return answers({key: decide(output, key) for key in ids})
        question = text.split("\nQuestion: ")[1].splitlines()[0]
        return answer(decide(output, question))

    return Scripted.from_function(reply, name)


def interrupt() -> None:
    """Presses Ctrl-C: the main thread gets the signal, from whatever thread this is called."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)
