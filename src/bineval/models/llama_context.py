"""A llama.cpp context that reads what conversations share only once, and decodes their ends as one batch.

Sequence 0 is the trunk: it holds the beginning that was read last, and keeps it for the next conversations. A branch is
a copy of the trunk's cells (no data is copied: the cells are marked as belonging to both) with tokens of its own behind
it. The engine decodes tokens of all branches together, each seeing its own branch alone.
"""

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bineval.errors import ConfigError, ModelRequestError
from bineval.models.token_choice import Logits

if TYPE_CHECKING:
    from llama_cpp import Llama

MOST_BRANCHES = 63
BATCH_TOKENS = 2048
_COMPUTE_TOKENS = 512
_TRUNK = 0


@dataclass(slots=True)
class Branch:
    """Tokens of one conversation that are still to be read.

    Attributes:
        sequence: The engine's number for it; 0 reads into the trunk itself.
        position: Where the first of `tokens` stands in the conversation.
        tokens: At least one.
    """

    sequence: int
    position: int
    tokens: Sequence[int]


class LlamaContext:
    """One context of a loaded model; not for use by several threads at once.

    Args:
        llama: The loaded model file.
        n_ctx: Most tokens in all branches and the trunk together.
        n_threads: Threads that compute.

    Raises:
        ConfigError: The memory does not suffice.
    """

    def __init__(self, llama: "Llama", *, n_ctx: int, n_threads: int | None) -> None:
        import llama_cpp

        self._engine: Any = llama_cpp
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = n_ctx
        parameters.n_batch = BATCH_TOKENS
        parameters.n_ubatch = _COMPUTE_TOKENS
        parameters.n_seq_max = MOST_BRANCHES + 1
        # One pool of cells for all sequences: a branch then needs room only for what is its own.
        parameters.kv_unified = True
        if n_threads:
            parameters.n_threads = parameters.n_threads_batch = n_threads
        self._place = llama.model_path
        self._context = llama_cpp.llama_init_from_model(llama.model, parameters)
        if self._context is None:
            raise ConfigError(f"{self._place}: the memory does not suffice for a context of {n_ctx} tokens")
        self.n_ctx = n_ctx
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        self._n_vocab: int = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(llama.model))
        self._trunk: list[int] = []
        self._free = weakref.finalize(self, _free, llama, self._context, self._batch)

    def close(self) -> None:
        """Frees the engine's memory; without it, that happens when nobody holds the context any more."""
        self._free()

    def read_trunk(self, tokens: Sequence[int]) -> int:
        """Makes the trunk hold exactly `tokens`; returns how many of them it held already."""
        n_known = shared_length([self._trunk, tokens])
        # Before the cells go: an interruption in between must not leave it naming tokens that are gone.
        self._trunk = self._trunk[:n_known]
        # Some architectures cannot forget a part of what they have read.
        if not self._engine.llama_memory_seq_rm(self._memory, _TRUNK, n_known, -1):
            self._trunk, n_known = [], 0
            self._engine.llama_memory_clear(self._memory, True)
        if n_known < len(tokens):
            self._read([Branch(sequence=_TRUNK, position=n_known, tokens=tokens[n_known:])], wanted=False)
            self._trunk = list(tokens)
        return n_known

    def fork(self, n_branches: int) -> None:
        """Makes the sequences 1 to `n_branches` copies of the trunk."""
        for sequence in range(1, n_branches + 1):
            self._engine.llama_memory_seq_cp(self._memory, _TRUNK, sequence, -1, -1)

    def cut(self, n_branches: int) -> None:
        """Removes the sequences 1 to `n_branches`; the trunk stays."""
        for sequence in range(1, n_branches + 1):
            self._engine.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def read(self, branches: Sequence[Branch]) -> list[Logits]:
        """Reads the tokens of all branches together; returns the logits behind the last token of each."""
        logits = self._read(branches, wanted=True)
        for branch in branches:
            if branch.sequence == _TRUNK:
                self._trunk += branch.tokens
        return logits

    def _read(self, branches: Sequence[Branch], *, wanted: bool) -> list[Logits]:
        flat = [
            (branch.sequence, branch.position + i, token, wanted and i == len(branch.tokens) - 1)
            for branch in branches
            for i, token in enumerate(branch.tokens)
        ]
        logits: list[Logits] = []
        for start in range(0, len(flat), BATCH_TOKENS):
            part = flat[start : start + BATCH_TOKENS]
            self._decode(part)
            logits += [self._logits(i) for i, item in enumerate(part) if item[3]]
        return logits

    def _decode(self, part: Sequence[tuple[int, int, int, bool]]) -> None:
        batch = self._batch
        batch.n_tokens = len(part)
        for i, (sequence, position, token, wanted) in enumerate(part):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wanted
        status = self._engine.llama_decode(self._context, batch)
        if status != 0:
            # What the cells hold now is unknown.
            self._trunk = []
            self._engine.llama_memory_clear(self._memory, True)
            problem = f"the engine could not read {len(part)} tokens (status {status})"
            raise ModelRequestError(problem, model=self._place)

    def _logits(self, i: int) -> Logits:
        row = self._engine.llama_get_logits_ith(self._context, i)
        # A copy: the engine writes the next batch's logits to the same place.
        return np.array(np.ctypeslib.as_array(ctypes.cast(row, ctypes.POINTER(ctypes.c_float)), (self._n_vocab,)))


def _free(llama: "Llama", context: Any, batch: Any) -> None:  # noqa: ANN401 - pointers of the engine
    """Frees a context before its model, which `llama` holds until then."""
    import llama_cpp

    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)


def shared_length(conversations: Sequence[Sequence[int]]) -> int:
    """How many tokens at their beginning all conversations share."""
    shortest = min(map(len, conversations))
    first = np.asarray(conversations[0][:shortest])
    for other in conversations[1:]:
        differs = np.flatnonzero(first[:shortest] != np.asarray(other[:shortest]))
        if len(differs):
            shortest = int(differs[0])
    return shortest
