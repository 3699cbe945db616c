import json
from collections.abc import Sequence
from typing import Any

import pytest

from bineval.models.scripted import Scripted
from bineval.types import Reply, Request


class Talk:
    """A scripted model that gives its replies in order, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self._replies: list[str | Reply] = []

    def model(self, *replies: str | Reply | dict[str, Any]) -> Scripted:
        self._replies = [json.dumps(reply) if isinstance(reply, dict) else reply for reply in replies]
        return Scripted.from_function(self._reply, name="scripted/talk")

    def _reply(self, request: Request) -> str | Reply:
        self.asked.append(request)
        return self._replies.pop(0)

    def user_texts(self) -> list[str]:
        return [request.messages[-1].content for request in self.asked]


@pytest.fixture
def talk() -> Talk:
    return Talk()


def requirements(*pairs: tuple[str, str], **descriptions: str) -> dict[str, Any]:
    """A reply of step 1: `(dimension, text)` pairs."""
    return {
        "requirements": [{"text": text, "dimension": dimension} for dimension, text in pairs],
        "dimensions": [{"name": name, "description": text} for name, text in descriptions.items()],
    }


def questions(*rows: tuple[str, str] | tuple[str, str, str]) -> dict[str, Any]:
    """A reply of step 2: `(requirement id, question)` rows, with a violation of their own or a common one."""

    def entry(id_: str, text: str, violation: str = "The minutes do it wrong.") -> dict[str, str]:
        return {"requirement": id_, "question": text, "violation": violation}

    return {"questions": [entry(*row) for row in rows]}


@pytest.fixture
def replies() -> Sequence[Any]:
    """The makers of replies: `requirements, questions = replies`."""
    return requirements, questions
