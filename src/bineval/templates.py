"""Prompt files: load one, check its variables, fill it in one pass.

A prompt file is Markdown with TOML front matter between two lines of `+++`:

    +++
    source = "where the idea comes from"
    reply = "json"
    +++
    ## system
    …
    ## user
    …$variable…

It is filled by `string.Template.substitute`: values are never read as templates, and braces stay as they are.
"""

import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

from bineval.errors import TemplateError, UnknownNameError
from bineval.hashing import tagged_hash
from bineval.types import Message, Role

ReplyKind = Literal["json", "text", "word"]
_REPLY_KINDS: tuple[ReplyKind, ...] = get_args(ReplyKind)

_SECTION = re.compile(r"^## (system|user)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A loaded prompt file.

    Attributes:
        name: Its name among the built-in prompts ("judge_one", …).
        source: Where the idea of the prompt comes from.
        reply: The kind of reply it asks for.
        sections: `(role, template)` in the order of the file.
        hash: Hash of the file's text; part of manifests.
    """

    name: str
    source: str
    reply: ReplyKind
    sections: tuple[tuple[Role, string.Template], ...]
    hash: str

    @property
    def variables(self) -> frozenset[str]:
        """Names of all placeholders."""
        return frozenset(name for _, template in self.sections for name in template.get_identifiers())

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Returns the messages with every placeholder replaced; `values` may hold more than is used.

        Raises:
            TemplateError: A placeholder has no value.
        """
        try:
            return tuple(Message(role=role, content=template.substitute(values)) for role, template in self.sections)
        except KeyError:
            missing = sorted(self.variables - values.keys())
            raise TemplateError(f"prompt {self.name}: no value for {_listed(missing)}") from None


def load_prompt(
    name: str, *, path: Path | None = None, variables: frozenset[str], required: frozenset[str] = frozenset()
) -> Prompt:
    """Loads the built-in prompt `name`, or a user's file that takes its place.

    Args:
        name: Name of a built-in prompt.
        path: File to read instead of the built-in one.
        variables: What the caller can fill; a placeholder outside them is an error now, not when judging.
        required: Those of them that the file must use.

    Raises:
        UnknownNameError: There is no built-in prompt of that name.
        TemplateError: The file is malformed, uses a variable that nobody fills, or lacks a required one.
    """
    place, text = _read(name, path)
    prompt = _parse(name, text, place=place)
    if unknown := sorted(prompt.variables - variables):
        raise TemplateError(f"{place}: unknown variable {_listed(unknown)}; available: {_listed(sorted(variables))}")
    if missing := sorted(required - prompt.variables):
        raise TemplateError(f"{place}: must use {_listed(missing)}")
    return prompt


def builtin_prompts() -> list[str]:
    """Names of the prompts that bineval ships, sorted."""
    folder = resources.files("bineval") / "prompts"
    return sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md"))


def _read(name: str, path: Path | None) -> tuple[str, str]:
    """Place and text of a prompt file."""
    if path is not None:
        try:
            return str(path), path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"{path}: cannot be read as a prompt: {error}") from error
    file = resources.files("bineval") / "prompts" / f"{name}.md"
    if not file.is_file():
        raise UnknownNameError("prompt", name, builtin_prompts())
    return f"prompts/{name}.md", file.read_text(encoding="utf-8")


def _listed(variables: Sequence[str]) -> str:
    return ", ".join(f"${name}" for name in variables)


def _parse(name: str, text: str, *, place: str) -> Prompt:
    parts = text.split("+++\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise TemplateError(f"{place}: must begin with TOML front matter between two lines of +++")
    try:
        front = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        raise TemplateError(f"{place}: front matter: {error}") from error
    reply: ReplyKind | None = next((kind for kind in _REPLY_KINDS if kind == front.get("reply")), None)
    if reply is None or not isinstance(front.get("source"), str):
        kinds = ", ".join(f'"{kind}"' for kind in _REPLY_KINDS)
        raise TemplateError(f'{place}: front matter needs source = "…" and reply, one of {kinds}')
    return Prompt(
        name=name,
        source=front["source"],
        reply=reply,
        sections=_sections(parts[2], place),
        hash=tagged_hash("prompt/1", text),
    )


def _sections(body: str, place: str) -> tuple[tuple[Role, string.Template], ...]:
    before, *rest = _SECTION.split(body)
    roles: list[Role] = ["system" if role == "system" else "user" for role in rest[::2]]
    if before.strip() or not roles or len(set(roles)) != len(roles):
        raise TemplateError(f"{place}: the body must be a '## system' and/or a '## user' section, each once")
    templates = [string.Template(part.strip()) for part in rest[1::2]]
    for template in templates:
        if not template.is_valid():
            raise TemplateError(f"{place}: a lone $ must be written $$")
    return tuple(zip(roles, templates, strict=True))
