"""Chat models of OpenAI and of every server that speaks its chat completions API."""

import openai

from bineval.models.catalog import ModelOptions
from bineval.models.chat_completions import PARAMETERS, messages, read_completion
from bineval.models.http_errors import Failure
from bineval.models.parameters import Offer
from bineval.models.remote_chat import RemoteChat
from bineval.models.sdk_endpoint import SdkEndpoint
from bineval.types import Reply, Request


class OpenAIChat(RemoteChat):
    """A model reached through the `openai` SDK.

    Args:
        model: The model's name at the server.
        options: Without `base_url`, the SDK's own choice (`OPENAI_BASE_URL`, else OpenAI). The key is in
            `OPENAI_API_KEY` or in the variable that the options name; servers other than OpenAI may need none.

    Raises:
        ConfigError: The base URL is none, or there is no key where one is needed.
    """

    def __init__(self, model: str, options: ModelOptions) -> None:
        self._endpoint = SdkEndpoint(
            openai, "OpenAI", key_variable="OPENAI_API_KEY", path="/chat/completions", options=options
        )
        self._model = model
        super().__init__(
            provider="openai",
            model=model,
            base_url=self._endpoint.base_url,
            price=options.price,
            parameters=PARAMETERS,
        )

    def _call(self, request: Request, offer: Offer) -> Reply | Failure:
        answer = self._endpoint.post({"model": self._model, "messages": messages(request), **offer.fields})
        if isinstance(answer, Failure):
            return answer
        if "choices" not in answer:
            return self._endpoint.unexpected("JSON without choices")
        return read_completion(answer, request, offer.params_used)
