"""The chat completions format, which most servers speak: its parameters, its messages and its answers."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bineval.hashing import Json
from bineval.io.values import storable
from bineval.models.http_errors import EMPTY_REPLY, Failure, failure_in
from bineval.models.parameters import LEFT_OUT, TEMPERATURE, Form, Parameter, strict_schema
from bineval.models.remote_chat import mapping, token_count
from bineval.types import FinishReason, Reply, Request, TokenLogprob, Usage

_FEW_LOGPROBS = 5
"""What servers with a low cap on alternatives still give."""


def _response_format(**value: Any) -> dict[str, Any]:  # noqa: ANN401 - a JSON object
    return {"response_format": value}


def _strict_format(request: Request) -> dict[str, Any]:
    schema = strict_schema(request.schema or {})
    return _response_format(type="json_schema", json_schema={"name": "reply", "strict": True, "schema": schema})


def _logprobs(n: int) -> dict[str, Any]:
    return {"logprobs": True, "top_logprobs": n}


PARAMETERS = (
    Parameter(
        name="max_tokens",
        wanted=lambda request: True,
        forms=(
            Form(label="max_tokens", fields=lambda request: {"max_tokens": request.max_tokens}),
            Form(label="max_completion_tokens", fields=lambda request: {"max_completion_tokens": request.max_tokens}),
        ),
        words=re.compile(r"\bmax_tokens\b"),
    ),
    TEMPERATURE,
    Parameter(
        name="seed",
        wanted=lambda request: request.seed is not None,
        forms=(Form(label="seed", fields=lambda request: {"seed": request.seed}), LEFT_OUT),
        words=re.compile(r"\bseed\b", re.IGNORECASE),
    ),
    Parameter(
        name="logprobs",
        wanted=lambda request: request.top_logprobs > 0,
        forms=(
            Form(label="logprobs", fields=lambda request: _logprobs(request.top_logprobs)),
            Form(
                label=f"at most {_FEW_LOGPROBS} top_logprobs",
                fields=lambda request: _logprobs(min(request.top_logprobs, _FEW_LOGPROBS)),
            ),
            LEFT_OUT,
        ),
        words=re.compile(r"\b(top_)?logprobs?\b|log probabilit", re.IGNORECASE),
    ),
    Parameter(
        name="response_format",
        wanted=lambda request: request.schema is not None,
        forms=(
            Form(label="json_schema", fields=_strict_format),
            # llama.cpp's servers take a schema here, and nowhere else in some versions.
            Form(
                label="json_object with schema",
                fields=lambda request: _response_format(type="json_object", schema=request.schema),
            ),
            Form(label="json_object", fields=lambda request: _response_format(type="json_object")),
            LEFT_OUT,
        ),
        words=re.compile(
            r"\bresponse[_ ]format\b|\bjson[_ ]schema\b|\bjson_object\b|\bstructured[_ ]outputs?\b|\bgrammar\b",
            re.IGNORECASE,
        ),
    ),
)

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
}


def messages(request: Request) -> list[dict[str, str]]:
    """The request's messages as the format has them."""
    return [{"role": message.role, "content": storable(message.content)} for message in request.messages]


def read_completion(answer: Mapping[str, Any], request: Request, params_used: Mapping[str, Json]) -> Reply | Failure:
    """The reply in a chat completion.

    Args:
        answer: The parsed answer, an object without a top-level error.
        request: What was asked.
        params_used: Goes into the reply.

    Returns:
        The reply, or a failure when there is no choice in the answer, or an error in it.
    """
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return Failure(message="the answer holds no choices", status=200, codes=frozenset({EMPTY_REPLY}))
    if choice.get("error"):
        return failure_in(choice, 200, {}, secret=None)
    message = mapping(choice.get("message"))
    text, reasoning = _content(message)
    refusal = message.get("refusal") or None
    finish_reason = _FINISH_REASONS.get(str(choice.get("finish_reason")).lower(), "other")
    return Reply(
        text=text,
        reasoning=reasoning,
        refusal=refusal,
        logprobs=_read_logprobs(choice) if request.top_logprobs else None,
        finish_reason="refused" if refusal else finish_reason,
        usage=_usage(mapping(answer.get("usage"))),
        model=str(answer.get("model") or ""),
        params_used=params_used,
    )


def _content(message: Mapping[str, Any]) -> tuple[str, str | None]:
    """Visible text and reasoning of a message, whose content is a string, null or a list of parts."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    thoughts = [reasoning] if isinstance(reasoning, str) else []
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        thoughts += [_joined(part["thinking"]) for part in parts if part.get("thinking")]
        content = _joined(parts)
    text = content if isinstance(content, str) else ""
    return storable(text), storable("\n".join(thoughts)) or None


def _joined(value: object) -> str:
    """The text of a string or of a list of text parts."""
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return value if isinstance(value, str) else ""


def _read_logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...] | None:
    content = mapping(choice.get("logprobs")).get("content")
    if not isinstance(content, list):
        return None
    return tuple(
        TokenLogprob(token=token, logprob=logprob, top=tuple(_pairs(entry.get("top_logprobs"))))
        for entry in content
        for token, logprob in _pairs([entry])
    )


def _pairs(entries: object) -> Iterator[tuple[str, float]]:
    """Token and log probability of each well-formed entry; JSON has no way to keep an infinite one."""
    for entry in entries if isinstance(entries, list) else ():
        token, logprob = mapping(entry).get("token"), mapping(entry).get("logprob")
        if isinstance(token, str) and isinstance(logprob, int | float) and math.isfinite(logprob):
            yield storable(token), float(logprob)


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = mapping(usage.get("prompt_tokens_details"))
    return Usage(
        input_tokens=token_count(usage.get("prompt_tokens")),
        output_tokens=token_count(usage.get("completion_tokens")),
        cached_input_tokens=token_count(details.get("cached_tokens")),
        calls=1,
    )
