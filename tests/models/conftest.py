import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def one_core() -> Iterator[None]:
    """One thread for the engine: several spin where other work takes the cores, and a small model needs no more."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    yield
    os.sched_setaffinity(0, cores)
