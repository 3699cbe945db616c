"""The examples of a suite from its data set on the Hugging Face hub, by the library `datasets`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bineval.errors import ConfigError, DataError, MissingDependencyError
from bineval.io.examples import examples_from
from bineval.suites.base import Suite
from bineval.types import Example

Row = Mapping[str, Any]


def hub_examples(suite: Suite, place: str | None = None) -> list[Example]:
    """Downloads and reads the data set of a suite.

    Args:
        suite: The suite.
        place: Name on the hub, or a folder with the same files; None for the suite's own.

    Raises:
        ConfigError: The suite is not on the hub in a form that bineval reads, or the hub cannot be reached.
        DataError: The data set does not have the columns that it should have.
        MissingDependencyError: The library is not installed.
    """
    place = place or suite.hub
    if place is None or suite.name not in _READERS:
        raise ConfigError(f"{suite.title} is not on the hub in a form that bineval reads: give --data FILE")
    try:
        import datasets
    except ImportError as error:
        raise MissingDependencyError("datasets", "hub", f"loading {suite.title} from the hub") from error
    try:
        rows = datasets.load_dataset(place, split="test")
    # The library has no class for these in common: no network, no such data set, files that it cannot read.
    except (OSError, ValueError) as error:
        problem = f"{suite.title} cannot be loaded from the hub ({place}): {error}"
        raise ConfigError(f"{problem}; give --data FILE where the hub cannot be reached") from error
    try:
        return examples_from(_READERS[suite.name](rows), source=place)
    except (KeyError, IndexError) as error:
        raise DataError(
            f"has no usable column {error}: it is not the data set that {suite.title} was", file=place
        ) from error


def _summeval(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """One row a document, with lists over its 16 summaries, and summaries by people as references."""
    for row in rows:
        for i, summary in enumerate(row["machine_summaries"]):
            yield {
                "id": f"{row['id']}/M{i}",
                "group": str(row["id"]),
                "system": f"M{i}",
                "input": row["text"],
                "output": summary,
                "references": list(row["human_summaries"]),
                "human": {name: float(row[name][i]) for name in ("coherence", "consistency", "fluency", "relevance")},
            }


_READERS: Mapping[str, Callable[[Iterable[Row]], Iterator[dict[str, Any]]]] = {"summeval": _summeval}
