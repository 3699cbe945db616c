"""A model that replies from a file or a function: for tests, documentation and demos without any model."""

import traceback
import types
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Self

from bineval.errors import BinevalError, ConfigError, ModelRequestError
from bineval.hashing import Json
from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.scripted_rules import RULE_FILES, read_rules
from bineval.types import Price, Reply, Request, Usage

Script = Callable[[Request], str | Reply]
"""What replies; it may also raise a `ModelError`."""

_CHARACTERS_A_TOKEN = 4


class Scripted:
    """A model whose replies are written down. Its tokens are estimated from lengths, so that budgets work.

    Args:
        model: Path of a Python file with a function `reply(request)`, or of a `.jsonl`, `.json` or `.yaml` file with
            rules.
        options: Only the price is used; 0 if there is none.
        script: Replies in place of a file; `model` is then only a name.

    Raises:
        ConfigError: There is no such file, it defines no `reply`, or the options are for a remote model.
        DataError: A rule is malformed.
    """

    max_concurrency: ClassVar[int | None] = None
    capabilities = Capabilities(decides=True)

    def __init__(self, model: str, options: ModelOptions, *, script: Script | None = None) -> None:
        if options.base_url or options.api_key_env:
            raise ConfigError(f"scripted/{model} calls no server: it takes no base URL and no key")
        self.name = f"scripted/{model}"
        self.price = options.price or Price(input_usd=0.0, output_usd=0.0)
        if script is None:
            path = Path(model)
            try:
                source = path.read_bytes()
            except OSError as error:
                raise ConfigError(f"{self.name}: the script cannot be read: {error.strerror or error}") from error
            script, version = self._load(path, source), sha256(source).hexdigest()
        else:
            version = model
        self._script = script
        self.identity: Mapping[str, Json] = {"provider": "scripted", "script": version}

    @classmethod
    def from_function(cls, script: Script, name: str | None = None) -> Self:
        """A model that replies what `script` returns.

        Args:
            script: From a request to a text or a reply.
            name: Stands for the function in cache keys and runs: give another one when the function changes. Without a
                name, each model is one of its own, whose replies no other finds.
        """
        model = cls((name or "scripted/function").removeprefix("scripted/"), ModelOptions(), script=script)
        if name is None:
            model.identity = {**model.identity, "script": uuid.uuid4().hex}
        return model

    def complete(self, request: Request) -> Reply:
        """The script's reply.

        Raises:
            ModelError: The script raises one, or has no reply for the request.
        """
        reply: object = self._script(request)
        if isinstance(reply, str):
            reply = Reply(text=reply)
        elif not isinstance(reply, Reply):
            problem = f"the script returned {type(reply).__name__}; it must return text or a Reply"
            raise ModelRequestError(problem, model=self.name)
        return replace(
            reply,
            usage=reply.usage if reply.usage != Usage() else self._usage(request, reply),
            model=reply.model or self.name,
            params_used=reply.params_used or _params(request),
        )

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """The script's replies."""
        return [self.complete(request) for request in requests]

    def count_tokens(self, request: Request) -> int:
        """The same estimate that `complete` reports as input tokens."""
        return _tokens(sum(len(message.content) for message in request.messages))

    def dropped_parameters(self) -> Mapping[str, str]:
        """None ever."""
        return {}

    def _load(self, path: Path, source: bytes) -> Script:
        kind = path.suffix.lower()
        if kind == ".py":
            return _reply_function(path, source, self.name)
        if kind in RULE_FILES:
            return read_rules(path, source, self.name)
        raise ConfigError(f"{self.name}: a script is a .py file or a file of rules ({', '.join(RULE_FILES)})")

    def _usage(self, request: Request, reply: Reply) -> Usage:
        written = len(reply.text) + len(reply.reasoning or "")
        return Usage(input_tokens=self.count_tokens(request), output_tokens=_tokens(written), calls=1)


def _reply_function(path: Path, source: bytes, model: str) -> Script:
    """The function `reply` of a Python file, run as read: what was hashed is what replies."""
    try:
        code = compile(source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{model}: the script is not valid Python: {error}") from error
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    exec(code, module.__dict__)
    function: Script | None = getattr(module, "reply", None)
    if not callable(function):
        raise ConfigError(f"{model}: the script defines no function reply(request)")
    return _explained(function, model)


def _explained(function: Script, model: str) -> Script:
    """The function, with what its author's mistakes raise told as where they are, not as a stack of our calls."""

    def reply(request: Request) -> str | Reply:
        try:
            return function(request)
        except BinevalError:
            raise
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{line.filename}:{line.lineno}"
            problem = f"reply() raised {type(error).__name__}: {error} ({place})"
            raise ConfigError(f"{model}: {problem}") from error

    return reply


def _tokens(n_characters: int) -> int:
    return -(-n_characters // _CHARACTERS_A_TOKEN)


def _params(request: Request) -> dict[str, Json]:
    values: dict[str, Json] = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "top_logprobs": request.top_logprobs or None,
    }
    return {name: value for name, value in values.items() if value is not None}
