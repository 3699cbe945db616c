from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.store.rows import from_columns, to_columns
from bineval.types import Evidence, Usage, Verdict, VerdictRow


def there_and_back(row: VerdictRow) -> VerdictRow:
    return from_columns(SimpleNamespace(**to_columns(row)))


words = st.text(max_size=20)
counts = st.integers(0, 2**53)
evidence = st.builds(Evidence, quote=words, field=st.none() | st.just("output"), verified=st.booleans())
answers = st.sampled_from([("yes", None), ("no", None), (None, "unparsed"), (None, "error"), (None, "not_applicable")])
verdicts = st.builds(
    lambda pair, **rest: Verdict(answer=pair[0], reason=pair[1], **rest),
    answers,
    probability=st.none() | st.floats(0, 1),
    explanation=st.none() | words,
    evidence=st.lists(evidence, max_size=3).map(tuple),
    judge=words,
    usage=st.builds(
        Usage, input_tokens=counts, output_tokens=counts, cached_input_tokens=counts, calls=st.integers(0, 9)
    ),
    cached=st.booleans(),
    replies=st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), max_size=3).map(tuple),
)
rows = st.builds(
    VerdictRow,
    example_id=words,
    question_id=words,
    dimension=words,
    unit=st.none() | st.integers(0, 99),
    repeat=st.integers(0, 9),
    verdict=verdicts,
)


@given(rows)
def test_every_row_comes_back_as_it_was(row: VerdictRow) -> None:
    assert there_and_back(row) == row


@pytest.mark.parametrize("unit", [None, 0, 1])
def test_the_whole_output_is_not_its_first_sentence(unit: int | None) -> None:
    row = VerdictRow(example_id="e", question_id="q", dimension="d", unit=unit, verdict=Verdict(answer="yes"))
    assert to_columns(row)["unit"] is not None  # it is part of a key
    assert there_and_back(row).unit == unit


def test_an_empty_explanation_is_not_a_missing_one() -> None:
    for explanation in ("", None):
        verdict = Verdict(answer="no", explanation=explanation)
        row = VerdictRow(example_id="e", question_id="q", dimension="d", verdict=verdict)
        assert there_and_back(row).verdict.explanation == explanation


@pytest.mark.parametrize("rating", [0.0, 0.1, -3.25])
def test_a_rating_comes_back_exactly(rating: float) -> None:
    row = VerdictRow(example_id="a", question_id="q", dimension="d", verdict=Verdict(answer=None, rating=rating))
    assert there_and_back(row) == row
