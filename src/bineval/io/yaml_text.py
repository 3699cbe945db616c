"""YAML text: read as plain values with the line of each, or written in a form that people like to edit."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from bineval.errors import DataError
from bineval.hashing import Json
from bineval.io.values import storable

KeyPath = tuple[str | int, ...]
"""Keys and list indexes from the top of the document to a value."""

_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TAG = "tag:yaml.org,2002:"
_TYPED = {f"{_TAG}{name}" for name in ("bool", "int", "float", "null")}
_TEXT = {f"{_TAG}{name}" for name in ("str", "timestamp", "merge", "value")}

# JSON writes small and large numbers as 1e-05, which YAML 1.1 takes for text.
_EXPONENT = (f"{_TAG}float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))

# JSON writes characters such as emoji as two escapes, which YAML refuses; other escapes are met one at a time.
_JSON_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL)

# PyYAML writes these line ends as they are, where they are read back as others; in double quotes it escapes them.
_RARE_LINE_END = re.compile("[\x85\u2028\u2029]")

_LONG_CHARS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """What a YAML text holds.

    Attributes:
        source: Its file, for errors.
        value: Mappings, lists, text, numbers, booleans and null.
        lines: Line of each key and list item, from 1, by its path.
    """

    source: str
    value: Json
    lines: Mapping[KeyPath, int]

    def error(self, problem: str, path: KeyPath) -> DataError:
        """The error that says that the value at `path` has `problem`, with the line of what is there of the path."""
        return DataError(problem, file=self.source, line=self.line(path), field=_dotted(path))

    def line(self, path: KeyPath) -> int:
        """The line of the value at `path`, or of the nearest one around it that exists."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


class InlineList(list[Json]):
    """A list that is written on one line: `[1, 5]`."""


def read_yaml(text: str, *, source: str, is_text: Callable[[KeyPath], bool]) -> Document:
    """Reads one YAML (or JSON) document of plain values.

    Args:
        text: The document.
        source: Name of its file, for errors.
        is_text: Says of a path whether its value is text however it looks, so that `id: no` and `id: 007` stay as
            they are written.

    Raises:
        DataError: The text is not YAML, has a key twice, or uses tags or aliases.
    """
    if text.lstrip().startswith("{"):
        text = _JSON_ESCAPE.sub(_joined, text)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise DataError("is empty", file=source)
        building = _Building(loader=loader, source=source, is_text=is_text)
        return Document(source=source, value=building.value(node, ()), lines=building.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        if "mapping values are not allowed" in problem:
            problem += "; a text that holds a colon and a space needs quotes around it"
        raise DataError(f"not YAML: {problem}", file=source, line=mark.line + 1 if mark else None) from error
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else None
        raise DataError("not YAML: a character that YAML does not allow", file=source, line=line) from error
    except RecursionError as error:
        raise DataError("not YAML: nested too deeply", file=source) from error


def write_yaml(value: Json) -> str:
    """Returns `value` as YAML that `read_yaml` reads back; keys stay in order.

    A NUL or lone surrogate, which YAML cannot hold, becomes U+FFFD.
    """
    text: str = yaml.dump(_plain(value), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**31 - 1)
    return text


def _dotted(path: KeyPath) -> str | None:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".") or None


def _joined(escape: re.Match[str]) -> str:
    high, low = escape.groups()
    if high is None:
        return escape[0]
    return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)


class _Loader(_SafeLoader):  # type: ignore[misc, valid-type]
    """The safe loader, with numbers as JSON writes them."""


_Loader.add_implicit_resolver(*_EXPONENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Building:
    """Makes values of YAML nodes, and notes their lines."""

    loader: yaml.SafeLoader
    source: str
    is_text: Callable[[KeyPath], bool]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def value(self, node: yaml.Node, path: KeyPath) -> Json:
        self.lines.setdefault(path, node.start_mark.line + 1)
        # Only an alias meets a node again. Without aliases no value holds itself, and none grows without bound.
        if id(node) in self.seen:
            raise self.error("an alias (*name) is not read here; write the value out", path)
        self.seen.add(id(node))
        if node.tag == f"{_TAG}map" and isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if node.tag == f"{_TAG}seq" and isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path)
        raise self.error(f"the tag {node.tag} is not read here", path)

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise self.error("a key must be plain text", path, line)
            inner = (*path, key.value)
            if key.value in found:
                raise self.error(f"the key stands twice, first in line {self.lines[inner]}", inner, line)
            self.lines[inner] = line
            found[key.value] = self.value(value, inner)
        return found

    def scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Json:
        text: str = node.value
        if node.tag in _TEXT or (node.tag in _TYPED and node.tag != f"{_TAG}null" and self.is_text(path)):
            return text
        if node.tag not in _TYPED:
            raise self.error(f"the tag {node.tag} is not read here", path)
        try:
            value: Json = self.loader.construct_object(node)
        except (ValueError, KeyError) as error:
            raise self.error(f"{text!r} is not a value of the kind that its tag says", path) from error
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"must be a finite number, not {text}", path)
        return value

    def error(self, problem: str, path: KeyPath, line: int | None = None) -> DataError:
        return DataError(problem, file=self.source, line=line or self.lines[path], field=_dotted(path))


class _Dumper(yaml.SafeDumper):
    """The safe dumper, with indented lists, blocks for long text, and no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def represent_text(self, text: str) -> yaml.ScalarNode:
        if _RARE_LINE_END.search(text):
            style: str | None = '"'
        else:
            style = "|" if "\n" in text or len(text) > _LONG_CHARS else None
        return self.represent_scalar(f"{_TAG}str", text, style=style)

    def represent_inline(self, items: InlineList) -> yaml.SequenceNode:
        return self.represent_sequence(f"{_TAG}seq", items, flow_style=True)


_Dumper.add_implicit_resolver(*_EXPONENT)
_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(InlineList, _Dumper.represent_inline)


def _plain(value: Json) -> Json:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, InlineList):
        return [_plain(item) for item in value]
    return value
