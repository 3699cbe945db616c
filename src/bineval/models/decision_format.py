"""What the formats of decision models share: the state in a request, and the reply made of a server's answers."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.io.values import storable
from bineval.models.http_errors import Failure
from bineval.models.remote_chat import mapping, token_count
from bineval.types import Reply, Request, Usage

REFUSED = "refused"
"""Stands in a reply for the probability of a question that the model refused to answer."""

NO_ANSWERS = Failure(message="the server answered none of the questions", status=200)


def state_of(request: Request) -> dict[str, Json]:
    """The state that a request's predicates are about.

    Raises:
        ConfigError: The request wants text from a model that writes none.
    """
    if not request.predicates:
        raise ConfigError("a decision model answers yes/no questions and writes no text: name another model for this")
    state: dict[str, Json] = json.loads(storable(request.messages[0].content))
    return state


def said(entry: object, field: str) -> Json:
    """What a server says to one question: the value of `field` as it came, `REFUSED`, or None where it says nothing."""
    if not isinstance(entry, dict):
        return None
    value: Json = REFUSED if entry.get("type") == "refusal" else entry.get(field)
    return value


def reply_with(values: Mapping[str, Json], answer: Mapping[str, Any]) -> Reply:
    """The reply of a decision model: its text is the JSON object of what was said to each question that has an answer.

    Nothing is checked here, so that what the server said is kept as it came.
    """
    usage = mapping(answer.get("usage"))
    return Reply(
        text=json.dumps(values),
        usage=Usage(
            input_tokens=token_count(usage.get("input_tokens")),
            output_tokens=token_count(usage.get("output_tokens")),
            cached_input_tokens=token_count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
            calls=1,
        ),
        model=storable(str(answer.get("model") or "")),
    )


def final_without_model(failure: Failure) -> Failure:
    """The failure, told as a missing model where the server says that it has no decision model (501)."""
    if failure.status != 501:
        return failure
    return replace(failure, codes=failure.codes | {"model_not_found"})
