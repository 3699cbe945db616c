"""Decision models of OpenAI's Decisions API (`POST /v1/decisions`), which is in beta."""

import json
from typing import Any

import openai

from bineval.errors import ModelRequestError
from bineval.hashing import Json
from bineval.io.values import storable
from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.decision_format import NO_ANSWERS, final_without_model, reply_with, said, state_of
from bineval.models.http_errors import Failure
from bineval.models.parameters import Offer
from bineval.models.remote_chat import RemoteChat
from bineval.models.sdk_endpoint import SdkEndpoint
from bineval.types import Predicate, Reply, Request

_MOST_BYTES = 256 * 1024


class OpenAIDecisions(RemoteChat):
    """A decision model; the format has no temperature, no seed and no cap on tokens, so none is sent.

    Args:
        model: The model's name at the server.
        options: Base URL and key as for `openai/…`.

    Raises:
        ConfigError: The base URL is none, or there is no key where one is needed.
    """

    capabilities = Capabilities(generates=False, decides=True, top_logprobs=0, max_predicates=400)

    def __init__(self, model: str, options: ModelOptions) -> None:
        self._endpoint = SdkEndpoint(
            openai, "OpenAI", key_variable="OPENAI_API_KEY", path="/decisions", options=options
        )
        self._model = model
        super().__init__(
            provider="decisions", model=model, base_url=self._endpoint.base_url, price=options.price, parameters=()
        )

    def count_tokens(self, request: Request) -> None:
        """None: only the provider knows.

        Raises:
            ModelRequestError: The state takes more bytes than this API accepts.
        """
        self._fitting_state(request)

    def _call(self, request: Request, offer: Offer) -> Reply | Failure:
        state = {"type": "input_json", "data": self._fitting_state(request)}
        answer = self._endpoint.post(
            {
                "model": self._model,
                "input": [{"role": "user", "content": [state]}],
                "questions": [_question(predicate) for predicate in request.predicates],
            }
        )
        if isinstance(answer, Failure):
            return final_without_model(answer)
        answers = answer.get("answers")
        if not isinstance(answers, list):
            return self._endpoint.unexpected("JSON without a list of answers")
        if not answers:
            return NO_ANSWERS
        # Answers stand in the order of the questions. One with another name is none: nobody knows what it answers.
        pairs = zip(request.predicates, answers, strict=False)
        values = {p.id: said(entry, "probability") for p, entry in pairs if _name(entry) == p.id}
        return reply_with(values, answer)

    def _fitting_state(self, request: Request) -> dict[str, Json]:
        state = state_of(request)
        n_bytes = len(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode())
        if n_bytes > _MOST_BYTES:
            problem = f"the example takes {n_bytes} bytes as JSON, this API at most {_MOST_BYTES}; text is never cut"
            raise ModelRequestError(problem, model=self.name)
        return state


def _question(predicate: Predicate) -> dict[str, Any]:
    sides = (("yes", predicate.yes), ("no", predicate.no))
    criteria = "".join(f"\nCounts as {side}: {text}" for side, text in sides if text is not None)
    instructions = storable(f"{predicate.instructions}{criteria}")
    return {"type": "predicate", "name": predicate.id, "instructions": instructions}


def _name(entry: object) -> object:
    return entry.get("name") if isinstance(entry, dict) else None
