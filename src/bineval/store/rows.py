"""Verdicts as rows of the store, and back."""

import json
from typing import Any

from bineval.store.schema import WHOLE_OUTPUT
from bineval.types import Evidence, Usage, Verdict, VerdictRow


def to_columns(row: VerdictRow) -> dict[str, Any]:
    """Columns of the table `verdicts` for a row, without its place in the run."""
    verdict = row.verdict
    evidence = [[item.quote, item.field, item.verified] for item in verdict.evidence]
    return {
        "unit": WHOLE_OUTPUT if row.unit is None else row.unit,
        "repeat": row.repeat,
        "example_id": row.example_id,
        "question_id": row.question_id,
        "dimension": row.dimension,
        "answer": verdict.answer,
        "reason": verdict.reason,
        "probability": verdict.probability,
        "explanation": verdict.explanation,
        "evidence": json.dumps(evidence) if evidence else None,
        "judge": verdict.judge,
        "cached": verdict.cached,
        "input_tokens": verdict.usage.input_tokens,
        "output_tokens": verdict.usage.output_tokens,
        "cached_input_tokens": verdict.usage.cached_input_tokens,
        "calls": verdict.usage.calls,
        "replies": " ".join(verdict.replies),
    }


def from_columns(columns: Any) -> VerdictRow:  # noqa: ANN401 - a row of SQLAlchemy, whose columns it cannot type
    """Rebuilds a row from its columns."""
    evidence = json.loads(columns.evidence) if columns.evidence else []
    return VerdictRow(
        example_id=columns.example_id,
        question_id=columns.question_id,
        dimension=columns.dimension,
        unit=None if columns.unit == WHOLE_OUTPUT else columns.unit,
        repeat=columns.repeat,
        verdict=Verdict(
            answer=columns.answer,
            reason=columns.reason,
            probability=columns.probability,
            explanation=columns.explanation,
            evidence=tuple(Evidence(quote=q, field=field, verified=verified) for q, field, verified in evidence),
            judge=columns.judge,
            usage=Usage(
                input_tokens=columns.input_tokens,
                output_tokens=columns.output_tokens,
                cached_input_tokens=columns.cached_input_tokens,
                calls=columns.calls,
            ),
            cached=columns.cached,
            replies=tuple(columns.replies.split()),
        ),
    )
