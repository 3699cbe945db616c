import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ConfigError, UnknownNameError
from bineval.stats.association import pearson_intervals
from bineval.stats.intervals import mean_interval
from bineval.types import (
    Checklist,
    Dimension,
    Estimate,
    Example,
    Message,
    Predicate,
    Price,
    Question,
    Request,
    Usage,
    Verdict,
    checklist_from_json,
)

FULL = Checklist(
    name="summary",
    questions=(
        Question(
            id="b",
            text="B?",
            dimension="two",
            weight=2.5,
            violation="v",
            requirement="r",
            may_not_apply=True,
            per="sentence",
            over_sentences="mean",
            threshold=0.3,
            source="hand",
        ),
        Question(id="a", text="A?", dimension="one"),
        Question(id="c", text="C?", dimension="two"),
    ),
    dimensions={"one": Dimension(scale=(1, 5), description="First."), "two": Dimension(), "empty": Dimension()},
    task="Summarize.",
    scale=(0, 10),
    threshold=0.6,
    language="de",
    provenance={"model": "m"},
)


def question(**changes: Any) -> Question:
    return dataclasses.replace(FULL.questions[1], **changes)


def with_questions(*questions: Question) -> Checklist:
    return dataclasses.replace(FULL, questions=questions)


# Verdicts


@pytest.mark.parametrize(
    "parts",
    [
        {"answer": None},
        {"answer": "yes", "reason": "unparsed"},
        {"answer": "yes", "rating": 0.5},
        {"answer": None, "rating": 0.5, "reason": "unparsed"},
    ],
)
def test_a_verdict_has_an_answer_a_rating_or_a_reason_and_only_one_of_them(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either an answer, or a rating, or a reason"):
        Verdict(**parts)


@pytest.mark.parametrize("value", [Verdict(answer="yes"), FULL, Usage(), Example(id="a", output="")])
def test_types_are_frozen(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, getattr(value, name))


# Usage and price

COUNTS = st.integers(0, 10**6)
USAGES = st.builds(
    Usage, input_tokens=COUNTS, output_tokens=COUNTS, cached_input_tokens=COUNTS, calls=st.integers(0, 5)
)


@given(USAGES, st.integers(1, 40))
def test_the_shares_of_a_usage_add_up_to_it_and_differ_by_one_at_most(usage: Usage, n: int) -> None:
    shares = usage.split(n)
    assert len(shares) == n
    assert sum(shares, Usage()) == usage
    for name in ("input_tokens", "output_tokens", "cached_input_tokens", "calls"):
        counts = [getattr(share, name) for share in shares]
        assert max(counts) - min(counts) <= 1


def test_a_price_is_per_million_tokens() -> None:
    # 2,000,000 * 0.15 / 1e6 + 500,000 * 0.60 / 1e6 = 0.30 + 0.30
    usage = Usage(input_tokens=2_000_000, output_tokens=500_000, cached_input_tokens=1_000_000, calls=9)
    assert Price(input_usd=0.15, output_usd=0.60).of(usage) == pytest.approx(0.60)


# Checklists


def test_questions_are_grouped_by_dimension_in_the_order_of_both() -> None:
    groups = FULL.by_dimension()
    assert {name: [q.id for q in group] for name, group in groups.items()} == {
        "one": ["a"],
        "two": ["b", "c"],
        "empty": [],
    }
    assert list(groups) == ["one", "two", "empty"]


def test_a_checklist_comes_back_from_its_json() -> None:
    assert checklist_from_json("summary", FULL.to_json(), provenance={"model": "m"}) == FULL
    assert checklist_from_json("x", with_questions().to_json(), provenance={}).questions == ()


def test_what_came_later_to_checklists_stands_in_their_json_only_where_it_is_used() -> None:
    # So that a checklist without it has the fingerprint that it had before, and its runs can be resumed.
    plain: Any = dataclasses.replace(with_questions(question()), threshold=0.5, language="en").to_json()
    later = {"threshold", "language", "per", "over_sentences"}
    assert not later & (plain.keys() | plain["questions"][0].keys())
    used = dataclasses.replace(
        with_questions(dataclasses.replace(question(), per="sentence", over_sentences="mean", threshold=0.4)),
        threshold=0.3,
        language="de",
        provenance={},
    )
    value: Any = used.to_json()
    assert later <= value.keys() | value["questions"][0].keys()
    assert checklist_from_json("summary", value, provenance={}) == used


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Z?"},
        {"id": "z"},
        {"dimension": "two"},
        {"weight": 2.0},
        {"violation": "z"},
        {"requirement": "z"},
        {"may_not_apply": True},
        {"per": "sentence"},
        {"per": "sentence", "over_sentences": "mean"},
        {"threshold": 0.7},
    ],
)
def test_the_fingerprint_changes_with_all_that_can_change_a_verdict_or_score(changes: dict[str, Any]) -> None:
    assert with_questions(question()).fingerprint() != with_questions(question(**changes)).fingerprint()


def test_whole_ends_of_a_scale_are_the_same_with_and_without_a_fraction() -> None:
    one, other = (
        Checklist(name="c", questions=(), scale=scale, dimensions={"d": Dimension(scale=scale)})
        for scale in ((1, 5), (1.0, 5.0))
    )
    assert one.fingerprint() == other.fingerprint()
    halves = dataclasses.replace(one, scale=(0.5, 5))
    assert halves.to_json()["scale"] == [0.5, 5]


