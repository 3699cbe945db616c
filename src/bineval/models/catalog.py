"""Opens a model by its `provider/model` name; a provider's module is imported when it is first named."""

import importlib
import re
from dataclasses import dataclass

from bineval.errors import ConfigError, UnknownNameError
from bineval.models.base import Model
from bineval.types import Price

_PROVIDERS = {
    "openai": "bineval.models.openai_chat:OpenAIChat",
    "anthropic": "bineval.models.anthropic_chat:AnthropicChat",
    "litellm": "bineval.models.litellm_chat:LiteLLMChat",
    "llamacpp": "bineval.models.llamacpp:LlamaCpp",
    "systemone": "bineval.models.systemone:SystemOne",
    "decisions": "bineval.models.openai_decisions:OpenAIDecisions",
    "scripted": "bineval.models.scripted:Scripted",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelOptions:
    """How to reach a model; none of it belongs to the request.

    Attributes:
        base_url: Root of an OpenAI-compatible (or Anthropic) server; None for the provider's own.
        api_key_env: Environment variable that holds the key; None for the provider's usual one.
        timeout_s: Longest wait for a reply, in seconds; connecting has its own, shorter limit.
        price: What tokens cost, if the user says so; None when unknown.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    timeout_s: float = 120.0
    price: Price | None = None


def split_name(name: str) -> tuple[str, str]:
    """Splits `provider/model` (or `provider:model`) at the first separator.

    Raises:
        ConfigError: There is no separator, or one side is empty.
        UnknownNameError: No such provider.
    """
    provider, separator, model = re.match(r"([^/:]*)([/:]?)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    if not separator or not provider or not model:
        raise ConfigError(f"model {name!r} must be provider/model; providers: {', '.join(sorted(_PROVIDERS))}")
    if provider not in _PROVIDERS:
        raise UnknownNameError("model provider", provider, _PROVIDERS)
    return provider, model


def open_model(name: str, options: ModelOptions | None = None) -> Model:
    """Opens the model `name`; no call is made.

    Raises:
        ConfigError: The name is malformed, or the options do not fit the provider.
        MissingDependencyError: The provider's package is not installed.
    """
    provider, model = split_name(name)
    module_name, _, class_name = _PROVIDERS[provider].partition(":")
    adapter: type[Model] = getattr(importlib.import_module(module_name), class_name)
    return adapter(model, options or ModelOptions())  # type: ignore[call-arg]
