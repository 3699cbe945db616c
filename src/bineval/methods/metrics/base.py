"""What a metric is, and what a comparison with other texts is, with the fields of an example that it compares with."""

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Literal, Protocol, get_args

from bineval.errors import ModelRequestError
from bineval.hashing import Json
from bineval.io.values import storable
from bineval.types import Example

Against = Literal["reference", "input", "context"]
"""Field of the example that an output is compared with."""

AGAINST: tuple[Against, ...] = get_args(Against)


class Metric(Protocol):
    """A number for an example."""

    @property
    def name(self) -> str:
        """Short name, such as "rouge-l"."""
        ...

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that can change a number: library and version, variant, model, what it compares with."""
        ...

    @property
    def per_dimension(self) -> bool:
        """Whether the number depends on the dimension."""
        ...

    def score(self, example: Example, dimension: str) -> float:
        """Returns the number, in the metric's own unit.

        Raises:
            ModelRequestError: The example has no such number: a field is missing, or a text is too long.
            ConfigError: The metric's model cannot be loaded.
        """
        ...


class Comparison(Protocol):
    """A number for an output and the texts that it is compared with."""

    @property
    def name(self) -> str:
        """Short name, such as "rouge-l"."""
        ...

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that can change a number."""
        ...

    def compare(self, output: str, texts: Sequence[str]) -> float:
        """Returns the number; of several texts, that of the best.

        Args:
            output: What is judged; may be empty.
            texts: At least one, none empty.

        Raises:
            ModelRequestError: There is no such number: a text is too long, or not of a kind that the metric can read.
            ConfigError: The metric's model cannot be loaded.
        """
        ...


class Compared:
    """A metric that compares the output with one field of the example; the same number for every dimension.

    Args:
        comparison: How two texts are compared.
        against: The field that the output is compared with.
    """

    per_dimension = False

    def __init__(self, comparison: Comparison, *, against: Against) -> None:
        self.comparison, self.against = comparison, against

    @property
    def name(self) -> str:
        """Name of the comparison."""
        return self.comparison.name

    @property
    def settings(self) -> Mapping[str, Json]:
        """Those of the comparison, and the field."""
        return {**self.comparison.settings, "against": self.against}

    def score(self, example: Example, dimension: str) -> float:
        """Compares; see `Metric.score`."""
        texts = texts_of(example, self.against, metric=self.name)
        if not texts:
            raise ModelRequestError(
                f"example {example.id} has no {self.against} to compare the output with; --against names another field",
                model=self.name,
            )
        return self.comparison.compare(storable(example.output), texts)


def texts_of(example: Example, field: Against, *, metric: str) -> list[str]:
    """Returns the texts of one field of an example, those without a word left out; none where there is none.

    The references are `example.reference` and, after it, the texts of `example.metadata["references"]`, each once.

    Raises:
        ModelRequestError: The references are no list of texts.
    """
    own: str | None = getattr(example, field)
    others = _other_references(example, metric) if field == "reference" else []
    return [storable(text) for text in dict.fromkeys([own, *others]) if text is not None and text.strip()]


def versions(*packages: str) -> str:
    """Names and versions of installed packages, such as "rouge-score 0.1.2, nltk 3.10.4"."""
    return ", ".join(f"{package} {metadata.version(package)}" for package in packages)


def _other_references(example: Example, metric: str) -> list[str]:
    listed = example.metadata.get("references")
    if listed is None:
        return []
    if not isinstance(listed, list | tuple) or not all(isinstance(text, str) for text in listed):
        raise ModelRequestError(f"example {example.id}: references must be a list of texts", model=metric)
    return [text for text in listed if isinstance(text, str)]
