"""Writes replies with a loaded model file: many conversations at once, their common beginning read only once."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bineval.environment import set_default
from bineval.errors import ConfigError
from bineval.models.chat_tokens import ChatTokenizer
from bineval.models.llama_context import MOST_BRANCHES, Branch, LlamaContext, shared_length
from bineval.models.token_choice import Logits, TokenChooser
from bineval.types import FinishReason, Reply, Request, TokenLogprob, Usage

if TYPE_CHECKING:
    from llama_cpp import Llama

_FIRST_CONTEXT = 4096
_CONTEXT_STEP = 2048
# Ends of conversations that are written beside each other; more would take more memory and hardly less time.
_MOST_OWN_TOKENS = 8192
_USUAL_TEMPERATURE = 0.8


class LlamaEngine:
    """A loaded model file with a context that grows as it has to.

    Args:
        path: The `.gguf` file.
        name: Its name in replies.

    Raises:
        ConfigError: The file cannot be loaded.
    """

    def __init__(self, path: str, *, name: str) -> None:
        self._llama = _load(path)
        self._name = name
        self._context: LlamaContext | None = None
        self.tokenizer = ChatTokenizer(self._llama)
        self.largest_context: int = _trained_context(self._llama)

    def forget(self) -> None:
        """Forgets what was read."""
        if self._context is not None:
            self._context.read_trunk([])

    def replies(self, conversations: Sequence[Sequence[int]], requests: Sequence[Request]) -> list[Reply]:
        """Writes a reply to each conversation.

        What all conversations begin with is read once, also when it is what was read last. Their ends are decoded as
        one batch, in as many groups as the context needs.

        Args:
            conversations: Tokens of the messages; none longer than `largest_context`, its reply included.
            requests: What each conversation asks for.
        """
        drafts = [
            _Draft(tokens=tokens, request=request) for tokens, request in zip(conversations, requests, strict=True)
        ]
        # The last token of each is always read anew, for its logits.
        n_shared = shared_length([draft.tokens[:-1] for draft in drafts])
        context = self._with_room(n_shared, drafts)
        n_reused = context.read_trunk(drafts[0].tokens[:n_shared])
        for draft in drafts:
            draft.n_cached = n_shared
        drafts[0].n_cached = n_reused
        if len(drafts) == 1:
            # It goes on in the trunk, so that the next one finds all of it there.
            self._write(context, drafts, n_shared, first_sequence=0)
        else:
            for group in _groups(drafts, n_shared, context.n_ctx):
                context.fork(len(group))
                try:
                    self._write(context, group, n_shared, first_sequence=1)
                finally:
                    context.cut(len(group))
        return [self._reply(draft) for draft in drafts]

    def _with_room(self, n_shared: int, drafts: Sequence["_Draft"]) -> LlamaContext:
        """The context; a longer one when the longest conversation does not fit it with some others beside."""
        own = [draft.n_own(n_shared) for draft in drafts]
        n_needed = n_shared + max(max(own), min(sum(own), _MOST_OWN_TOKENS))
        # Beyond what the model was trained for, the engine warns; each conversation alone fits that.
        n_needed = min(n_needed, self.largest_context)
        if self._context is None or n_needed > self._context.n_ctx:
            n_ctx = max(_FIRST_CONTEXT, -(-n_needed // _CONTEXT_STEP) * _CONTEXT_STEP)
            if self._context is not None:
                self._context.close()
                self._context = None  # should making one fail, the closed one must not be used again
            n_ctx = min(n_ctx, self.largest_context)
            self._context = LlamaContext(self._llama, n_ctx=n_ctx, n_threads=_n_threads())
        return self._context

    def _write(self, context: LlamaContext, drafts: Sequence["_Draft"], n_shared: int, *, first_sequence: int) -> None:
        """Writes the replies of one group, a token of each at a time."""
        branches = [
            Branch(sequence=i, position=n_shared, tokens=draft.tokens[n_shared:])
            for i, draft in enumerate(drafts, start=first_sequence)
        ]
        with ExitStack() as stack:
            choosers = [stack.enter_context(self._chooser(draft.request)) for draft in drafts]
            active = list(zip(drafts, branches, choosers, strict=True))
            while active:
                rows = context.read([branch for _, branch, _ in active])
                active = [
                    (draft, _behind(branch, draft.written[-1]), chooser)
                    for (draft, branch, chooser), logits in zip(active, rows, strict=True)
                    if self._goes_on(draft, chooser, logits)
                ]

    def _goes_on(self, draft: "_Draft", chooser: TokenChooser, logits: Logits) -> bool:
        """Chooses the next token of a reply; returns whether there is another one to read behind it."""
        token = chooser.choose(logits)
        n_top = draft.request.top_logprobs
        if n_top:
            draft.logprobs.append(self._logprob(token, logits, n_top))
        if self.tokenizer.ends_turn(token):
            draft.finish_reason = "stop"
            return False
        draft.written.append(token)
        return len(draft.written) < draft.request.max_tokens

    def _reply(self, draft: "_Draft") -> Reply:
        request = draft.request
        return Reply(
            text=self.tokenizer.text(draft.written),
            logprobs=draft.logprobs if request.top_logprobs else None,
            finish_reason=draft.finish_reason,
            usage=Usage(
                input_tokens=len(draft.tokens),
                output_tokens=len(draft.written),
                cached_input_tokens=draft.n_cached,
                calls=1,
            ),
            model=self._name,
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

    def _logprob(self, token: int, logits: Logits, n_top: int) -> TokenLogprob:
        """Log probabilities at the place where `token` was chosen, before the schema's constraint."""
        peak = logits.max()
        log_sum = float(peak) + float(np.log(np.exp(logits - peak, dtype=np.float32).sum(dtype=np.float64)))
        top = np.argpartition(logits, -n_top)[-n_top:]
        ranked = sorted((int(i) for i in top), key=lambda i: -logits[i])
        return TokenLogprob(
            token=self.tokenizer.text([token]),
            logprob=float(logits[token]) - log_sum,
            top=tuple((self.tokenizer.text([i]), float(logits[i]) - log_sum) for i in ranked),
        )


