import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.hashing import Json, canonical_json, tagged_hash

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def test_canonical_json_has_sorted_keys_no_spaces_and_plain_characters() -> None:
    assert canonical_json({"b": [1, 2.5, None, True], "a": "é"}) == '{"a":"é","b":[1,2.5,null,true]}'


def test_a_tuple_is_a_list() -> None:
    assert tagged_hash("t/1", {"scale": (1, 5)}) == tagged_hash("t/1", {"scale": [1, 5]})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {"a": [math.nan]}])
def test_what_json_cannot_hold_has_no_key(value: Json) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(value)


def test_the_hash_of_a_value_never_changes() -> None:
    # Stores in use hold such keys: another hash would make every reply in them unknown.
    # printf 'bineval:reply/1\\0{"a":1}' | sha256sum
    assert tagged_hash("reply/1", {"a": 1}) == "d6c3cbb113d382facf95bec0dc8a4ed84c0c23227dd6ff4faf3a0d0fbb0c797f"


def test_another_tag_is_another_key() -> None:
    assert tagged_hash("reply/1", "x") != tagged_hash("reply/2", "x")
    assert tagged_hash("reply/1", "1x") != tagged_hash("reply/11", "x")


def test_lone_surrogates_have_keys_of_their_own() -> None:
    assert len({tagged_hash("t/1", text) for text in ("\ud800", "\udfff", "\ufffd", "?")}) == 4


@given(VALUES, VALUES)
def test_two_values_have_one_key_exactly_when_their_json_is_one(one: Json, other: Json) -> None:
    same = canonical_json(one) == canonical_json(other)
    assert (tagged_hash("t/1", one) == tagged_hash("t/1", other)) == same


@given(st.dictionaries(st.text(), st.integers(), max_size=5))
def test_the_order_of_keys_changes_nothing(value: dict[str, int]) -> None:
    assert tagged_hash("t/1", value) == tagged_hash("t/1", dict(reversed(value.items())))
