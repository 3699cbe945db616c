"""What all models behind a provider's API share: the call with its negotiation, and what identifies the model."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from bineval.hashing import Json
from bineval.models.base import Capabilities
from bineval.models.http_errors import Failure
from bineval.models.parameters import Negotiation, Offer, Parameter
from bineval.types import Price, Reply, Request, Usage


class RemoteChat(ABC):
    """Base of the remote adapters; each says how to make one call.

    Attributes:
        name: `provider/model`, as the user gave it.
        identity: Provider, model and the URL that is really called.
        price: What tokens cost, or None.
        max_concurrency: None; limits of a provider are the wrappers' business.
    """

    max_concurrency: int | None = None
    capabilities = Capabilities()

    def __init__(
        self, *, provider: str, model: str, base_url: str | None, price: Price | None, parameters: tuple[Parameter, ...]
    ) -> None:
        self.name = f"{provider}/{model}"
        self.identity: Mapping[str, Json] = {"provider": provider, "model": model, "base_url": base_url}
        self.price = price
        self._negotiation = Negotiation(parameters)

    def complete(self, request: Request) -> Reply:
        """Answers one request; parameters that the server refuses are replaced or left out, and remembered.

        Raises:
            ModelError: The call failed; its class says whether another try can help.
        """
        while True:  # ends: each turn moves a parameter down its list of forms
            offer = self._negotiation.offer(request)
            outcome = self._call(request, offer)
            if isinstance(outcome, Reply):
                return outcome
            if not self._negotiation.concede(offer, outcome):
                break
        if outcome.filtered:
            return Reply(
                text="",
                refusal=outcome.message,
                finish_reason="refused",
                usage=Usage(calls=1),
                params_used=offer.params_used,
            )
        raise outcome.to_error(self.name)

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Answers one request after the other."""
        return [self.complete(request) for request in requests]

    def count_tokens(self, request: Request) -> int | None:
        """None: only the provider knows."""
        return None

    def dropped_parameters(self) -> Mapping[str, str]:
        """Parameters that the server refused, each with what was done."""
        return self._negotiation.dropped()

    @abstractmethod
    def _call(self, request: Request, offer: Offer) -> Reply | Failure:
        """Makes one call with the offered parameters; never raises for what a server can do."""


def mapping(value: object) -> Mapping[str, Any]:
    """An object of a server's answer; empty where it sent something else."""
    return value if isinstance(value, dict) else {}


def token_count(value: object) -> int:
    """A number of tokens from a server's answer; 0 where it did not say."""
    return int(value) if isinstance(value, int | float) and 0 <= value < math.inf else 0
