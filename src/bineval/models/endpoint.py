"""One URL that JSON is posted to: parsed answers or failures out, never an exception for what a server can do."""

import json
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import httpx2

from bineval.models.http_errors import Failure, failure_in, read_failure

_CONNECT_TIMEOUT_S = 10.0


class Endpoint(ABC):
    """Base of the endpoints; each says how to send.

    Args:
        base_url: The URL that identifies the server, without user name, password or query.
        secret: The key, kept out of messages; None for none.
        timeout_s: Longest wait for an answer, in seconds.
    """

    def __init__(self, *, base_url: str, secret: str | None, timeout_s: float) -> None:
        self.base_url = base_url
        self._secret = secret
        self._timeout = timeouts(timeout_s)

    @abstractmethod
    def _send(self, body: Mapping[str, Any]) -> httpx2.Response | Failure:
        """Posts `body` as JSON; returns an answer of status 200 or the like, or what went wrong."""

    def post(self, body: Mapping[str, Any]) -> dict[str, Any] | Failure:
        """Posts `body` as JSON; returns the JSON object of the answer, or what went wrong."""
        response = self._send(body)
        if isinstance(response, Failure):
            return response
        try:
            answer = json.loads(response.content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            return self.unexpected(f"{response.headers.get('content-type', 'something')} that is no JSON object")
        if answer.get("error"):
            return failure_in(answer, 200, response.headers, secret=self._secret)
        return answer

    def unexpected(self, what: str) -> Failure:
        """The failure for an answer with status 200 that is not what this API answers."""
        return Failure(
            message=f"{self.base_url} answered {what}, so it is not the API that was expected; check the base URL",
            status=200,
        )

    def _refused(self, response: httpx2.Response) -> Failure:
        return read_failure(response.status_code, response.text, response.headers, secret=self._secret)

    def _unreachable(self, cause: BaseException | None) -> Failure:
        return Failure(message=self._connection_problem(cause))

    def _connection_problem(self, cause: BaseException | None) -> str:
        if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return f"no connection to {self.base_url} in time"
        if isinstance(cause, httpx2.TimeoutException):
            return f"no reply from {self.base_url} within {self._timeout.read:g} s"
        reason = f"{cause}".replace(self._secret, "[key]") if self._secret else f"{cause}"
        return f"no connection to {self.base_url}: {reason or type(cause).__name__}"


class PlainEndpoint(Endpoint):
    """An endpoint of a server that no SDK here is for; the key, if any, is sent as `Authorization: Bearer`.

    Args:
        url: The full URL.
        base_url: See `Endpoint`.
        secret: See `Endpoint`.
        timeout_s: See `Endpoint`.
    """

    def __init__(self, url: str, *, base_url: str, secret: str | None, timeout_s: float) -> None:
        super().__init__(base_url=base_url, secret=secret, timeout_s=timeout_s)
        self._url = url
        self._client = httpx2.Client(
            headers={"Authorization": f"Bearer {secret}"} if secret else {},
            timeout=self._timeout,
            follow_redirects=True,
            limits=httpx2.Limits(),  # none: how many calls run at once is not decided here
        )
        weakref.finalize(self, self._client.close)

    def _send(self, body: Mapping[str, Any]) -> httpx2.Response | Failure:
        try:
            response = self._client.post(self._url, json=body)
        except httpx2.HTTPError as error:
            return self._unreachable(error)
        return response if response.is_success else self._refused(response)


def timeouts(timeout_s: float) -> httpx2.Timeout:
    """Time-outs of a call: connecting has its own, shorter limit."""
    return httpx2.Timeout(timeout_s, connect=min(_CONNECT_TIMEOUT_S, timeout_s))
