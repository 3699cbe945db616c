"""What is judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bineval.hashing import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """One output to judge, with what it was made from.

    Attributes:
        id: Unique within its data.
        output: The text to judge; may be empty, and is then judged as empty.
        input: What the output answers or was made from; None when there is nothing.
        reference: A known good output.
        context: Further material, such as retrieved documents.
        group: The source document or prompt that several outputs share; intervals resample groups.
        system: What produced the output.
        human: `{dimension: number}` on the dimension's own scale; a missing label is absent, never 0.
        metadata: All other fields of the row.
    """

    id: str
    output: str
    input: str | None = None
    reference: str | None = None
    context: str | None = None
    group: str | None = None
    system: str | None = None
    human: Mapping[str, float] = field(default_factory=dict)
    metadata: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values, for hashing and storing."""
        return {
            "id": self.id,
            "input": self.input,
            "output": self.output,
            "reference": self.reference,
            "context": self.context,
            "group": self.group,
            "system": self.system,
            "human": dict(self.human),
            "metadata": dict(self.metadata),
        }
