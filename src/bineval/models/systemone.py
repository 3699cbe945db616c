"""Decision models behind the System One format (`POST /v1/systemone`), which many servers speak."""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

from bineval.environment import server_url
from bineval.errors import ConfigError
from bineval.io.values import storable
from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.decision_format import NO_ANSWERS, final_without_model, reply_with, said, state_of
from bineval.models.endpoint import PlainEndpoint
from bineval.models.http_errors import Failure
from bineval.models.parameters import Offer
from bineval.models.remote_chat import RemoteChat
from bineval.models.sdk_endpoint import check_url, key_from, public_url
from bineval.types import Predicate, Reply, Request

_KEY_VARIABLE = "TYPESAFE_API_KEY"
_URL_VARIABLE = "TYPESAFE_BASE_URL"
_PATH = "/systemone"


class SystemOne(RemoteChat):
    """A decision model; the format has no temperature, no seed and no cap on tokens, so none is sent.

    Args:
        model: The model's name at the server.
        options: The base URL is the server's root, or ends in `/v1`, or is the full URL that ends in `/systemone`;
            without one, `TYPESAFE_BASE_URL`. The key is in `TYPESAFE_API_KEY` or in the variable that the options
            name; many servers need none.

    Raises:
        ConfigError: There is no base URL (none is guessed), or it is none.
    """

    # Servers take 8, 64 or 400; what takes less refuses, and is asked again with less.
    capabilities = Capabilities(generates=False, decides=True, top_logprobs=0, max_predicates=64)

    def __init__(self, model: str, options: ModelOptions) -> None:
        base_url = options.base_url or server_url(_URL_VARIABLE)
        if base_url is None:
            raise ConfigError(f"systemone/{model} needs to know its server: give --base-url, or set {_URL_VARIABLE}")
        check_url(base_url)
        url = full_url(base_url)
        self._endpoint = PlainEndpoint(
            url, base_url=public_url(url), secret=key_from(options, _KEY_VARIABLE), timeout_s=options.timeout_s
        )
        self._model = model
        super().__init__(
            provider="systemone", model=model, base_url=self._endpoint.base_url, price=options.price, parameters=()
        )

    def _call(self, request: Request, offer: Offer) -> Reply | Failure:
        questions = {predicate.id: _question(predicate) for predicate in request.predicates}
        answer = self._endpoint.post({"model": self._model, "state": state_of(request), "questions": questions})
        if isinstance(answer, Failure):
            return final_without_model(answer)
        answers = answer.get("answers")
        if not isinstance(answers, dict):
            return self._endpoint.unexpected("JSON without answers by question")
        if not answers:
            return NO_ANSWERS
        values = {key: said(answers[key], "noul") for key in questions if key in answers}
        return reply_with(values, answer)


def full_url(base_url: str) -> str:
    """The URL to post to, from a server's root, its `/v1`, or that URL itself."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if not path.endswith(_PATH):
        path += _PATH if path.endswith("/v1") else f"/v1{_PATH}"
    return urlunsplit(parts._replace(path=path))


def _question(predicate: Predicate) -> dict[str, Any]:
    sides = {"true": predicate.yes, "false": predicate.no}
    criteria = {side: storable(text) for side, text in sides.items() if text is not None}
    question: dict[str, Any] = {"type": "noul", "instructions": storable(predicate.instructions)}
    return {**question, "criteria": criteria} if criteria else question
