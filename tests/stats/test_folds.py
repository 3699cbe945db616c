import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bineval.stats.folds import group_folds


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(2, 10), st.integers(0, 5))
def test_a_group_is_in_one_fold_and_folds_differ_by_one_group_at_most(groups: list[int], n: int, seed: int) -> None:
    folds = group_folds(groups, n_folds=n, seed=seed)
    by_group = {group: {int(fold) for g, fold in zip(groups, folds, strict=True) if g == group} for group in groups}
    assert all(len(found) == 1 for found in by_group.values())
    sizes = np.bincount([fold for (fold,) in by_group.values()])
    assert len(sizes) == min(n, len(by_group))
    assert sizes.max() - sizes.min() <= 1


def test_the_seed_decides() -> None:
    one, again, other = (group_folds(range(20), n_folds=5, seed=seed).tolist() for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert group_folds([], n_folds=5, seed=0).tolist() == []
