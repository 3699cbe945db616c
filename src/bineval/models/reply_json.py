"""Replies as JSON values, as the reply cache keeps them."""

from typing import Any, cast

from bineval.hashing import Json
from bineval.types import Reply, TokenLogprob, Usage


def reply_to_json(reply: Reply) -> dict[str, Json]:
    """Returns all of a reply but where it was cached; `reply_from_json` is its inverse."""
    logprobs: Json = None
    if reply.logprobs is not None:
        logprobs = [[item.token, item.logprob, [list(pair) for pair in item.top]] for item in reply.logprobs]
    usage = reply.usage
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "refusal": reply.refusal,
        "logprobs": logprobs,
        "finish_reason": reply.finish_reason,
        "usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.calls],
        "model": reply.model,
        "params_used": dict(reply.params_used),
    }


def reply_from_json(value: dict[str, Json], *, key: str, cached: bool) -> Reply:
    """Rebuilds a reply from the cache."""
    data = cast(dict[str, Any], value)
    logprobs = data["logprobs"]
    if logprobs is not None:
        logprobs = [
            TokenLogprob(token=token, logprob=logprob, top=tuple((t, p) for t, p in top))
            for token, logprob, top in logprobs
        ]
    input_tokens, output_tokens, cached_input_tokens, calls = data["usage"]
    return Reply(
        text=data["text"],
        reasoning=data["reasoning"],
        refusal=data["refusal"],
        logprobs=logprobs,
        finish_reason=data["finish_reason"],
        usage=Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_input_tokens=cached_input_tokens,
            calls=calls,
        ),
        model=data["model"],
        params_used=data["params_used"],
        key=key,
        cached=cached,
    )
