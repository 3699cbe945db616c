import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ConfigError
from bineval.stats.splits import groups_for_test, split_by_group


def test_the_share_is_of_groups_and_not_of_items() -> None:
    items = ["large"] * 90 + [f"g{i}" for i in range(9)]
    assert len(groups_for_test(items, share=0.3, seed=0)) == 3


def test_the_same_seed_gives_the_same_split_and_another_seed_another() -> None:
    items = [f"g{i}" for i in range(30)]
    assert groups_for_test(items, share=0.5, seed=1) == groups_for_test(iter(items * 2), share=0.5, seed=1)
    assert groups_for_test(items, share=0.5, seed=1) != groups_for_test(items, share=0.5, seed=2)


@given(st.integers(2, 50), st.floats(0.01, 0.99), st.integers(0, 9))
def test_neither_side_is_ever_empty(n: int, share: float, seed: int) -> None:
    assert 0 < len(groups_for_test(range(n), share=share, seed=seed)) < n


@pytest.mark.parametrize("items", [[], ["a"], ["a", "a"]])
def test_what_cannot_be_split_is_an_error(items: list[str]) -> None:
    with pytest.raises(ConfigError, match=rf"^{len(set(items))} group of examples cannot be split in two"):
        groups_for_test(items, share=0.5, seed=0)


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan")])
def test_a_share_of_nothing_or_all_is_an_error(share: float) -> None:
    with pytest.raises(ConfigError, match="must lie between 0 and 1"):
        groups_for_test("abc", share=share, seed=0)


def test_parts_hold_whole_groups_and_everything_once() -> None:
    items = [f"g{i // 3}" for i in range(60)]
    parts = split_by_group(items, sizes=(10, 20), seed=4)
    assert [len(part) for part in parts] == [12, 21, 27]
    assert sorted(place for part in parts for place in part) == list(range(60))
    groups = [{items[place] for place in part} for part in parts]
    assert not groups[0] & groups[1] | groups[0] & groups[2] | groups[1] & groups[2]
    assert parts == split_by_group(items, sizes=(10, 20), seed=4)
    assert parts != split_by_group(items, sizes=(10, 20), seed=5)


def test_a_part_that_would_be_empty_is_refused() -> None:
    with pytest.raises(ConfigError, match="6 examples in 3 groups are too few for parts of 3, 2 and a rest"):
        split_by_group(["a", "a", "b", "b", "c", "c"], sizes=(3, 2), seed=0)
