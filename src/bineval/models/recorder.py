"""Remembers which model the server says answered: a name such as "latest" can move to another model within a run."""

import threading
from collections.abc import Callable, Mapping, Sequence

from bineval.models.base import Model, Wrapper
from bineval.types import Reply, Request


class AnsweringModels:
    """The models that answered, by the name that was asked for; used by many threads at once.

    Args:
        earlier: What earlier sittings of the same work saw.
        notice: Told when a name is answered by another model than before.
    """

    def __init__(
        self, earlier: Mapping[str, Sequence[str]] | None = None, *, notice: Callable[[str], None] | None = None
    ) -> None:
        self._seen = {name: list(models) for name, models in (earlier or {}).items()}
        self._notice = notice
        self._lock = threading.Lock()

    def saw(self, name: str, answering: str) -> None:
        """Remembers one reply; a server that does not say who answered adds nothing."""
        if not answering:
            return
        with self._lock:
            seen = self._seen.setdefault(name, [])
            if answering in seen:
                return
            seen.append(answering)
            before = seen[:-1]
        if before and self._notice is not None:
            self._notice(
                f"warning: {name} was answered by {answering}, and before by {', '.join(before)}: verdicts of this run "
                "come from different models"
            )

    def by_name(self) -> dict[str, list[str]]:
        """The models that answered each name, in the order in which they were seen."""
        with self._lock:
            return {name: list(models) for name, models in self._seen.items()}


class Recorded(Wrapper):
    """Tells `AnsweringModels` about every reply, cached ones too."""

    def __init__(self, inner: Model, answering: AnsweringModels) -> None:
        super().__init__(inner)
        self._answering = answering

    def complete(self, request: Request) -> Reply:
        """Completes `request`."""
        return self._told(self.inner.complete(request))

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Completes `requests` together."""
        return [self._told(reply) for reply in self.inner.complete_many(requests)]

    def _told(self, reply: Reply) -> Reply:
        self._answering.saw(self.name, reply.model)
        return reply
