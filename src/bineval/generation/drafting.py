"""Asks a model for a list of entries, and asks again, a bounded number of times, for what is wrong with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from bineval.errors import ConfigError, ModelError
from bineval.generation.replies import E, Form
from bineval.hashing import Json, canonical_json
from bineval.judging.json_text import without_reasoning
from bineval.models.base import Model
from bineval.templates import Prompt, PromptSource, load_prompt
from bineval.types import Message, Reply, Request

_VARIABLES: Mapping[str, frozenset[str]] = {
    "requirements": frozenset({"task", "dimensions", "form"}),
    "questions": frozenset({"task", "dimension", "requirements", "form"}),
    "generate_again": frozenset({"faults", "form"}),
}
GENERATE_PROMPTS = tuple(_VARIABLES)

STEPS_VARIABLES: Mapping[str, frozenset[str]] = {
    "evaluation_steps": frozenset({"task", "dimension", "low", "high", "form"}),
    "generate_again": frozenset({"faults", "form"}),
}
"""The prompts with which evaluation steps are written, and what can be filled in each."""
STEPS_PROMPTS = tuple(STEPS_VARIABLES)

_RAISE_CAP = 4
_SHOWN_CHARS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateSettings:
    """How the generator asks.

    Attributes:
        max_rounds: How often each list may be asked for again when it has faults.
        max_tokens: Cap of a reply; raised fourfold once when a reply is cut off.
        temperature: None leaves it to the provider.
        seed: Sent to providers that take one.
        prompts: Files that take the place of built-in prompts, by name.
        on_step: Told, in a few words, what is asked for next.
        cap_option: How the user is told to raise the cap.
    """

    max_rounds: int = 2
    max_tokens: int = 2_000
    temperature: float | None = 0.0
    seed: int | None = None
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)
    on_step: Callable[[str], None] | None = None
    cap_option: str = "--max-reply-tokens"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault(Generic[E]):
    """One thing wrong with a draft.

    Attributes:
        message: What is wrong, told to the model.
        entry: The entry to be replaced; None when something is missing.
        grave: Whether it weighs more than any number of other faults.
    """

    message: str
    entry: E | None = None
    grave: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft(Generic[E]):
    """What came of asking.

    Attributes:
        entries: The list, perhaps with faults left.
        n_rounds: How often the model was asked again.
        first_reply: Its first reply, which may hold more than the list.
    """

    entries: tuple[E, ...]
    n_rounds: int
    first_reply: str


Check = Callable[[Sequence[E]], list[Fault[E]]]


class Drafter:
    """Gets lists of entries from a model.

    Args:
        model: Writes them.
        settings: How it is asked.
        variables: The prompts that are used, and what can be filled in each; those of the decomposition unless given.
        again: Name of the prompt among them that asks again.
    """

    def __init__(
        self,
        model: Model,
        settings: GenerateSettings,
        variables: Mapping[str, frozenset[str]] = _VARIABLES,
        *,
        again: str = "generate_again",
    ) -> None:
        if unknown := sorted(settings.prompts.keys() - variables.keys()):
            raise ConfigError(f"the generator has no prompt {unknown[0]!r}; it has {', '.join(variables)}")
        self.model, self.settings, self._again = model, settings, again
        self._prompts: dict[str, Prompt] = {
            name: load_prompt(name, given=settings.prompts.get(name), variables=names)
            for name, names in variables.items()
        }

    def provenance(self) -> dict[str, Json]:
        """Model, parameters and prompts' hashes; after the calls also the parameters that the server refused."""
        return {
            "model": self.model.name,
            "identity": dict(self.model.identity),
            "parameters": {
                "max_rounds": self.settings.max_rounds,
                "max_tokens": self.settings.max_tokens,
                "temperature": self.settings.temperature,
                "seed": self.settings.seed,
            },
            "parameters_changed": dict(self.model.dropped_parameters()),
            "prompts": {name: prompt.hash for name, prompt in self._prompts.items()},
        }

    def say(self, step: str) -> None:
        """Tells whoever listens what comes next."""
        if self.settings.on_step is not None:
            self.settings.on_step(step)

    def draft(self, prompt: str, values: Mapping[str, str], form: Form[E], check: Check[E]) -> Draft[E]:
        """Asks for the list, and again for what `check` finds wrong with it, while that makes it better.

        Entries without faults are never asked for again. A round that leaves no fewer faults is dropped and is the
        last: at temperature 0 another would only repeat it.

        Raises:
            ModelError: A call failed, the model refused, or a reply was cut off by the token cap twice.
        """
        messages = self._prompts[prompt].fill({**values, "form": form.shape})
        text = first_reply = self._complete(messages, form.schema())
        entries, faults = _checked(form.read(text), check)
        n_rounds = 0
        while faults and n_rounds < self.settings.max_rounds:
            n_rounds += 1
            said = canonical_json({form.key: [entry.model_dump() for entry in entries]}) if entries else _shown(text)
            again = self._prompts[self._again].fill({"faults": _list_of(faults), "form": form.shape})
            schema = form.schema_for_mending(len(faults)) if entries else form.schema()
            text = self._complete((*messages, Message(role="assistant", content=said), *again), schema)
            faulty = [fault.entry for fault in faults]
            kept = [entry for entry in entries if entry not in faulty]
            mended, remaining = _checked([*kept, *form.read(text)], check)
            if _weight(mended, remaining) >= _weight(entries, faults):
                break
            entries, faults = mended, remaining
        return Draft(entries=tuple(entries), n_rounds=n_rounds, first_reply=first_reply)

    def _complete(self, messages: tuple[Message, ...], schema: Mapping[str, Json]) -> str:
        request = Request(
            messages=messages,
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
            seed=self.settings.seed,
            schema=schema,
        )
        reply = self._answered(request)
        if reply.finish_reason == "length":
            request = replace(request, max_tokens=request.max_tokens * _RAISE_CAP)
            reply = self._answered(request)
        if reply.finish_reason == "length":
            spent = " (spent on hidden reasoning)" if reply.reasoning and not reply.text.strip() else ""
            problem = f"the reply was cut off by the cap of {request.max_tokens} tokens{spent}"
            raise ModelError(f"{problem}; raise {self.settings.cap_option}", model=self.model.name)
        return reply.text

    def _answered(self, request: Request) -> Reply:
        reply = self.model.complete(request)
        if reply.refusal is not None or reply.finish_reason == "refused":
            said = reply.refusal or "content filter"
            raise ModelError(f"the server refused to work on the task: {said}", model=self.model.name)
        return reply


def _checked(entries: Sequence[E], check: Check[E]) -> tuple[list[E], list[Fault[E]]]:
    entries = list(dict.fromkeys(entries))
    if entries:
        return entries, check(entries)
    return entries, [Fault(message="It held no JSON object of the form that was asked for.", grave=True)]


def _weight(entries: Sequence[E], faults: Sequence[Fault[E]]) -> tuple[bool, int, int]:
    """What to make smaller: having nothing at all, then grave faults, then others."""
    n_grave = sum(fault.grave for fault in faults)
    return not entries, n_grave, len(faults) - n_grave


def _list_of(faults: Sequence[Fault[E]]) -> str:
    return "\n".join(f"- {fault.message}" for fault in faults)


def _shown(text: str) -> str:
    return without_reasoning(text).strip()[:_SHOWN_CHARS] or "(nothing)"
