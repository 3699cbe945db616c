"""The examples of a suite: read from a file, its references added, systems left out, whole groups drawn."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bineval.errors import ConfigError, DataError
from bineval.hashing import Json
from bineval.io.examples import read_examples
from bineval.io.rows import read_rows
from bineval.io.values import Place, Warn
from bineval.stats.intervals import resampling_group
from bineval.suites.base import Suite
from bineval.suites.hub import hub_examples
from bineval.types import Example


def load_suite(
    suite: Suite,
    data: str | Path | None,
    *,
    references: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    warn: Warn,
) -> list[Example]:
    """Returns the examples of a suite, group by group in the order of its data, or of the draw where one is made.

    Args:
        suite: The suite.
        data: A file with `id, group, system, input, output, human` and `context` where there is one; None for the hub.
        references: A file of rows `id` (a group) and `references`, a list of texts.
        limit: Draw so many whole groups; None for all.
        seed: Of the draw.
        warn: Called with the words of each warning.

    Raises:
        ConfigError: There is no such data on the hub, or the limit is not what it should be.
        DataError: A file is not what it should be, or lacks the suite's human labels or groups.
    """
    examples = hub_examples(suite) if data is None else read_examples(data, warn=warn)
    source = str(data or suite.hub)
    _check_labels(suite, examples, source)
    _check_groups(suite, examples, source)
    if references is not None:
        examples = _with_references(examples, _read_references(references, warn))
    if suite.reference_system is not None:
        examples = _with_reference_system(examples, suite.reference_system)
    wanted = suite.checklist().dimensions
    kept = [
        replace(example, human={name: rating for name, rating in example.human.items() if name in wanted})
        for example in examples
        if example.system not in suite.left_out
    ]
    if limit is not None:
        return draw_groups(kept, limit, seed=seed)
    return [example for members in _by_group(kept).values() for example in members]


def draw_groups(examples: Sequence[Example], n_groups: int, *, seed: int) -> list[Example]:
    """Draws whole groups, in the order of the draw: a larger draw begins with every smaller one.

    So a run that is cut off has judged a random part of the suite.

    Raises:
        ConfigError: The number is not at least 1.
    """
    if n_groups < 1:
        raise ConfigError(f"limit must be at least 1, not {n_groups}")
    members = _by_group(examples)
    groups = list(members)
    order = np.random.default_rng(seed).permutation(len(groups))
    return [example for i in order[:n_groups] for example in members[groups[i]]]


def _check_labels(suite: Suite, examples: Sequence[Example], source: str) -> None:
    wanted = set(suite.checklist().dimensions)
    there = {dimension for example in examples for dimension in example.human}
    if missing := sorted(wanted - there):
        raise DataError(
            f"{suite.title} has human labels for {', '.join(sorted(wanted))}, and this file has none for "
            f"{', '.join(missing)}: is it another suite's?",
            file=source,
        )


def _check_groups(suite: Suite, examples: Sequence[Example], source: str) -> None:
    if suite.level == "group" and (nameless := sum(example.group is None for example in examples)):
        raise DataError(
            f"{suite.title} is correlated within groups (documents or prompts), and {nameless} of {len(examples)} "
            "rows have no 'group'",
            file=source,
        )


def _by_group(examples: Sequence[Example]) -> dict[Hashable, list[Example]]:
    members: dict[Hashable, list[Example]] = {}
    for example in examples:
        members.setdefault(resampling_group(example), []).append(example)
    return members


def _read_references(path: str | Path, warn: Warn) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for line, row in read_rows(Path(path), encoding="utf-8", warn=warn):
        key, texts = row.get("id"), row.get("references")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise Place(file=str(path), line=line).error("must be a list of texts", "references")
        found[str(key)] = texts
    return found


def _with_references(examples: Sequence[Example], references: Mapping[str, list[Json]]) -> list[Example]:
    """The examples with the references of their group, or of themselves."""

    def texts(example: Example) -> list[Json] | None:
        return references.get(example.group or example.id) or references.get(example.id)

    return [
        replace(example, metadata={**example.metadata, "references": found}) if (found := texts(example)) else example
        for example in examples
    ]


def _with_reference_system(examples: Sequence[Example], system: str) -> list[Example]:
    """The examples with one system's output as the reference of the others in its group, where they have none.

    It stands among the metadata, where metrics look for references: a judge must not see it. That system's own outputs
    get none, for each would be compared with itself.
    """
    outputs = {
        example.group: example.output for example in examples if example.system == system and example.group is not None
    }
    return [
        replace(example, metadata={"references": [outputs[example.group]], **example.metadata})
        if example.system != system and example.group in outputs
        else example
        for example in examples
    ]