@dataclass(kw_only=True, slots=True)
class _Draft:
    """A reply that is being written, and what it answers."""

    tokens: Sequence[int]
    request: Request
    n_cached: int = 0
    written: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: FinishReason = "length"

    def n_own(self, n_shared: int) -> int:
        """Cells it may take besides the shared ones."""
        return len(self.tokens) - n_shared + self.request.max_tokens


def _groups(drafts: Sequence[_Draft], n_shared: int, n_ctx: int) -> Iterator[list[_Draft]]:
    """Splits drafts into groups that fit the context beside what they share."""
    group: list[_Draft] = []
    room = n_ctx - n_shared
    for draft in drafts:
        n_own = draft.n_own(n_shared)
        if group and (n_own > room or len(group) == MOST_BRANCHES):
            yield group
            group, room = [], n_ctx - n_shared
        group.append(draft)
        room -= n_own
    yield group


def _behind(branch: Branch, token: int) -> Branch:
    return Branch(sequence=branch.sequence, position=branch.position + len(branch.tokens), tokens=[token])


def _load(path: str) -> "Llama":
    # Threads that wait for each other may spin for a moment only: as fast as the default on a quiet machine, and not
    # many times slower beside another busy process.
    set_default("GOMP_SPINCOUNT", "1000")
    from llama_cpp import Llama

    try:
        # Its own context serves nothing here, and is as small as it can be.
        return Llama(
            model_path=path,
            n_ctx=32,
            n_batch=8,
            n_threads=1,
            n_threads_batch=1,
            n_gpu_layers=-1,  # all layers on a GPU where the engine was built for one
            verbose=False,
        )
    except ValueError as error:
        raise ConfigError(
            f"{path}: llama.cpp cannot load it: it is no whole GGUF file, of a kind that the installed "
            "llama-cpp-python does not know, or too large for the memory"
        ) from error


def _n_threads() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _temperature(request: Request) -> float:
    return _USUAL_TEMPERATURE if request.temperature is None else request.temperature


def _trained_context(llama: "Llama") -> int:
    import llama_cpp

    return int(llama_cpp.llama_model_n_ctx_train(llama.model))
