"""Chat models behind Anthropic's messages API."""

import re
from collections.abc import Mapping
from typing import Any

from bineval.errors import MissingDependencyError
from bineval.hashing import Json
from bineval.io.values import storable
from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.http_errors import Failure
from bineval.models.parameters import LEFT_OUT, TEMPERATURE, Form, Offer, Parameter, strict_schema
from bineval.models.remote_chat import RemoteChat, token_count
from bineval.models.sdk_endpoint import SdkEndpoint
from bineval.types import FinishReason, Reply, Request, Usage

_NEVER_NAMED = re.compile(r"(?!)")


def _output_config(request: Request) -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": strict_schema(request.schema or {})}}}


_PARAMETERS = (
    Parameter(
        name="max_tokens",
        wanted=lambda request: True,
        forms=(Form(label="max_tokens", fields=lambda request: {"max_tokens": request.max_tokens}),),
        words=_NEVER_NAMED,
    ),
    TEMPERATURE,
    Parameter(
        name="response_format",
        wanted=lambda request: request.schema is not None,
        forms=(Form(label="json_schema", fields=_output_config), LEFT_OUT),
        words=re.compile(r"\boutput_(config|format)\b|\bjson[_ ]schema\b|\bstructured[_ ]outputs?\b", re.IGNORECASE),
    ),
    # The API has neither of these two.
    Parameter(name="seed", wanted=lambda request: request.seed is not None, forms=(LEFT_OUT,), words=_NEVER_NAMED),
    Parameter(name="logprobs", wanted=lambda request: request.top_logprobs > 0, forms=(LEFT_OUT,), words=_NEVER_NAMED),
)

_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class AnthropicChat(RemoteChat):
    """A model reached through the `anthropic` SDK.

    Args:
        model: The model's name at the server.
        options: Without `base_url`, the SDK's own choice (`ANTHROPIC_BASE_URL`, else Anthropic). The key is in
            `ANTHROPIC_API_KEY` or in the variable that the options name.

    Raises:
        ConfigError: The base URL is none, or there is no key where one is needed.
        MissingDependencyError: The package `anthropic` is not installed.
    """

    capabilities = Capabilities(top_logprobs=0)

    def __init__(self, model: str, options: ModelOptions) -> None:
        try:
            import anthropic
        except ImportError as error:
            raise MissingDependencyError("anthropic", "anthropic", f"the model anthropic/{model}") from error
        self._endpoint = SdkEndpoint(
            anthropic, "Anthropic", key_variable="ANTHROPIC_API_KEY", path="/v1/messages", options=options
        )
        self._model = model
        super().__init__(
            provider="anthropic",
            model=model,
            base_url=self._endpoint.base_url,
            price=options.price,
            parameters=_PARAMETERS,
        )

    def _call(self, request: Request, offer: Offer) -> Reply | Failure:
        answer = self._endpoint.post({"model": self._model, **_messages(request), **offer.fields})
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer.get("content"), list):
            return self._endpoint.unexpected("JSON without content")
        return _read_message(answer, offer.params_used)


def _messages(request: Request) -> dict[str, Any]:
    """The request's messages as the API has them: the system text stands apart."""
    turns: list[dict[str, str]] = []
    system: list[str] = []
    for message in request.messages:
        text = storable(message.content)
        if message.role == "system":
            system.append(text)
        else:
            turns.append({"role": message.role, "content": text})
    return {"messages": turns, **({"system": "\n\n".join(system)} if system else {})}


def _read_message(answer: Mapping[str, Any], params_used: Mapping[str, Json]) -> Reply:
    stop_details = answer.get("stop_details")
    refusal = stop_details.get("explanation") if isinstance(stop_details, dict) else None
    return Reply(
        text=_joined(answer["content"], "text"),
        reasoning=_joined(answer["content"], "thinking") or None,
        refusal=refusal,
        finish_reason=_FINISH_REASONS.get(str(answer.get("stop_reason")), "other"),
        usage=_usage(answer.get("usage")),
        model=str(answer.get("model") or ""),
        params_used=params_used,
    )


def _joined(blocks: list[Any], kind: str) -> str:
    """The text of all blocks of a kind, whose text stands under the kind's own name."""
    texts = (block.get(kind) for block in blocks if isinstance(block, dict) and block.get("type") == kind)
    return storable("".join(text for text in texts if isinstance(text, str)))


def _usage(usage: object) -> Usage:
    counts = usage if isinstance(usage, dict) else {}
    cached = token_count(counts.get("cache_read_input_tokens"))
    # The API counts what it read from and wrote to its cache apart from the other input.
    written = token_count(counts.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=token_count(counts.get("input_tokens")) + cached + written,
        output_tokens=token_count(counts.get("output_tokens")),
        cached_input_tokens=cached,
        calls=1,
    )
