"""Every error bineval raises on purpose, in one tree.

```
BinevalError
├── ConfigError (ValueError)          wrong settings, found before the first call is paid for
│   ├── TemplateError                 a prompt file that cannot be read or filled
│   └── UnknownNameError              a name that does not exist, with the nearest ones
├── MissingDependencyError (ImportError)
├── DataError (ValueError)            a file that cannot be read as what it should be: file, line, field
├── StoreError                        the database cannot be opened, or does not hold what was asked for
├── BudgetExceeded                    the next call would pass a cap that the user set
└── ModelError                        a call to a model failed
    ├── ModelAuthError                key, permission, billing or quota
    ├── ModelRequestError             the request can never succeed as it is
    │   └── ModelNotFoundError        no such model at this server
    └── ModelBusyError                worth another try: rate limits, server faults, time-outs, connections
```

A message says what happened, to which file, model or question, and what to do. Only the command line catches
`BinevalError` as a whole.
"""

import difflib
from collections.abc import Iterable

_MOST_NAMES_LISTED = 20


class BinevalError(Exception):
    """Base of all errors that bineval raises on purpose."""


class ConfigError(BinevalError, ValueError):
    """A setting is wrong; raised before anything is paid for."""


class TemplateError(ConfigError):
    """A prompt file cannot be read, or its variables do not fit what fills it."""


class UnknownNameError(ConfigError):
    """A name that should be one of a known set is not; `where` says in which file, store or run it should be."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = difflib.get_close_matches(name, self.known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {self._listed()}"
        super().__init__(f"unknown {kind} {name!r}{f' in {where}' if where else ''}; {hint}")

    def _listed(self) -> str:
        shown = ", ".join(self.known[:_MOST_NAMES_LISTED]) or "none"
        n_more = len(self.known) - _MOST_NAMES_LISTED
        return f"{shown} and {n_more} more" if n_more > 0 else shown


class MissingDependencyError(BinevalError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"{needed_for} needs the package {package}, which is not installed: pip install 'bineval[{extra}]'"
        )


class DataError(BinevalError, ValueError):
    """A file does not hold what it should.

    Attributes:
        problem: What is wrong, without the place.
        file: The file's path as the user gave it, or a name for data that came from memory.
        line: Line (text files) or row number (Parquet, lists), from 1; None where there is none.
        field: Dotted name of the field, or None.
    """

    def __init__(
        self, problem: str, *, file: str = "<data>", line: int | None = None, field: str | None = None
    ) -> None:
        self.problem, self.file, self.line, self.field = problem, file, line, field
        place = file if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {f'field {field!r}: ' if field else ''}{problem}")


class StoreError(BinevalError):
    """The store cannot be opened or written, or does not hold what was asked for."""


class BudgetExceeded(BinevalError):  # noqa: N818 - the word the design uses; it is a state, not a fault
    """The next call would pass a cap that the user set; nothing was sent.

    Attributes:
        finished: How many verdicts are finished and kept; set by a run, None elsewhere.
    """

    finished: int | None = None


class ModelError(BinevalError):
    """A call to a model failed.

    Attributes:
        model: The model's name as the user gave it.
        status: HTTP status, where there was one.
        request_id: The provider's id of the request, where it gave one.
        retryable: Whether the same call may succeed later (class attribute).
        stops_run: Whether every further call would fail in the same way (class attribute).
        hint: What the user can do (class attribute).
    """

    retryable = False
    stops_run = False
    hint = ""

    def __init__(self, problem: str, *, model: str, status: int | None = None, request_id: str | None = None) -> None:
        self.problem, self.model, self.status, self.request_id = problem, model, status, request_id
        facts = [f"HTTP {status}"] if status is not None else []
        facts += [f"request {request_id}"] if request_id else []
        place = f"{model} ({', '.join(facts)})" if facts else model
        super().__init__(f"{place}: {problem}{f' ({self.hint})' if self.hint else ''}")


class ModelAuthError(ModelError):
    """The key, its permissions, the account's billing or its quota do not allow the call."""

    stops_run = True
    hint = "check the API key, its permissions, and the account's billing and quota"


class ModelRequestError(ModelError):
    """The request can never succeed as it is: refused as malformed, or too long for the model."""


class ModelNotFoundError(ModelRequestError):
    """There is no such model at this server."""

    stops_run = True
    hint = "check the model's name and --base-url"


class ModelBusyError(ModelError):
    """The call may succeed later: rate limit (429), server fault (5xx), time-out or connection failure.

    Attributes:
        retry_after_s: Seconds the server asked to wait, or None.
    """

    retryable = True

    def __init__(
        self,
        problem: str,
        *,
        model: str,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(problem, model=model, status=status, request_id=request_id)
