"""Estimates how many tokens a request has where nobody can count them yet."""

from bineval.models.base import Model
from bineval.types import Request

# English text has about four characters a token, code and other languages fewer: three rarely counts too little.
_CHARS_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 8


def input_tokens(model: Model, request: Request) -> int:
    """Tokens of the request's messages: counted where the model can, else estimated, rather too high than too low.

    Raises:
        ModelRequestError: The request cannot fit the model's context, known without a call.
    """
    counted = model.count_tokens(request)
    if counted is not None:
        return counted
    return estimated_tokens(request)


def estimated_tokens(request: Request) -> int:
    """Tokens of the request's messages by their length."""
    return sum(len(message.content) // _CHARS_PER_TOKEN + _TOKENS_PER_MESSAGE for message in request.messages)
