import re

import pytest

from bineval.models.http_errors import Failure
from bineval.models.parameters import LEFT_OUT, Form, Negotiation, Parameter, strict_schema
from bineval.types import Message, Request

REQUEST = Request(messages=(Message(role="user", content="?"),), max_tokens=7, temperature=0.5)
FORMAT = Parameter(
    name="format",
    wanted=lambda request: request.temperature is not None,
    forms=(
        Form(label="rich", fields=lambda request: {"format": {"kind": "rich"}}),
        Form(label="plain", fields=lambda request: {"format": {"kind": "plain"}}),
        LEFT_OUT,
    ),
    words=re.compile(r"\bformat\b"),
)
CAP = Parameter(
    name="cap",
    wanted=lambda request: True,
    forms=(
        Form(label="cap", fields=lambda request: {"cap": request.max_tokens}),
        Form(label="limit", fields=lambda request: {"limit": request.max_tokens}),
    ),
    words=re.compile(r"\bcap\b"),
)
SEED = Parameter(
    name="seed", wanted=lambda request: request.seed is not None, forms=(LEFT_OUT,), words=re.compile("seed")
)


def negotiation() -> Negotiation:
    return Negotiation((CAP, FORMAT, SEED))


def refusal(message: str = "bad", *, status: int = 400, fields: tuple[str, ...] = (), code: str = "x") -> Failure:
    return Failure(message=message, status=status, fields=fields, codes=frozenset({code}))


def test_nothing_refused_means_first_forms_and_no_report() -> None:
    server = negotiation()
    offer = server.offer(REQUEST)
    assert offer.fields == {"cap": 7, "format": {"kind": "rich"}}
    assert offer.params_used == {"cap": 7, "format": "rich"}
    assert server.dropped() == {}


def test_a_refused_parameter_goes_down_its_forms_and_the_report_follows() -> None:
    server = negotiation()
    reports = []
    for _ in range(2):
        assert server.concede(server.offer(REQUEST), refusal(fields=("format",)))
        server.offer(REQUEST)
        reports.append(dict(server.dropped()))
    assert reports == [{"format": "sent as plain"}, {"format": "dropped"}]
    assert server.offer(REQUEST).fields == {"cap": 7}
    assert not server.concede(server.offer(REQUEST), refusal(fields=("format",))), "nothing is left to give up"


def test_a_parameter_that_must_be_sent_is_never_left_out() -> None:
    server = negotiation()
    assert server.concede(server.offer(REQUEST), refusal("cap is unknown"))
    assert server.offer(REQUEST).fields["limit"] == 7
    assert not server.concede(server.offer(REQUEST), refusal("limit and cap are unknown"))


def test_the_field_that_the_server_points_at_beats_the_words_of_its_message() -> None:
    server = negotiation()
    assert server.concede(server.offer(REQUEST), refusal("cap is fine, unlike another", fields=("format",)))
    assert server.offer(REQUEST).params_used == {"cap": 7, "format": "plain"}


def test_the_first_name_in_a_message_is_the_one_meant() -> None:
    server = negotiation()
    assert server.concede(server.offer(REQUEST), refusal("format: not with cap"))
    assert server.offer(REQUEST).params_used == {"cap": 7, "format": "plain"}


def test_a_refusal_that_another_thread_met_first_only_means_another_try() -> None:
    server = negotiation()
    first, second = server.offer(REQUEST), server.offer(REQUEST)
    assert server.concede(first, refusal(fields=("format",)))
    assert server.concede(second, refusal(fields=("format",)))
    assert server.offer(REQUEST).params_used["format"] == "plain", "moved once, not twice"


@pytest.mark.parametrize(
    "failure",
    [
        refusal("the format is wrong", status=500),
        refusal("the format is wrong", status=429),
        refusal("something else"),
        refusal("cap: too high for the maximum context length of 9"),
        refusal("format and cap", code="context_length_exceeded"),
        refusal("format and cap", code="content_filter"),
    ],
)
def test_other_failures_change_nothing(failure: Failure) -> None:
    server = negotiation()
    assert not server.concede(server.offer(REQUEST), failure)
    assert server.offer(REQUEST).params_used == {"cap": 7, "format": "rich"}


def test_a_parameter_that_does_not_exist_is_reported_once_it_is_wanted() -> None:
    server = negotiation()
    server.offer(REQUEST)
    assert server.dropped() == {}
    offer = server.offer(Request(messages=REQUEST.messages, max_tokens=7, seed=3))
    assert "seed" not in offer.fields
    assert server.dropped() == {"seed": "dropped"}


def test_a_strict_schema_has_closed_objects_without_limits() -> None:
    schema = {
        "type": "object",
        "properties": {
            # A property may have the name of a keyword.
            "pattern": {"type": "string", "pattern": "^a", "maxLength": 5, "description": "kept"},
            "items": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "object", "properties": {"id": {"enum": ["a", "b"]}}},
            },
            "either": {"anyOf": [{"type": "null"}, {"type": "number", "minimum": 0}]},
        },
        "required": ["pattern"],
    }
    before = repr(schema)
    assert strict_schema(schema) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "kept"},
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": {"enum": ["a", "b"]}},
                    "required": ["id"],
                    "additionalProperties": False,
                },
            },
            "either": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        },
        "required": ["pattern", "items", "either"],
        "additionalProperties": False,
    }
    assert repr(schema) == before, "the schema itself stays as it is"
