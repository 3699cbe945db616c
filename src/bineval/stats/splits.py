"""Splits of data by group, so that no group is in two parts."""

from collections.abc import Hashable, Iterable, Sequence

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


def split_by_group(items: Sequence[Hashable], *, sizes: Sequence[int], seed: int) -> list[list[int]]:
    """Draws parts of at least so many items each, whole groups at a time, and a last part of what is left.

    Args:
        items: The group of each item.
        sizes: Items of each part but the last, in order.
        seed: The same seed and groups give the same split.

    Returns:
        The places of the items of each part, in order.

    Raises:
        ConfigError: A part would be empty.
    """
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(items):
        members.setdefault(group, []).append(place)
    groups = list(members.values())
    order = iter(np.random.default_rng(seed).permutation(len(groups)))
    parts: list[list[int]] = []
    for size in sizes:
        part: list[int] = []
        while len(part) < size and (drawn := next(order, None)) is not None:
            part += groups[drawn]
        parts.append(sorted(part))
    parts.append(sorted(place for drawn in order for place in groups[drawn]))
    if not all(parts):
        raise ConfigError(
            f"{len(items)} examples in {len(groups)} groups are too few for parts of {', '.join(map(str, sizes))} and "
            "a rest"
        )
    return parts
