"""Chooses the next token of a local model's reply: by temperature, within a JSON schema.

A grammar is slow to ask about every token of a large vocabulary, and quick to ask about one. So a token is drawn from
the whole distribution first, and only when the grammar refuses it, drawn again from what the grammar allows. That gives
every allowed token the same probability as drawing from the allowed ones at once.
"""

import ctypes
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bineval.errors import ConfigError

Logits = NDArray[np.float32]

_CANNOT = "the local engine cannot follow the JSON schema {}"
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)], align=True)


class TokenChooser:
    """Chooses the tokens of one reply, in order; a context manager that frees its grammar.

    Args:
        vocab: The model's vocabulary, as the engine's C interface gives it.
        schema: JSON schema that the reply follows, as text; None for no constraint.
        temperature: 0 always takes the most probable token.
        seed: The same seed chooses the same tokens; None draws anew each time.

    Raises:
        ConfigError: The engine cannot follow the schema.
    """

    def __init__(self, vocab: Any, *, schema: str | None, temperature: float, seed: int | None) -> None:  # noqa: ANN401
        self._temperature = temperature
        self._random = np.random.default_rng(seed)
        self._grammar = None if schema is None else _Grammar(vocab, schema)

    def choose(self, logits: Logits) -> int:
        """Returns the next token and moves on behind it."""
        token = self._draw(logits)
        if self._grammar is not None:
            if not self._grammar.allows(token):
                token = self._draw(self._grammar.masked(logits))
            self._grammar.accept(token)
        return token

    def _draw(self, logits: Logits) -> int:
        if self._temperature == 0:
            return int(logits.argmax())
        # The largest of the logits with Gumbel noise is a draw from their softmax.
        noise = self._random.gumbel(size=len(logits))
        return int((logits / self._temperature + noise).argmax())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._grammar is not None:
            self._grammar.close()


class _Grammar:
    """A JSON schema as the engine's grammar, at the place the reply has reached."""

    def __init__(self, vocab: Any, schema: str) -> None:  # noqa: ANN401 - a pointer of the engine
        import llama_cpp

        self._engine = llama_cpp
        self._sampler = llama_cpp.llama_sampler_init_grammar(vocab, _rules(schema), b"root")
        if not self._sampler:
            raise ConfigError(_CANNOT.format(schema))

    def allows(self, token: int) -> bool:
        """Whether `token` may come next."""
        candidates = np.zeros(1, dtype=_CANDIDATE)
        candidates["id"] = token
        return bool(np.isfinite(self._applied(candidates)["logit"][0]))

    def masked(self, logits: Logits) -> Logits:
        """A copy of `logits` in which every token that may not come next is impossible."""
        candidates = np.zeros(len(logits), dtype=_CANDIDATE)
        candidates["id"] = np.arange(len(logits))
        candidates["logit"] = logits
        result: Logits = self._applied(candidates)["logit"]
        return result

    def accept(self, token: int) -> None:
        """Moves on behind `token`."""
        self._engine.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Frees the engine's memory."""
        self._engine.llama_sampler_free(self._sampler)

    def _applied(self, candidates: NDArray[Any]) -> NDArray[Any]:
        pointer = candidates.ctypes.data_as(ctypes.POINTER(self._engine.llama_token_data))
        array = self._engine.llama_token_data_array(data=pointer, size=len(candidates), selected=-1, sorted=False)
        self._engine.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return candidates


@lru_cache(maxsize=64)
def _rules(schema: str) -> bytes:
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        rules: str = json_schema_to_gbnf(schema)
    except (AssertionError, ValueError) as error:  # what the converter raises for what it does not know
        raise ConfigError(f"{_CANNOT.format(schema)}: {error}") from error
    return rules.encode()
