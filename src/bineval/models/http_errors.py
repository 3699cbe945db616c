"""What went wrong with a call over HTTP, in one form for every provider, and its translation to our errors.

Providers agree on status codes and little else. `read_failure` finds the message, the machine-readable codes and the
named request fields in every shape of error body met in practice; decisions are made by status and code. Only four
things are decided by wording, because servers give no code for them: an input that is too long, an account without
credit, a model that does not exist where that is a bad request (400), and a request that llama-cpp-python's server
finds invalid, which it calls an internal error (500).
"""

import email.utils
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bineval.errors import ModelAuthError, ModelBusyError, ModelError, ModelNotFoundError, ModelRequestError

EMPTY_REPLY = "empty_reply"
"""Our own code for a well-formed answer without any reply in it; another try often helps."""

_MAX_MESSAGE = 800
_REQUEST_IDS = ("x-request-id", "request-id", "x-typesafe-request-id")

_TOO_LONG = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "max_tokens_exceeded",
        "request_too_large",
        "string_above_max_length",
    }
)
_FILTERED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_AUTH = frozenset(
    {
        "account_deactivated",
        "authentication_error",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "exceeded_current_quota_error",
        "insufficient_quota",
        "invalid_api_key",
        "linked_organization_billing_unavailable",
        "linked_organization_spend_limit_reached",
        "permission_error",
    }
)
_NOT_FOUND = frozenset({"invalid_model", "model_not_found", "not_found_error"})
_BUSY = frozenset(
    {
        EMPTY_REPLY,
        "api_error",
        "overloaded_error",
        "rate_limit_error",
        "rate_limit_exceeded",
        "server_error",
        "timeout_error",
    }
)