def test_the_fingerprint_covers_task_and_scales_but_neither_name_nor_provenance() -> None:
    changed = [
        dataclasses.replace(FULL, task="Other."),
        dataclasses.replace(FULL, scale=(0, 5)),
        dataclasses.replace(FULL, threshold=0.5),
        dataclasses.replace(FULL, language="fr"),
        dataclasses.replace(FULL, dimensions={**FULL.dimensions, "one": Dimension(scale=(1, 7), description="First.")}),
        dataclasses.replace(FULL, questions=FULL.questions[::-1]),
    ]
    assert FULL.fingerprint() not in {checklist.fingerprint() for checklist in changed}
    assert dataclasses.replace(FULL, name="x", provenance={}).fingerprint() == FULL.fingerprint()


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([question(), question(text="Other?")], "two questions have the id 'a'"),
        ([question(weight=0)], "question 'a': the weight must be positive and finite, not 0"),
        ([question(weight=-1.0)], "must be positive"),
        ([question(weight=float("nan"))], "must be positive and finite, not nan"),
        ([question(weight=float("inf"))], "must be positive and finite, not inf"),
        ([question(threshold=1.0)], "question 'a': the threshold must lie between 0 and 1, not at 1.0"),
        ([question(threshold=float("nan"))], "must lie between 0 and 1, not at nan"),
    ],
)
def test_a_checklist_that_cannot_be_scored_is_refused(questions: list[Question], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        with_questions(*questions)


def test_a_question_s_own_threshold_comes_before_the_checklist_s() -> None:
    checklist = dataclasses.replace(FULL, threshold=0.6)
    assert [checklist.threshold_of(item) for item in checklist.questions] == [0.3, 0.6, 0.6]
    assert checklist.threshold_of(question(threshold=0.9)) == 0.9


def test_a_question_s_dimension_must_be_one_of_the_checklist() -> None:
    with pytest.raises(
        UnknownNameError, match="unknown dimension 'tow' in checklist 'summary', question 'a'; did you mean two"
    ):
        with_questions(question(dimension="tow"))
    with pytest.raises(ConfigError, match="no dimension may be named 'overall'"):
        dataclasses.replace(FULL, dimensions={**FULL.dimensions, "overall": Dimension()})


# Examples and requests


@pytest.mark.parametrize(
    ("ends", "method", "direction"),
    [
        ((0.1, 0.5), "BCa", "above"),
        ((0.0, 0.5), "BCa", "unclear"),
        ((-0.5, 0.0), "BCa", "unclear"),
        ((-0.5, -0.1), "BCa", "below"),
        (None, "no interval: fewer than 5 groups", "unclear"),
        (None, "no interval: all groups are equal", "above"),
        (None, "no interval: all resamples are equal", "above"),
    ],
)
def test_a_direction_is_that_of_the_whole_interval_or_of_what_never_varies(
    ends: tuple[float, float] | None, method: str, direction: str
) -> None:
    low, high = ends or (None, None)
    estimate = Estimate(value=0.3, low=low, high=high, n=9, method=method)
    assert estimate.direction == direction


def test_what_never_varies_lies_beside_every_other_limit() -> None:
    same = Estimate(value=-1.0, low=None, high=None, n=9, method="no interval: all groups are equal")
    assert (same.side_of(-1.0), same.side_of(-0.9), same.side_of(-1.1)) == ("unclear", "below", "above")
    assert replace(same, value=1e-16).direction == "unclear"
    assert not replace(same, value=None, method="undefined: no items").never_varies


def test_the_intervals_say_it_of_what_never_varies() -> None:
    groups = list(range(8))
    assert mean_interval([(group, -1.0) for group in groups]).direction == "below"
    column = np.linspace(0, 1, 8)[:, None]
    assert pearson_intervals(groups, column, -column)[0].direction == "below"


def test_an_example_comes_back_from_its_json() -> None:
    example = Example(id="a", output="", input="i", group="g", human={"d": 1.5}, metadata={"k": [1, {"x": None}]})
    assert Example(**example.to_json()) == example  # type: ignore[arg-type]


def test_requests_are_one_exactly_when_all_their_fields_are() -> None:
    base = Request(messages=(Message(role="user", content="x"),), max_tokens=5)
    changed: list[dict[str, Any]] = [
        {"messages": (Message(role="system", content="x"),)},
        {"messages": (Message(role="user", content="y"),)},
        {"max_tokens": 6},
        {"temperature": 0.5},
        {"temperature": None},
        {"seed": 0},
        {"schema": {}},
        {"top_logprobs": 1},
        {"repeat": 1},
        {"predicates": (Predicate(id="a", instructions="x?"),)},
    ]
    texts = [str(dataclasses.replace(base, **change).to_json()) for change in changed]
    assert len({*texts, str(base.to_json())}) == len(changed) + 1
    assert {name for change in changed for name in change} == {item.name for item in dataclasses.fields(Request)}
    assert str(dataclasses.replace(base, temperature=0).to_json()) == str(base.to_json())


@pytest.mark.parametrize("scale", [(1, 1), (5, 1), (0, float("inf")), (float("nan"), 1)])
def test_a_scale_that_is_no_interval_is_refused(scale: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="must be two finite numbers, the lower one first, not"):
        Dimension(scale=scale)
    with pytest.raises(ConfigError, match="the scale of 'full' must be two finite numbers"):
        dataclasses.replace(FULL, name="full", scale=scale)
