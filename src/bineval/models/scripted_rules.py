"""Rules of a scripted model, from a file: what to reply to a message that holds a text or fits a pattern."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bineval.errors import DataError, ModelAuthError, ModelBusyError, ModelError, ModelRequestError
from bineval.types import FinishReason, Reply, Request

RULE_FILES = (".jsonl", ".json", ".yaml", ".yml")
_ERRORS: dict[str, type[ModelError]] = {
    "busy": ModelBusyError,
    "auth": ModelAuthError,
    "request": ModelRequestError,
}


class Rule(BaseModel):
    """One rule of a script, as it stands in the file.

    Attributes:
        match: Text that must occur in the last user message; None for any message.
        pattern: What must be found there instead.
        reply: Text to reply; None for a rule that fails.
        finish_reason: As in `Reply`.
        reasoning: As in `Reply`.
        error: Kind of the error to raise instead of a reply.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    match: str | None = None
    pattern: re.Pattern[str] | None = None
    reply: str | None = None
    finish_reason: FinishReason = "stop"
    reasoning: str | None = None
    error: Literal["busy", "auth", "request"] | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if self.match is not None and self.pattern is not None:
            raise ValueError("a rule has match or pattern, not both")
        if (self.reply is None) == (self.error is None):
            raise ValueError("a rule has either a reply or an error")
        return self

    def fits(self, message: str) -> bool:
        """Whether the rule is for `message`."""
        if self.match is not None:
            return self.match in message
        return self.pattern is None or self.pattern.search(message) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules in order, as a function from request to reply; the first that fits decides."""

    rules: tuple[Rule, ...]
    model: str

    def __call__(self, request: Request) -> Reply:
        """Replies by the first rule that fits the last user message.

        Raises:
            ModelError: No rule fits, or the one that fits says so.
        """
        message = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
        rule = next((rule for rule in self.rules if rule.fits(message)), None)
        if rule is None:
            problem = f"no rule fits the last user message, which ends in {message[-80:]!r}"
            raise ModelRequestError(problem, model=self.model)
        if rule.error is not None:
            raise _ERRORS[rule.error]("the script says that this call fails", model=self.model)
        return Reply(text=rule.reply or "", reasoning=rule.reasoning, finish_reason=rule.finish_reason)


def read_rules(path: Path, source: bytes, model: str) -> Rules:
    """Reads the rules in `source`, the content of `path`: JSON objects by line, or one list of them.

    Raises:
        DataError: The file is malformed, or a rule is.
    """
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8", file=str(path)) from error
    rules = tuple(_rule(value, str(path), line) for line, value in _values(path, text))
    return Rules(rules, model)


def _values(path: Path, text: str) -> Iterator[tuple[int | None, Any]]:
    """Each rule's value, with its line where each stands on its own."""
    if path.suffix.lower() == ".jsonl":
        for line, row in enumerate(text.splitlines(), start=1):
            if row.strip():
                yield line, _parsed_json(row, str(path), line)
        return
    value = _parsed_json(text, str(path), None) if path.suffix.lower() == ".json" else _parsed_yaml(text, str(path))
    if not isinstance(value, list):
        raise DataError("must be a list of rules", file=str(path))
    yield from ((None, item) for item in value)


def _parsed_json(text: str, file: str, line: int | None) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON: {error.msg}", file=file, line=line or error.lineno) from error


def _parsed_yaml(text: str, file: str) -> Any:  # noqa: ANN401 - any YAML value
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        raise DataError(f"is not YAML: {problem}", file=file, line=mark.line + 1 if mark else None) from error


def _rule(value: Any, file: str, line: int | None) -> Rule:  # noqa: ANN401 - any JSON value
    try:
        return Rule.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"].removeprefix("Value error, ")
        place = "" if line else f" (the rule {str(value)[:80]})"
        field = ".".join(str(part) for part in first["loc"]) or None
        raise DataError(problem + place, file=file, line=line, field=field) from error
