"""Chat models of the many providers that the package `litellm` knows."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import openai

from bineval.environment import set_default
from bineval.errors import ConfigError, MissingDependencyError
from bineval.models.catalog import ModelOptions
from bineval.models.chat_completions import PARAMETERS, messages, read_completion
from bineval.models.http_errors import Failure, failure_in
from bineval.models.parameters import Offer
from bineval.models.remote_chat import RemoteChat
from bineval.models.sdk_endpoint import key_from, public_url
from bineval.types import Price, Reply, Request


class LiteLLMChat(RemoteChat):
    """A model reached through `litellm`, which reads the provider's own key variables.

    Args:
        model: `provider/model` in litellm's words.
        options: Without a price, the one in litellm's own table holds, if the provider's own URL is called.

    Raises:
        ConfigError: litellm knows no such provider, or the variable for the key is not set.
        MissingDependencyError: The package `litellm` is not installed.
    """

    def __init__(self, model: str, options: ModelOptions) -> None:
        self._litellm = _litellm(model)
        try:
            bare, provider, _, _ = self._litellm.get_llm_provider(model=model, api_base=options.base_url)
        except self._litellm.BadRequestError as error:
            raise ConfigError(
                f"litellm/{model}: litellm knows no such provider; write litellm/PROVIDER/MODEL"
            ) from error
        self._settings: dict[str, Any] = {"model": model, "timeout": options.timeout_s, "max_retries": 0}
        self._key = key_from(options, None)
        if self._key:
            self._settings["api_key"] = self._key
        if options.base_url:
            self._settings["api_base"] = options.base_url
        price = options.price or (None if options.base_url else self._listed_price(model, bare, provider))
        base_url = public_url(options.base_url) if options.base_url else None
        super().__init__(provider="litellm", model=model, base_url=base_url, price=price, parameters=PARAMETERS)

    def _call(self, request: Request, offer: Offer) -> Reply | Failure:
        try:
            answer = self._litellm.completion(messages=messages(request), **self._settings, **offer.fields)
        except openai.APIError as error:  # litellm's own errors all derive from the SDK's
            return self._failure(error)
        return read_completion(answer.model_dump(), request, offer.params_used)

    def _failure(self, error: openai.APIError) -> Failure:
        response = getattr(error, "response", None)
        body = error.body if isinstance(error.body, dict) else {}
        said = {"error": {**body, "message": error.message}}
        failure = failure_in(said, 0, response.headers if response is not None else {}, secret=self._key)
        codes = set(failure.codes)
        if isinstance(error, self._litellm.exceptions.ContextWindowExceededError):
            codes.add("context_length_exceeded")
        if isinstance(error, self._litellm.exceptions.ContentPolicyViolationError):
            codes.add("content_filter")
        timed_out = isinstance(error, openai.APITimeoutError)
        status = None if timed_out else getattr(error, "status_code", None)
        return replace(failure, status=status, codes=frozenset(codes))

    def _listed_price(self, model: str, bare: str, provider: str) -> Price | None:
        for name in (model, bare):
            entry = self._litellm.model_cost.get(name, {})
            if entry.get("litellm_provider") == provider and "input_cost_per_token" in entry:
                return Price(
                    input_usd=entry["input_cost_per_token"] * 1e6,
                    output_usd=entry.get("output_cost_per_token", 0.0) * 1e6,
                )
        return None


def _litellm(model: str) -> ModuleType:
    """Imports litellm without its telemetry, its download of prices and its advice on stdout."""
    set_default("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError as error:
        raise MissingDependencyError("litellm", "litellm", f"the model litellm/{model}") from error
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    module: ModuleType = litellm
    return module
