"""How many tokens a request and its reply take, where nobody has counted them."""

from dataclasses import replace

from bineval.hashing import canonical_json
from bineval.models.base import Model
from bineval.types import Reply, Request, Usage

# English text has about four bytes a token, code, figures and most other languages fewer: three rarely counts too
# little. In bytes, for a character of a language such as Chinese is often a token of its own.
_BYTES_PER_TOKEN = 3
_TOKENS_PER_TEXT = 8


def input_tokens(model: Model, request: Request) -> int:
    """Tokens of the request: counted where the model can, else estimated, rather too high than too low.

    Raises:
        ModelRequestError: The request cannot fit the model's context, known without a call.
    """
    counted = model.count_tokens(request)
    if counted is not None:
        return counted
    return estimated_tokens(request)


def estimated_tokens(request: Request) -> int:
    """Tokens of the request's messages, schema and predicates by their length."""
    texts = [message.content for message in request.messages]
    if request.schema is not None:
        texts.append(canonical_json(request.schema))
    for item in request.predicates:
        texts += [text for text in (item.instructions, item.yes, item.no) if text is not None]
    return sum(len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN + _TOKENS_PER_TEXT for text in texts)


def used_by(reply: Reply, reservation: Usage) -> Usage:
    """What a call used: what the server says, or all that was reserved for it where the server says nothing."""
    if reply.usage.input_tokens + reply.usage.output_tokens == 0:
        return reservation
    return replace(reply.usage, calls=max(1, reply.usage.calls))
