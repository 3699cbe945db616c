"""Verdicts as rows of the store, and back."""

import json
from collections.abc import Mapping
from typing import Any

from bineval.hashing import Json
from bineval.store.schema import WHOLE_OUTPUT
from bineval.types import Evidence, Usage, Verdict, VerdictRow


def to_columns(row: VerdictRow) -> dict[str, Any]:
    """Columns of the table `verdicts` for a row, without its place in the run."""
    verdict = row.verdict
    evidence, details = _evidence_json(verdict), _details_json(verdict)
    return {
        "unit": WHOLE_OUTPUT if row.unit is None else row.unit,
        "repeat": row.repeat,
        "example_id": row.example_id,
        "question_id": row.question_id,
        "dimension": row.dimension,
        "sentence": row.sentence,
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
        "cost_usd": verdict.usage.cost_usd,
        "replies": " ".join(verdict.replies),
        "details": json.dumps(details) if details else None,
    }


def from_columns(columns: Any) -> VerdictRow:  # noqa: ANN401 - a row of SQLAlchemy, whose columns it cannot type
    """Rebuilds a row from its columns."""
    details = json.loads(columns.details) if columns.details else {}
    return VerdictRow(
        example_id=columns.example_id,
        question_id=columns.question_id,
        dimension=columns.dimension,
        unit=None if columns.unit == WHOLE_OUTPUT else columns.unit,
        sentence=columns.sentence,
        repeat=columns.repeat,
        verdict=Verdict(
            answer=columns.answer,
            reason=columns.reason,
            probability=columns.probability,
            explanation=columns.explanation,
            evidence=_evidence(json.loads(columns.evidence) if columns.evidence else []),
            judge=columns.judge,
            usage=Usage(
                input_tokens=columns.input_tokens,
                output_tokens=columns.output_tokens,
                cached_input_tokens=columns.cached_input_tokens,
                calls=columns.calls,
                cost_usd=columns.cost_usd,
            ),
            cached=columns.cached,
            replies=tuple(columns.replies.split()),
            **_details(details),
        ),
    )


def _evidence_json(verdict: Verdict) -> list[Json]:
    return [[item.quote, item.field, item.verified] for item in verdict.evidence]


def _evidence(value: Any) -> tuple[Evidence, ...]:  # noqa: ANN401 - parsed JSON
    return tuple(Evidence(quote=quote, field=field, verified=verified) for quote, field, verified in value)


def _details_json(verdict: Verdict) -> dict[str, Json]:
    """What few verdicts have; what is absent is left out."""
    details: dict[str, Json] = {
        "rating": verdict.rating,
        "threshold": verdict.threshold,
        "raw_probability": verdict.raw_probability,
        "outside_mass": verdict.outside_mass,
        "disputed": verdict.disputed or None,
        "under": [_under_json(item) for item in verdict.under] or None,
    }
    return {name: value for name, value in details.items() if value is not None}


def _details(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rating": value.get("rating"),
        "threshold": value.get("threshold"),
        "raw_probability": value.get("raw_probability"),
        "outside_mass": value.get("outside_mass"),
        "disputed": value.get("disputed", False),
        "under": tuple(map(_under, value.get("under", ()))),
    }


def _under_json(verdict: Verdict) -> dict[str, Json]:
    usage = verdict.usage
    return {
        "answer": verdict.answer,
        "reason": verdict.reason,
        "probability": verdict.probability,
        "explanation": verdict.explanation,
        "evidence": _evidence_json(verdict),
        "judge": verdict.judge,
        "usage": [
            usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.calls, usage.cost_usd,
        ],
        "cached": verdict.cached,
        "replies": list(verdict.replies),
        **_details_json(verdict),
    }  # fmt: skip


def _under(value: Mapping[str, Any]) -> Verdict:
    input_tokens, output_tokens, cached_input_tokens, calls, cost_usd = value["usage"]
    return Verdict(
        answer=value["answer"],
        reason=value["reason"],
        probability=value["probability"],
        explanation=value["explanation"],
        evidence=_evidence(value["evidence"]),
        judge=value["judge"],
        usage=Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_input_tokens=cached_input_tokens,
            calls=calls,
            cost_usd=cost_usd,
        ),
        cached=value["cached"],
        replies=tuple(value["replies"]),
        **_details(value),
    )
