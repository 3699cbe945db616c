"""Verifies outputs against the constraints of their prompts, strictly and loosely, as IFBench does.

A verdict is True, False, or None where the verifier could not run: that is no failure of the output.
"""

import csv
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bineval.errors import DataError, UnknownNameError
from bineval.hashing import Json
from bineval.suites.ifbench.package import download_command, open_registry, package_version
from bineval.suites.ifbench.rows import Constraint, constraints_of
from bineval.types import Example

# What a verifier raises for a text or an argument that it did not foresee.
_CRASHES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, csv.Error)
# NLTK names the data that it lacks only in the words of its error.
_LACKING = re.compile(r"nltk\.download\('([^']+)'\)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """What a verifier says about one constraint and one output.

    Attributes:
        constraint: The constraint.
        description: What it demands, in the verifier's words.
        pattern: The same for all constraints of its type, with `{name}` in the place of each argument.
        strict: Whether the output as it is satisfies it; None when that could not be found out.
        loose: Whether one of the eight variants of the output does; None likewise.
        problem: Why a verdict is None, and what to do; None where both are there.
        drawn: Names of arguments that the verifier drew at random, as the row does not set them.
    """

    constraint: Constraint
    description: str
    pattern: str
    strict: bool | None
    loose: bool | None
    problem: str | None = None
    drawn: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """All of it as JSON values, the pattern left out."""
        return {
            "instruction_id": self.constraint.instruction_id,
            "description": self.description,
            "strict": self.strict,
            "loose": self.loose,
            "problem": self.problem,
            "drawn": list(self.drawn),
        }


class Verifiers:
    """The verifiers of IFBench, by the package if-verifiable; for one thread at a time.

    Raises:
        MissingDependencyError: The package is not installed.
        ConfigError: NLTK's data is not on this machine.
    """

    def __init__(self) -> None:
        self._registry, self.version = open_registry(), package_version()

    def check(self, example: Example, output: str, *, source: str = "<data>") -> tuple[Check, ...]:
        """Verifies an output against all constraints of an example's prompt, in the order of its row.

        Each verifier is built once and used for all variants of the output. Arguments that the row does not set are
        drawn by the verifier, the same for all outputs of the example's group and in every call. A blank output
        satisfies nothing.

        Args:
            example: Its metadata holds the constraints (`constraints_of`); its own output is not looked at.
            output: What is verified.
            source: Name of the data, for errors.

        Raises:
            DataError: The constraints are not what they should be.
            UnknownNameError: There is no verifier for a constraint.
        """
        return tuple(
            self._check(constraint, output, f"{example.group or example.id}/{place}", f"{source}, example {example.id}")
            for place, constraint in enumerate(constraints_of(example, source=source))
        )

    def _check(self, constraint: Constraint, output: str, seed: str, where: str) -> Check:
        verifier, description = self._build(constraint, seed, where)
        strict = _outcome(verifier, output)
        outcomes = [strict, *(_outcome(verifier, text) for text in loose_variants(output)[1:])]
        problem = next((item for item in outcomes if isinstance(item, str)), None)
        # One variant that passes settles it, whatever became of the others.
        loose = True if True in outcomes else (None if problem else False)
        return Check(
            constraint=constraint,
            description=description,
            pattern=str(getattr(verifier, "_description_pattern", description)),
            strict=None if isinstance(strict, str) else strict,
            loose=loose,
            problem=problem if loose is None or isinstance(strict, str) else None,
            drawn=_drawn(constraint.arguments, verifier.get_instruction_args() or {}),
        )

    def _build(self, constraint: Constraint, seed: str, where: str) -> tuple[Any, str]:
        """The verifier of one constraint, and what it demands."""
        name = constraint.instruction_id
        if name not in self._registry:
            raise UnknownNameError("constraint", name, self._registry, where=where)
        verifier = self._registry[name](name)
        with _seeded(seed):
            try:
                return verifier, str(verifier.build_description(**constraint.arguments))
            except _CRASHES as error:
                problem = f"the verifier of {name} does not take these arguments: {error}"
                raise DataError(problem, file=where, field="kwargs") from error


def loose_variants(output: str) -> list[str]:
    """Returns the output, then without its first line, its last, and both; then all four without asterisks."""
    lines = output.split("\n")
    cut = [output, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(text.replace("*", "") for text in cut)]


def _outcome(verifier: Any, text: str) -> bool | str:  # noqa: ANN401 - a class of the package, which has no types
    """Whether a text satisfies the constraint, or why that cannot be said."""
    if not text.strip():
        return False
    try:
        return bool(verifier.check_following(text))
    except _CRASHES as error:
        # NLTK's error for missing data has no class of its own.
        if lacking := _LACKING.search(str(error)):
            return f"NLTK's data {lacking[1]} is not on this machine: run '{download_command(lacking[1])}'"
        return f"the verifier failed on this output: {type(error).__name__}: {error}"


def _drawn(given: Mapping[str, Json], used: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that the verifier uses in place of those that it was given, or was not given."""

    def bare(value: object) -> object:
        return value.strip() if isinstance(value, str) else value

    return tuple(name for name, value in used.items() if bare(value) != bare(given.get(name)))


@contextmanager
def _seeded(seed: str) -> Iterator[None]:
    """Makes the draws of Python's own generator, which the package uses, depend on nothing but the seed."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
