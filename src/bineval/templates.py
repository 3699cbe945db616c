"""Prompt files: load one, check its variables, fill it in one pass.

A prompt file is Markdown with TOML front matter between two lines of `+++`:

    +++
    source = "where the idea comes from"
    reply = "json"
    +++
    ## rules
    …
    ## system
    …$rules…
    ## user
    …$variable…

It is filled by `string.Template.substitute`: values are never read as templates, and braces stay as they are. A file
need not have rules; they are the part that an optimizer may change (`bineval align`), and are text, no template.
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

_SECTION = re.compile(r"^## (rules|system|user)[ \t]*$", re.MULTILINE)
_RULES = "rules"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A loaded prompt file.

    Attributes:
        name: Its name among the built-in prompts ("judge_one", …).
        source: Where the idea of the prompt comes from.
        reply: The kind of reply it asks for.
        sections: `(role, template)` in the order of the file.
        rules: What the placeholder `$rules` stands for; None where the file has no such section.
        text: The whole file.
    """

    name: str
    source: str
    reply: ReplyKind
    sections: tuple[tuple[Role, string.Template], ...]
    rules: str | None
    text: str

    @property
    def hash(self) -> str:
        """Hash of the file's text; part of manifests."""
        return tagged_hash("prompt/1", self.text)

    @property
    def variables(self) -> frozenset[str]:
        """Names of all placeholders that are filled from outside."""
        return frozenset(name for _, template in self.sections for name in template.get_identifiers()) - {_RULES}

    def with_rules(self, rules: str) -> "Prompt":
        """Returns the prompt with other rules.

        Raises:
            TemplateError: The prompt has no rules, or those given are empty or hold the title of a section.
        """
        place = f"prompt {self.name}"
        if self.rules is None:
            raise TemplateError(
                f"{place}: has no '## rules' section: move the part that may be changed there, with $rules in its place"
            )
        if not rules.strip() or holds_title(rules):
            raise TemplateError(f"{place}: rules must be text without a title such as '## system'")
        *front, body = self.text.split("+++\n", 2)
        before, *rest = _SECTION.split(body)
        rest[2 * rest[::2].index(_RULES) + 1] = "\n" + "\n".join(rules.strip().splitlines()) + "\n"
        pairs = zip(rest[::2], rest[1::2], strict=True)
        changed = before + "".join(f"## {title}{part}" for title, part in pairs)
        return _parse(self.name, "+++\n".join([*front, changed]), place=place)

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Returns the messages with every placeholder replaced; `values` may hold more than is used.

        Raises:
            TemplateError: A placeholder has no value.
        """
        known = dict(values) if self.rules is None else {**values, _RULES: self.rules}
        try:
            return tuple(Message(role=role, content=template.substitute(known)) for role, template in self.sections)
        except KeyError:
            missing = sorted(self.variables - values.keys())
            raise TemplateError(f"prompt {self.name}: no value for {_listed(missing)}") from None


def holds_title(rules: str) -> bool:
    """Whether a line of the text would begin another section of a prompt file."""
    return _SECTION.search(rules) is not None


PromptSource = Path | Prompt
"""A prompt file, or a prompt that is loaded already."""


def load_prompt(
    name: str, *, given: PromptSource | None = None, variables: frozenset[str], required: frozenset[str] = frozenset()
) -> Prompt:
    """Loads the built-in prompt `name`, or what takes its place.

    Args:
        name: Name of a built-in prompt.
        given: A user's file, or a loaded prompt, in place of the built-in one.
        variables: What the caller can fill; a placeholder outside them is an error now, not when judging.
        required: Those of them that the file must use.

    Raises:
        UnknownNameError: There is no built-in prompt of that name.
        TemplateError: The file is malformed, uses a variable that nobody fills, or lacks a required one.
    """
    if isinstance(given, Prompt):
        place, prompt = f"prompt {given.name}", given
    else:
        place, text = _read(name, given)
        prompt = _parse(name, text, place=place)
    if unknown := sorted(prompt.variables - variables):
        raise TemplateError(f"{place}: unknown variable {_listed(unknown)}; available: {_listed(sorted(variables))}")
    if missing := sorted(required - prompt.variables):
        raise TemplateError(f"{place}: must use {_listed(missing)}")
    return prompt


def prompt_of_rules(name: str, rules: str, *, user: str, source: str) -> Prompt:
    """Makes a prompt whose system message is its rules, and nothing else.

    Args:
        name: Name of the prompt.
        rules: Text, and no template.
        user: Template of the user message.
        source: Where the rules come from, on one line.

    Raises:
        TemplateError: The rules are empty or hold the title of a section.
    """
    text = f'+++\nsource = "{source}"\nreply = "text"\n+++\n## rules\n-\n## system\n$rules\n## user\n{user}\n'
    return _parse(name, text, place=f"prompt {name}").with_rules(rules)


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
    sections, rules = _sections(parts[2], place)
    return Prompt(name=name, source=front["source"], reply=reply, sections=sections, rules=rules, text=text)


def _uses(templates: Sequence[string.Template]) -> int:
    """How often the rules are named."""
    found = (match for template in templates for match in template.pattern.finditer(template.template))
    return sum(_RULES in (match["named"], match["braced"]) for match in found)


def _sections(body: str, place: str) -> tuple[tuple[tuple[Role, string.Template], ...], str | None]:
    """The templates by role, and the rules where there are some."""
    before, *rest = _SECTION.split(body)
    titles, parts = rest[::2], [part.strip() for part in rest[1::2]]
    if before.strip() or not {"system", "user"} & set(titles) or len(set(titles)) != len(titles):
        raise TemplateError(
            f"{place}: the body must be a '## system' and/or a '## user' section, each once, and at most one '## rules'"
        )
    rules = parts[titles.index(_RULES)] if _RULES in titles else None
    sections: list[tuple[Role, string.Template]] = [
        ("system" if title == "system" else "user", string.Template(part))
        for title, part in zip(titles, parts, strict=True)
        if title != _RULES
    ]
    for _, template in sections:
        if not template.is_valid():
            raise TemplateError(f"{place}: a lone $ must be written $$")
    if rules == "" or _uses([template for _, template in sections]) != (rules is not None):
        raise TemplateError(f"{place}: a '## rules' section and one $rules in another go together")
    return tuple(sections), rules
