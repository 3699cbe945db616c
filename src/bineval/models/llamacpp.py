"""`llamacpp/NAME-or-PATH.gguf`: a model file run in this process by llama.cpp (extra `local`)."""

import importlib.util
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property

from bineval.errors import ConfigError, MissingDependencyError, ModelRequestError
from bineval.hashing import Json
from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.file_hash import file_sha256
from bineval.models.llama_engine import LlamaEngine
from bineval.models.registry import model_path
from bineval.types import Price, Reply, Request


class LlamaCpp:
    """A GGUF file in process.

    One lock: the engine uses all cores for what it does. Requests that are completed together are read and written as
    one batch, what they share (rules, example) only once; neither is what they share with the request before read
    again. The context grows to fit, up to what the model was trained for; a request beyond that is refused, never cut.

    A batch gives slightly other probabilities than one request after the other, for quantized arithmetic depends on
    what stands beside: P(yes) differs by up to .07.

    Args:
        model: Name in the registry, `hf:REPO/FILE`, or path of a `.gguf` file; it is loaded when first used.
        options: Only the price is used; 0 if there is none.

    Raises:
        ConfigError: The file is not there, or the options are for a remote model.
        MissingDependencyError: The engine is not installed.
    """

    max_concurrency = 1
    capabilities = Capabilities(shares_prefix=True)

    def __init__(self, model: str, options: ModelOptions) -> None:
        if options.base_url or options.api_key_env:
            raise ConfigError(f"llamacpp/{model} runs in this process: it takes no base URL and no key")
        if importlib.util.find_spec("llama_cpp") is None:
            raise MissingDependencyError("llama-cpp-python", "local", f"llamacpp/{model}")
        self.name = f"llamacpp/{model}"
        self.price = options.price or Price(input_usd=0.0, output_usd=0.0)
        self._path = model_path(model)
        self._lock = threading.Lock()
        self._engine: LlamaEngine | None = None

    @cached_property
    def identity(self) -> Mapping[str, Json]:
        """The provider and the file's SHA-256: the same file under another name is the same model."""
        # Asked for with every call, for the reply's key: the file is not looked at again each time.
        return {"provider": "llamacpp", "sha256": file_sha256(self._path)}

    def dropped_parameters(self) -> Mapping[str, str]:
        """Nothing: the engine takes every parameter."""
        return {}

    def count_tokens(self, request: Request) -> int:
        """Tokens of the rendered messages, exactly.

        Raises:
            ConfigError: The file cannot be loaded, or its chat template cannot render the messages.
            ModelRequestError: They leave no room for the reply in the model's context.
        """
        with self._lock:
            return len(self._tokens(self._loaded(), request))

    def complete(self, request: Request) -> Reply:
        """Reads the messages and writes a reply; follows `request.schema` token by token. Raises as `count_tokens`."""
        (reply,) = self.complete_many([request])
        return reply

    def complete_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Reads what the requests share once, and writes all replies together. Raises as `count_tokens`."""
        with self._lock:
            engine = self._loaded()
            return engine.replies([self._tokens(engine, request) for request in requests], requests)

    def forget(self) -> None:
        """Forgets what was read, so that the next request is read from its first token; for measurements."""
        with self._lock:
            if self._engine is not None:
                self._engine.forget()

    def _loaded(self) -> LlamaEngine:
        if self._engine is None:
            self._engine = LlamaEngine(str(self._path), name=self._path.name)
        return self._engine

    def _tokens(self, engine: LlamaEngine, request: Request) -> list[int]:
        tokens = engine.tokenizer.tokens(request.messages)
        most = engine.largest_context
        if len(tokens) + request.max_tokens > most:
            shorter_reply = "lower --max-reply-tokens, " if len(tokens) < most and request.max_tokens > 1 else ""
            raise ModelRequestError(
                f"{len(tokens)} input tokens and up to {request.max_tokens} of reply do not fit its context of {most}; "
                f"nothing was cut: {shorter_reply}use a model with a longer context, or shorten the text",
                model=self.name,
            )
        return tokens
