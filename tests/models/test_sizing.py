import pytest

from bineval.models.scripted import Scripted
from bineval.models.sizing import estimated_tokens, input_tokens, used_by
from bineval.types import Message, Reply, Request, Usage


def request(*texts: str, schema: dict[str, str] | None = None) -> Request:
    messages = tuple(Message(role="user", content=text) for text in texts)
    return Request(messages=messages, max_tokens=50, schema=schema)


@pytest.mark.parametrize(
    ("texts", "schema", "n_tokens"),
    [
        ((), None, 0),
        (("",), None, 8),  # what a message costs without a text
        (("a" * 300,), None, 108),  # 300 / 3 + 8
        (("a" * 300, "b" * 302), None, 216),  # 108 + 302 // 3 + 8
        (("模" * 100,), None, 108),  # 3 bytes a character, a token a character
        (("я" * 150,), None, 108),  # 2 bytes a character
        (("\ud800" * 100,), None, 108),  # a lone surrogate is no reason to fail
        (("a" * 300,), {"type": "object"}, 121),  # {"type":"object"} has 17 bytes: 108 + 17 // 3 + 8
    ],
)
def test_tokens_are_estimated_by_bytes(texts: tuple[str, ...], schema: dict[str, str] | None, n_tokens: int) -> None:
    assert estimated_tokens(request(*texts, schema=schema)) == n_tokens


def test_a_model_that_can_count_is_believed() -> None:
    model = Scripted.from_function(lambda request: "yes")
    assert input_tokens(model, request("a" * 300)) == 75  # four characters a token


def test_a_model_that_cannot_count_is_estimated() -> None:
    class Remote(Scripted):
        def count_tokens(self, request: Request) -> None:  # type: ignore[override]
            return None

    assert input_tokens(Remote.from_function(lambda request: "yes"), request("a" * 300)) == 108


RESERVED = Usage(input_tokens=100, output_tokens=50, calls=1)


@pytest.mark.parametrize(
    ("said", "used"),
    [
        (Usage(input_tokens=70, output_tokens=5, calls=1), Usage(input_tokens=70, output_tokens=5, calls=1)),
        (Usage(input_tokens=700, output_tokens=5, calls=2), Usage(input_tokens=700, output_tokens=5, calls=2)),
        (Usage(input_tokens=70, output_tokens=0, calls=1), Usage(input_tokens=70, output_tokens=0, calls=1)),
        (Usage(calls=1), RESERVED),  # the server says nothing of tokens
        (Usage(), RESERVED),
        (Usage(input_tokens=70, output_tokens=5), Usage(input_tokens=70, output_tokens=5, calls=1)),  # a call it was
    ],
)
def test_a_call_used_what_the_server_says_or_else_what_was_reserved(said: Usage, used: Usage) -> None:
    assert used_by(Reply(text="yes", usage=said), RESERVED) == used
