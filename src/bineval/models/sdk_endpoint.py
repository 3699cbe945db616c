"""One URL posted to through a provider's SDK: key, base URL and time-outs in, parsed answers or failures out.

The `openai` and `anthropic` packages are built from one generator, so the same few names of both serve here. Requests
go through the clients' own `post`, which returns the HTTP answer as it is: building the SDK's typed objects would cost
more than all the rest of a call.
"""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from bineval.environment import api_key
from bineval.errors import ConfigError
from bineval.models.catalog import ModelOptions
from bineval.models.endpoint import Endpoint, timeouts
from bineval.models.http_errors import Failure

_NO_KEY = "none"
_NEEDING_KEYS = ("https://api.openai.com/", "https://api.anthropic.com")


class SdkEndpoint(Endpoint):
    """A path of a provider's API.

    Args:
        sdk: The module `openai` or `anthropic`.
        client_class: Name of its client.
        key_variable: Environment variable that usually holds the key.
        path: Path below the base URL.
        options: Base URL, key variable and time-out.

    Attributes:
        base_url: The URL that is really used, without user name, password or query.

    Raises:
        ConfigError: The base URL is none, or the key is missing or cannot be a key.
    """

    def __init__(
        self, sdk: ModuleType, client_class: str, *, key_variable: str, path: str, options: ModelOptions
    ) -> None:
        if options.base_url is not None:
            check_url(options.base_url)
        secret = key_from(options, key_variable)
        self._sdk = sdk
        self._path = path
        self._client = getattr(sdk, client_class)(
            api_key=secret or _NO_KEY,
            base_url=options.base_url,
            timeout=timeouts(options.timeout_s),
            max_retries=0,
        )
        base_url = public_url(str(self._client.base_url))
        super().__init__(base_url=base_url, secret=secret, timeout_s=options.timeout_s)
        if secret is None and base_url.startswith(_NEEDING_KEYS):
            raise ConfigError(f"no API key: set the environment variable {key_variable}, or give --base-url")

    def _send(self, body: Mapping[str, Any]) -> httpx2.Response | Failure:
        try:
            response: httpx2.Response = self._client.post(
                self._path, body=body, cast_to=httpx2.Response, options={"timeout": self._timeout}
            )
        except self._sdk.APIStatusError as error:
            return self._refused(error.response)
        except self._sdk.APIConnectionError as error:
            return self._unreachable(error.__cause__)
        return response


def key_from(options: ModelOptions, usual_variable: str | None) -> str | None:
    """The key in the variable that the options name, else in the usual one, if there is any.

    Raises:
        ConfigError: The variable that the options name is not set, or it holds what cannot be a key.
    """
    variable = options.api_key_env or usual_variable
    key = api_key(variable) if variable else None
    if key is None and options.api_key_env:
        raise ConfigError(f"the environment variable {options.api_key_env}, which should hold the key, is not set")
    if key is not None and not re.fullmatch(r"[!-~]+", key):
        raise ConfigError(f"the key in {variable} holds white space or other characters that no key has")
    return key


def check_url(url: str) -> None:
    """Checks that `url` can be a base URL.

    Raises:
        ConfigError: It cannot.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(f"base URL {url!r} must be like http://localhost:8000/v1 or https://example.com/v1")


def public_url(url: str) -> str:
    """The URL without user name, password, query and last slash."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
