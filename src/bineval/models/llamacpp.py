"""`llamacpp/NAME-or-PATH.gguf`: a model file run in this process by llama.cpp (extra `local`)."""

import importlib.util
import json
import os
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bineval.environment import set_default
from bineval.errors import ConfigError, MissingDependencyError, ModelRequestError
from bineval.hashing import Json
from bineval.models.catalog import ModelOptions
from bineval.models.chat_tokens import ChatTokenizer
from bineval.models.file_hash import file_sha256
from bineval.models.registry import model_path
from bineval.models.token_choice import Logits, TokenChooser
from bineval.types import FinishReason, Price, Reply, Request, TokenLogprob, Usage

if TYPE_CHECKING:
    from llama_cpp import Llama

_FIRST_CONTEXT = 4096
_CONTEXT_STEP = 2048
_BATCH_TOKENS = 512
_USUAL_TEMPERATURE = 0.8


class LlamaCpp:
    """A GGUF file in process.

    One lock: a context holds one conversation, and the engine uses all cores for it. What a request shares with
    the one before (rules, example) is not read again. The context grows to fit the request, up to what the model was
    trained for; a request beyond that is refused, never cut.

    Args:
        model: Name in the registry, `hf:REPO/FILE`, or path of a `.gguf` file; it is loaded when first used.
        options: Only the price is used; 0 if there is none.

    Raises:
        ConfigError: The file is not there, or the options are for a remote model.
        MissingDependencyError: The engine is not installed.
    """

    max_concurrency = 1

    def __init__(self, model: str, options: ModelOptions) -> None:
        if options.base_url or options.api_key_env:
            raise ConfigError(f"llamacpp/{model} runs in this process: it takes no base URL and no key")
        if importlib.util.find_spec("llama_cpp") is None:
            raise MissingDependencyError("llama-cpp-python", "local", f"llamacpp/{model}")
        self.name = f"llamacpp/{model}"
        self.price = options.price or Price(input_usd=0.0, output_usd=0.0)
        self._path = model_path(model)
        self._lock = threading.Lock()
        self._engine: _Engine | None = None

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
            return len(self._tokens(request))

    def complete(self, request: Request) -> Reply:
        """Reads the messages and writes a reply; follows `request.schema` token by token. Raises as `count_tokens`."""
        with self._lock:
            tokens = self._tokens(request)
            engine = self._with_room(len(tokens) + request.max_tokens)
            return engine.reply(tokens, request, model=self._path.name)

    def _tokens(self, request: Request) -> list[int]:
        engine = self._with_room(0)
        tokens = engine.tokenizer.tokens(request.messages)
        if len(tokens) + request.max_tokens > engine.largest_context:
            raise ModelRequestError(
                f"{len(tokens)} input tokens and up to {request.max_tokens} of reply do not fit its context of "
                f"{engine.largest_context}; nothing was cut: use a model with a longer context, or shorten the text",
                model=self.name,
            )
        return tokens

    def _with_room(self, n_tokens: int) -> "_Engine":
        """The engine, loaded again with a longer context when `n_tokens` do not fit the one it has."""
        engine, n_ctx = self._engine, _FIRST_CONTEXT
        if engine is not None:
            if n_tokens <= engine.n_ctx:
                return engine
            n_ctx = min(-(-n_tokens // _CONTEXT_STEP) * _CONTEXT_STEP, engine.largest_context)
            self._engine = None  # should loading fail, the closed one must not be used again
            engine.close()
        self._engine = engine = _Engine(str(self._path), n_ctx)
        return engine


class _Engine:
    """The loaded file with a context of `n_ctx` tokens, and the loop that writes a reply."""

    def __init__(self, path: str, n_ctx: int) -> None:
        self._llama = _load(path, n_ctx)
        self.n_ctx = n_ctx
        self.tokenizer = ChatTokenizer(self._llama)
        self.largest_context: int = _trained_context(self._llama)

    def close(self) -> None:
        self._llama.close()

    def reply(self, tokens: list[int], request: Request, *, model: str) -> Reply:
        n_reused = self._read(tokens)
        written: list[int] = []
        logprobs: list[TokenLogprob] = []
        finish_reason: FinishReason = "length"
        with self._chooser(request) as chooser:
            while len(written) < request.max_tokens:
                logits = self._logits()
                token = chooser.choose(logits)
                if self.tokenizer.ends_turn(token):
                    finish_reason = "stop"
                    break
                written.append(token)
                if request.top_logprobs:
                    logprobs.append(self._logprob(token, logits, request.top_logprobs))
                self._llama.eval([token])
        return Reply(
            text=self.tokenizer.text(written),
            logprobs=logprobs if request.top_logprobs else None,
            finish_reason=finish_reason,
            usage=Usage(input_tokens=len(tokens), output_tokens=len(written), cached_input_tokens=n_reused, calls=1),
            model=model,
            params_used={
                "max_tokens": request.max_tokens,
                "temperature": _temperature(request),
                "seed": request.seed,
                "top_logprobs": request.top_logprobs,
            },
        )

    def _chooser(self, request: Request) -> TokenChooser:
        return TokenChooser(
            self.tokenizer.vocab,
            schema=None if request.schema is None else json.dumps(request.schema),
            temperature=_temperature(request),
            seed=request.seed,
        )

    def _read(self, tokens: list[int]) -> int:
        """Reads a conversation; returns how many tokens at its beginning had been read already."""
        import llama_cpp

        n_known = self._shared_prefix(tokens)
        memory = llama_cpp.llama_get_memory(self._llama.ctx)
        # Some architectures cannot forget a part of what they have read.
        if not llama_cpp.llama_memory_seq_rm(memory, -1, n_known, -1):
            llama_cpp.llama_memory_clear(memory, True)
            n_known = 0
        self._llama.n_tokens = n_known
        self._llama.eval(tokens[n_known:])
        return n_known

    def _shared_prefix(self, tokens: list[int]) -> int:
        """Tokens at the beginning that the context holds already; the last one is always read anew, for its logits."""
        known = self._llama.input_ids[: self._llama.n_tokens]
        n = min(len(known), len(tokens))
        differs = np.flatnonzero(known[:n] != np.asarray(tokens[:n]))
        shared = int(differs[0]) if len(differs) else n
        return min(shared, len(tokens) - 1)

    def _logits(self) -> Logits:
        """Logits of the next token; valid until the next token is read."""
        import llama_cpp

        row = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        return np.ctypeslib.as_array(row, shape=(self._llama.n_vocab(),))

    def _logprob(self, token: int, logits: Logits, n_top: int) -> TokenLogprob:
        """Log probabilities at the place where `token` was chosen, before the schema's constraint."""
        exact = logits.astype(np.float64)
        peak = exact.max()
        logprobs = exact - peak - np.log(np.exp(exact - peak).sum())
        top = np.argpartition(logprobs, -n_top)[-n_top:]
        ranked = sorted(top, key=lambda i: -logprobs[i])
        return TokenLogprob(
            token=self.tokenizer.text([token]),
            logprob=float(logprobs[token]),
            top=tuple((self.tokenizer.text([int(i)]), float(logprobs[i])) for i in ranked),
        )


def _load(path: str, n_ctx: int) -> "Llama":
    # Threads that wait for each other may spin for a moment only: as fast as the default on a quiet machine, and not
    # many times slower beside another busy process.
    set_default("GOMP_SPINCOUNT", "1000")
    from llama_cpp import Llama

    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        return Llama(
            model_path=path,
            n_ctx=n_ctx,
            n_batch=_BATCH_TOKENS,
            n_threads=n_threads,
            n_threads_batch=n_threads,
            n_gpu_layers=-1,  # all layers on a GPU where the engine was built for one
            verbose=False,
        )
    except ValueError as error:
        raise ConfigError(
            f"{path}: llama.cpp cannot load it with a context of {n_ctx} tokens: it is no whole GGUF file, of a kind "
            "that the installed llama-cpp-python does not know, or too large for the memory"
        ) from error


def _temperature(request: Request) -> float:
    return _USUAL_TEMPERATURE if request.temperature is None else request.temperature


def _trained_context(llama: "Llama") -> int:
    import llama_cpp

    return int(llama_cpp.llama_model_n_ctx_train(llama.model))
