"""How often the outputs of each system satisfy their prompts: by prompt, by constraint, by category and by type."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby
from typing import Literal

from bineval.hashing import Json
from bineval.stats.intervals import proportion_interval, resampling_group
from bineval.suites.ifbench.rows import category_of
from bineval.suites.ifbench.verifiers import Check, Verifiers
from bineval.types import Estimate, Example

Level = Literal["prompt", "constraint"]

_Verdict = tuple[Hashable, bool, bool]
"""A group, and whether something passes strictly and loosely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """An example with what the verifiers say about its output, one check for each constraint of its prompt."""

    example: Example
    checks: tuple[Check, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """A row of the accuracies; its shares are in [0, 1] and rest on the same `n`.

    Attributes:
        system: What wrote the outputs; None where the data does not say.
        level: "prompt": a prompt passes when all its constraints do; "constraint": each counts by itself.
        category: Category of the constraints; None for all.
        instruction_id: Their type; None for all of the category.
        strict: Share of the outputs, as they are, that pass.
        loose: Share of the outputs of which one variant passes.
    """

    system: str | None
    level: Level
    category: str | None
    instruction_id: str | None
    strict: Estimate
    loose: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class Undefined:
    """Constraints of one type that could not be verified, for one reason."""

    instruction_id: str
    problem: str
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AccuracyReport:
    """The accuracies of some outputs.

    Attributes:
        version: Package of the verifiers.
        verified: The examples with their checks.
        n_without_output: Prompts for which no output was recorded; they are in no figure.
        rows: For each system: by prompt, by constraint, then by category with its types.
        undefined: Constraints without a verdict. They, and the prompts that set them, are in no figure.
        notes: What a reader must know.
    """

    version: str
    verified: tuple[Verified, ...]
    n_without_output: int
    rows: tuple[Accuracy, ...]
    undefined: tuple[Undefined, ...]
    notes: tuple[str, ...]

    @property
    def n_constraints(self) -> int:
        """Constraints of all outputs, verified or not."""
        return sum(len(item.checks) for item in self.verified)

    def to_json(self) -> dict[str, Json]:
        """All of it as JSON values, with the verdicts that the figures rest on."""
        return {
            "suite": "ifbench",
            "verifiers": self.version,
            "n_outputs": len(self.verified),
            "n_constraints": self.n_constraints,
            "n_without_output": self.n_without_output,
            "accuracy": [asdict(row) for row in self.rows],
            "undefined": [asdict(item) for item in self.undefined],
            "notes": list(self.notes),
            "verdicts": [
                {"example_id": item.example.id, **check.to_json()} for item in self.verified for check in item.checks
            ],
        }


def verify(
    examples: Sequence[Example], verifiers: Verifiers, *, n_without_output: int = 0, source: str, seed: int = 0
) -> AccuracyReport:
    """Verifies the outputs of examples and returns their accuracies with 95 % intervals over prompts.

    Args:
        examples: Each with the constraints of its prompt among its metadata.
        verifiers: What verifies.
        n_without_output: Prompts that were left out, for the report.
        source: Name of the data, for errors.
        seed: Of the intervals.

    Raises:
        DataError, UnknownNameError: The constraints are not what they should be; see `Verifiers.check`.
    """
    verified = tuple(
        Verified(example=example, checks=verifiers.check(example, example.output, source=source))
        for example in examples
    )
    return AccuracyReport(
        version=verifiers.version,
        verified=verified,
        n_without_output=n_without_output,
        rows=tuple(_rows(verified, seed)),
        undefined=_undefined(verified),
        notes=tuple(_notes(verified)),
    )


def _rows(verified: Sequence[Verified], seed: int) -> Iterator[Accuracy]:
    by_system: dict[str | None, list[Verified]] = {}
    for item in verified:
        by_system.setdefault(item.example.system, []).append(item)
    for system, items in by_system.items():
        yield _row(_prompts(items), seed, system=system, level="prompt")
        by_type = _constraints(items)
        yield _row(_joined(by_type.values()), seed, system=system, level="constraint")
        for category, types in groupby(by_type, key=category_of):
            names = list(types)
            found = _joined(by_type[name] for name in names)
            yield _row(found, seed, system=system, level="constraint", category=category)
            for name in names:
                yield _row(
                    by_type[name], seed, system=system, level="constraint", category=category, instruction_id=name
                )


def _constraints(verified: Iterable[Verified]) -> dict[str, list[_Verdict]]:
    """The verdicts on constraints by type, in order of its name."""
    by_type: dict[str, list[_Verdict]] = {}
    for item in verified:
        for check in item.checks:
            verdicts = by_type.setdefault(check.constraint.instruction_id, [])
            if check.strict is not None and check.loose is not None:
                verdicts.append((resampling_group(item.example), check.strict, check.loose))
    return dict(sorted(by_type.items()))


def _prompts(verified: Iterable[Verified]) -> list[_Verdict]:
    """The prompts all of whose constraints have verdicts.

    One that fails a constraint fails whatever the others come to. But counting these, and not the ones that might
    have passed, would make the share too low.
    """
    return [
        (resampling_group(item.example), all(c.strict for c in item.checks), all(c.loose for c in item.checks))
        for item in verified
        if not any(check.strict is None or check.loose is None for check in item.checks)
    ]


def _row(
    verdicts: Sequence[_Verdict],
    seed: int,
    *,
    system: str | None,
    level: Level,
    category: str | None = None,
    instruction_id: str | None = None,
) -> Accuracy:
    return Accuracy(
        system=system,
        level=level,
        category=category,
        instruction_id=instruction_id,
        strict=proportion_interval([(group, strict) for group, strict, _ in verdicts], seed=seed),
        loose=proportion_interval([(group, loose) for group, _, loose in verdicts], seed=seed),
    )


def _joined(parts: Iterable[Sequence[_Verdict]]) -> list[_Verdict]:
    return list(chain.from_iterable(parts))


def _undefined(verified: Iterable[Verified]) -> tuple[Undefined, ...]:
    counts = Counter(
        (check.constraint.instruction_id, check.problem)
        for item in verified
        for check in item.checks
        if check.problem is not None
    )
    return tuple(Undefined(instruction_id=name, problem=why, n=n) for (name, why), n in sorted(counts.items()))


def _notes(verified: Sequence[Verified]) -> Iterator[str]:
    drawn = [
        f"{', '.join(check.drawn)} of {check.constraint.instruction_id} in {item.example.id}"
        for item in verified
        for check in item.checks
        if check.drawn
    ]
    if drawn:
        yield f"not taken from the row but drawn at random by the verifier: {'; '.join(drawn)}"