_TOO_LONG_WORDS = re.compile(
    r"maximum context length|maximum prompt length|prompt is too long|input is too long|too many input tokens"
    r"|exceeds? (?:the |your )?(?:available |maximum |model's )?context (?:length|limit|size|window)"
    r"|context (?:length|limit|size|window) (?:is |was |has been )?exceeded"
    r"|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
_INVALID_BODY_WORDS = re.compile(r"\d+ validation errors?:.{0,200}'loc': \('body'", re.DOTALL)
_UNKNOWN_MODEL_WORDS = re.compile(r"unknown model\b", re.IGNORECASE)
_NO_CREDIT_WORDS = re.compile(r"credit balance is too low", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A call that gave no reply.

    Attributes:
        message: What the server said, or what happened; never holds the API key.
        status: HTTP status; that of the error in the body where a server sends one with 200; None without an answer.
        codes: Machine-readable codes and types of the error, in lower case.
        fields: Fields of the request that the server points at, outermost name only.
        request_id: The provider's id of the request.
        retry_after_s: Seconds the server asked to wait.
    """

    message: str
    status: int | None = None
    codes: frozenset[str] = frozenset()
    fields: tuple[str, ...] = ()
    request_id: str | None = None
    retry_after_s: float | None = None

    @property
    def malformed(self) -> bool:
        """Whether the server objects to what the request says, rather than to who asks or when."""
        return (self.status in (400, 422) or self._invalid_body) and not self.too_long and not self.filtered

    @property
    def too_long(self) -> bool:
        """Whether the input does not fit the model's context."""
        if self.codes & _TOO_LONG:
            return True
        return self.status in (400, 413, 422) and _TOO_LONG_WORDS.search(self.message) is not None

    @property
    def filtered(self) -> bool:
        """Whether a content filter of the provider refused the request."""
        return bool(self.codes & _FILTERED)

    def to_error(self, model: str) -> ModelError:
        """The error to raise for this failure of a call to `model`."""
        if self.too_long:
            problem = f"the input is too long for the model, and text is never cut: {self.message}"
            return ModelRequestError(problem, model=model, status=self.status, request_id=self.request_id)
        if self._busy:
            return ModelBusyError(
                self.message,
                model=model,
                status=self.status,
                request_id=self.request_id,
                retry_after_s=self.retry_after_s,
            )
        return self._final_class()(self.message, model=model, status=self.status, request_id=self.request_id)

    @property
    def _invalid_body(self) -> bool:
        return self.status == 500 and _INVALID_BODY_WORDS.search(self.message) is not None

    @property
    def _busy(self) -> bool:
        if self.codes & _AUTH or self._invalid_body:
            return False
        if self.status is None or self.status in (408, 409, 425, 429):
            return True
        if self.status == 200:
            return bool(self.codes & _BUSY)
        return self.status >= 500 and self.status != 501

    def _final_class(self) -> type[ModelError]:
        if self.codes & _NOT_FOUND or self.status in (404, 405):
            return ModelNotFoundError
        if self.status == 400 and _UNKNOWN_MODEL_WORDS.match(self.message):
            return ModelNotFoundError
        if self.codes & _AUTH or self.status in (401, 402, 403):
            return ModelAuthError
        if self.status == 400 and _NO_CREDIT_WORDS.search(self.message):
            return ModelAuthError
        return ModelRequestError


def read_failure(status: int, body: str, headers: Mapping[str, str], *, secret: str | None) -> Failure:
    """Reads an error answer.

    Args:
        status: HTTP status of the answer.
        body: The answer's text; JSON in one of many shapes, or anything else.
        headers: Headers of the answer, looked up in lower case.
        secret: The API key, taken out of the message if the server repeats it.
    """
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = {"error": " ".join(body.split())}
    return failure_in(parsed, status, headers, secret=secret)


def failure_in(answer: Any, status: int, headers: Mapping[str, str], *, secret: str | None) -> Failure:  # noqa: ANN401
    """Reads the error in a parsed answer; with status 200, a status that the error itself names holds instead."""
    error = _error_object(answer)
    message = "; ".join(_texts(error)) or "the server gave no reason"
    if secret:
        message = message.replace(secret, "[key]")
    code = error.get("code")
    if status == 200 and isinstance(code, int) and 400 <= code <= 599:
        status = code
    return Failure(
        message=message[:_MAX_MESSAGE],
        status=status,
        codes=frozenset(_codes(error)),
        fields=tuple(_fields(error)),
        request_id=next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None),
        retry_after_s=retry_after(headers),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms`, else `Retry-After` (seconds or a date); None if neither makes sense."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def _error_object(parsed: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON value
    """The mapping that describes the error: the value of "error" or "detail" if it is one, else the body itself."""
    if isinstance(parsed, list):
        parsed = parsed[0] if parsed else None
    if not isinstance(parsed, dict):
        return {}
    error, detail = parsed.get("error"), parsed.get("detail")
    if isinstance(error, dict):
        return error
    inner = detail if isinstance(detail, dict) else parsed
    return {**inner, "message": error} if isinstance(error, str) else inner


def _details(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Entries of a FastAPI-style list of validation errors, which stands in "detail" or in "message"."""
    message = error.get("message")
    detail = message.get("detail") if isinstance(message, dict) else error.get("detail")
    return [entry for entry in detail if isinstance(entry, dict)] if isinstance(detail, list) else []


def _texts(error: Mapping[str, Any]) -> Iterator[str]:
    for value in (error.get("message"), error.get("detail"), _metadata(error).get("raw")):
        if isinstance(value, str) and value.strip():
            yield value.strip()
    for entry in _details(error):
        place = ".".join(str(part) for part in entry.get("loc") or ())
        yield f"{place}: {entry.get('msg', 'is not valid')}"


def _codes(error: Mapping[str, Any]) -> Iterator[str]:
    details, inner = error.get("details"), error.get("innererror")
    values = [error.get(name) for name in ("code", "type", "error_type", "status")]
    values.append(details.get("error_code") if isinstance(details, dict) else None)
    values.append(inner.get("code") if isinstance(inner, dict) else None)
    yield from (value.lower() for value in values if isinstance(value, str))
    if "flagged_input" in _metadata(error):
        # OpenRouter reports input that its moderation stopped as 403, like a bad key.
        yield "content_filter"


def _fields(error: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(param := error.get("param"), str):
        yield re.split(r"[.\[]", param, maxsplit=1)[0]
    for entry in _details(error):
        names = [part for part in entry.get("loc") or () if isinstance(part, str) and part != "body"]
        yield from names[:1]


def _metadata(error: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = error.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
