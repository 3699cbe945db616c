"""Hides that a model answers several requests together, so that each is asked, paid and counted by itself."""

from collections.abc import Sequence
from dataclasses import replace

from bineval.models.base import Capabilities, Wrapper
from bineval.types import Reply, Request


class OneByOne(Wrapper):
    """The same model to those who would ask it for a whole batch: they ask one request after the other."""

    @property
    def capabilities(self) -> Capabilities:
        """Those of the model inside, but for what makes batches worth while."""
        return replace(self.inner.capabilities, shares_prefix=False)

    def complete(self, request: Request) -> Reply:
        """Completes `request`."""
        return self.inner.complete(request)

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Completes one request after the other."""
        return [self.inner.complete(request) for request in requests]
