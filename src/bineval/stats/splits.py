"""A split of data into two parts by group, so that no group is on both sides."""

from collections.abc import Hashable, Iterable

import numpy as np

from bineval.errors import ConfigError


def groups_for_test(groups: Iterable[Hashable], *, share: float, seed: int) -> set[Hashable]:
    """Draws the groups whose items are kept for the test.

    Args:
        groups: The group of each item, in an order that does not change; each group counts once.
        share: Share of the groups to draw, in (0, 1); at least one group is drawn and one is left.
        seed: The same seed and groups give the same split.

    Raises:
        ConfigError: There are fewer than two groups, or the share is out of range.
    """
    if not 0 < share < 1:
        raise ConfigError(f"the test's share must lie between 0 and 1, not at {share}")
    distinct = list(dict.fromkeys(groups))
    if len(distinct) < 2:
        raise ConfigError(
            f"{len(distinct)} group of examples cannot be split in two: outputs of one source (`group`) stay together"
        )
    n_test = min(max(round(share * len(distinct)), 1), len(distinct) - 1)
    order = np.random.default_rng(seed).permutation(len(distinct))
    return {distinct[i] for i in order[:n_test]}
