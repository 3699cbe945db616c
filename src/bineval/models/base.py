"""What a model is: one verb from `Request` to `Reply`, and what identifies it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bineval.hashing import Json
from bineval.types import Price, Reply, Request


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What a model can do, known without a call.

    Attributes:
        generates: Whether it writes text.
        decides: Whether it answers `Request.predicates`.
        top_logprobs: Most alternatives a token whose log probability it can report; 0 for none.
        shares_prefix: Whether `complete_many` reads what requests share at their beginning only once.
        max_predicates: Most predicates in one request; None for no limit of its own.
    """

    generates: bool = True
    decides: bool = False
    top_logprobs: int = 20
    shares_prefix: bool = False
    max_predicates: int | None = None


class Model(Protocol):
    """Anything that answers requests; wrappers are models around a model. Used by many threads at once."""

    @property
    def name(self) -> str:
        """`provider/model`, as the user gave it."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What can change replies besides the request (provider, model, base URL, file hash); part of cache keys."""
        ...

    @property
    def max_concurrency(self) -> int | None:
        """Most calls that make sense at once; None for no limit of its own."""
        ...

    @property
    def price(self) -> Price | None:
        """What tokens cost; None when unknown, never a guess."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def complete(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            ModelError: The call failed; its class says whether another try can help.
        """
        ...

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Answers requests together, in order; all or none.

        Raises:
            ModelError: One of the calls failed.
        """
        ...

    def count_tokens(self, request: Request) -> int | None:
        """Tokens of the request's messages where they can be counted without a call, else None.

        Raises:
            ModelRequestError: The request cannot fit the model's context, known without a call.
        """
        ...

    def dropped_parameters(self) -> Mapping[str, str]:
        """Parameters that the server refused, each with what was done ("dropped", "sent as …")."""
        ...


class Wrapper:
    """Base of the wrappers: passes everything on to the model inside; one overrides `complete` and `complete_many`."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    @property
    def identity(self) -> Mapping[str, Json]:
        """Identity of the model inside: a wrapper never changes what is answered."""
        return self.inner.identity

    @property
    def max_concurrency(self) -> int | None:
        """Limit of the model inside."""
        return self.inner.max_concurrency

    @property
    def price(self) -> Price | None:
        """Price of the model inside."""
        return self.inner.price

    @property
    def capabilities(self) -> Capabilities:
        """Those of the model inside."""
        return self.inner.capabilities

    def count_tokens(self, request: Request) -> int | None:
        """Count of the model inside."""
        return self.inner.count_tokens(request)

    def dropped_parameters(self) -> Mapping[str, str]:
        """Those of the model inside."""
        return self.inner.dropped_parameters()
