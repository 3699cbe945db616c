"""Folds of a cross-validation by group, so that no group is both fitted on and predicted."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray


def group_folds(groups: Sequence[Hashable], *, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Returns the fold of each item, from 0.

    Groups are dealt out in a random order, so that folds differ by one group at most.

    Args:
        groups: The group of each item, in an order that does not change.
        n_folds: With fewer groups each has a fold of its own.
        seed: The same seed and groups give the same folds.
    """
    numbers = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    order = np.random.default_rng(seed).permutation(len(numbers))
    fold_of = np.empty(len(numbers), dtype=np.intp)
    fold_of[order] = np.arange(len(numbers)) % n_folds
    return fold_of[[numbers[group] for group in groups]] if numbers else fold_of
