"""Which name of a data file stands for which field of an example."""

from collections.abc import Iterable, Mapping

from bineval.io.values import Warn

ALIASES: Mapping[str, tuple[str, ...]] = {
    "output": (
        "actual_output",
        "response",
        "completion",
        "prediction",
        "model_output",
        "generated_text",
        "generation",
        "hypothesis",
        "answer",
        "summary",
    ),
    "input": (
        "user_input",
        "prompt",
        "question",
        "query",
        "instruction",
        "messages",
        "article",
        "document",
        "source",
    ),
    "reference": (
        "expected_output",
        "expected",
        "ground_truth",
        "gold",
        "target",
        "ideal",
        "reference_answer",
        "answer",
    ),
    "context": (
        "retrieval_context",
        "retrieved_contexts",
        "contexts",
        "documents",
        "passages",
        "article",
        "document",
    ),
}
"""By field, the names that other tools give it, best first; a name in two lists takes the first field that is free."""


def match_fields(names: Iterable[str], *, source: str, warn: Warn) -> dict[str, str]:
    """Returns `{field: name in the file}` for the fields of `ALIASES` that the file has.

    The meaning of a name is settled once for all rows: were it settled row by row, "answer" would turn from the
    reference into the output in a row that lacks its "response".

    Args:
        names: All names in the file.
        source: Name of the file, for warnings.
        warn: Called for each name that could have been a field, had another alias not taken it.
    """
    present = set(names)
    matched: dict[str, str] = {}
    for field, aliases in ALIASES.items():
        free = [name for name in (field, *aliases) if name in present and name not in matched.values()]
        if free:
            matched[field] = free[0]
    _warn_of_unused(matched, present - set(matched.values()), source, warn)
    return matched


def _warn_of_unused(matched: Mapping[str, str], unused: set[str], source: str, warn: Warn) -> None:
    # That a field's own name comes before its aliases needs no warning; the order of aliases may surprise.
    choices = {
        field: [name for name in aliases if name in unused]
        for field, aliases in ALIASES.items()
        if matched.get(field, field) != field
    }
    if names := dict.fromkeys(name for losers in choices.values() for name in losers):
        taken = ", ".join(f"{field} is read from {matched[field]!r}" for field, losers in choices.items() if losers)
        warn(f"{source}: {taken}; kept as metadata: {', '.join(names)}")
