"""Parameters that a server may refuse: the forms each can be sent in, and which form this server takes.

A server that refuses a parameter is sent its next form, down to leaving it out. What was learned is kept, so each
parameter costs at most one refused call a form. Who refuses what is never guessed from a model's name.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bineval.hashing import Json
from bineval.models.http_errors import Failure
from bineval.types import Request


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """One way to send a parameter.

    Attributes:
        label: What manifests call it; None for leaving the parameter out.
        fields: Fields of the request's body, from a request that wants the parameter.
    """

    label: str | None
    fields: Callable[[Request], dict[str, Any]]


LEFT_OUT = Form(label=None, fields=lambda request: {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """A parameter with its forms, from the best to the one that asks least of the server.

    Attributes:
        name: What reports of dropped parameters call it.
        wanted: Whether a request uses it.
        forms: Tried in order; without `LEFT_OUT` at the end, a server that takes none of them cannot be used.
        words: Finds its name in the message of a refusal.
    """

    name: str
    wanted: Callable[[Request], bool]
    forms: tuple[Form, ...]
    words: re.Pattern[str]


TEMPERATURE = Parameter(
    name="temperature",
    wanted=lambda request: request.temperature is not None,
    forms=(Form(label="temperature", fields=lambda request: {"temperature": request.temperature}), LEFT_OUT),
    words=re.compile(r"\btemperature\b", re.IGNORECASE),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """Parameters of one call, as they are sent.

    Attributes:
        fields: Fields of the request's body.
        params_used: The same for manifests, with a label in place of a schema.
        rungs: Index of the form that each wanted parameter has.
        sent: Names of the body fields that each wanted parameter has.
    """

    fields: dict[str, Any]
    params_used: dict[str, Json]
    rungs: dict[str, int]
    sent: dict[str, tuple[str, ...]]


class Negotiation:
    """What one server takes, learned from its refusals; safe for use by many threads at once."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        self._parameters = parameters
        self._rungs = dict.fromkeys((parameter.name for parameter in parameters), 0)
        self._changed: dict[str, str] = {}
        self._lock = threading.Lock()

    def offer(self, request: Request) -> Offer:
        """The parameters that `request` wants, each in the best form not yet refused."""
        offer = Offer(fields={}, params_used={}, rungs={}, sent={})
        for parameter in self._parameters:
            if not parameter.wanted(request):
                continue
            rung = self._rungs[parameter.name]
            form = parameter.forms[rung]
            fields = form.fields(request)
            offer.fields.update(fields)
            offer.rungs[parameter.name] = rung
            offer.sent[parameter.name] = tuple(fields)
            for field, value in fields.items():
                offer.params_used[field] = form.label if isinstance(value, dict) else value
            if rung or form is LEFT_OUT:
                self._changed[parameter.name] = "dropped" if form is LEFT_OUT else f"sent as {form.label}"
        return offer

    def concede(self, offer: Offer, failure: Failure) -> bool:
        """Moves the parameter that `failure` names to its next form.

        Returns:
            Whether the next offer differs from `offer`, so that another call makes sense. It does so too when another
            thread met the same refusal first.
        """
        if not failure.malformed:
            return False
        with self._lock:
            parameter = self._named_by(failure, offer)
            if parameter is None:
                return False
            if self._rungs[parameter.name] == offer.rungs[parameter.name]:
                self._rungs[parameter.name] += 1
            return True

    def dropped(self) -> Mapping[str, str]:
        """Parameters not sent in their first form, each with what was done: "dropped" or "sent as …"."""
        return dict(self._changed)

    def _named_by(self, failure: Failure, offer: Offer) -> Parameter | None:
        open_ones = [p for p in self._parameters if p.name in offer.rungs and self._can_move(p, offer)]
        for field in failure.fields:
            for parameter in open_ones:
                if field in offer.sent[parameter.name]:
                    return parameter
        found = [(match.start(), p) for p in open_ones if (match := p.words.search(failure.message))]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _can_move(self, parameter: Parameter, offer: Offer) -> bool:
        rung = offer.rungs[parameter.name]
        return rung < len(parameter.forms) - 1 or self._rungs[parameter.name] > rung


# What servers with "strict" schemas refuse to enforce; the prompt says it in words anyway.
_NOT_STRICT = frozenset(
    {
        "contains", "default", "exclusiveMaximum", "exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength",
        "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
        "pattern", "patternProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip
_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions"})


def strict_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    """A copy of `schema` for servers that enforce it strictly.

    Objects take no other keys and need all of theirs; limits on lengths, counts, ranges and patterns are left out.
    """
    strict: dict[str, Json] = {}
    for keyword, value in schema.items():
        if keyword in _NOT_STRICT:
            continue
        if keyword in _NAMED_SCHEMAS and isinstance(value, Mapping):
            strict[keyword] = {name: _strict_part(part) for name, part in value.items()}
        elif keyword not in ("enum", "const"):
            strict[keyword] = _strict_part(value)
        else:
            strict[keyword] = value
    if isinstance(properties := schema.get("properties"), Mapping):
        strict["additionalProperties"] = False
        strict["required"] = list(properties)
    return strict


def _strict_part(value: Json) -> Json:
    if isinstance(value, Mapping):
        return strict_schema(value)
    return [_strict_part(part) for part in value] if isinstance(value, list | tuple) else value
