from pathlib import Path

import pytest

from bineval.errors import ConfigError, StoreError, UnknownNameError
from bineval.store.database import Store
from bineval.store.loops import claim_loop, find_loop, loop_names
from bineval.types import Usage


def test_a_loop_is_left_as_it_was_saved_and_goes_on(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        first = claim_loop(store, "a", {"seed": 1})
        assert (first.earlier.record, first.earlier.spent) == (None, Usage())
        first.save({"iterations": []}, Usage(calls=3))
        first.save(None, Usage(calls=5))
        first.release()
    with Store(tmp_path / "s.db") as store:
        again = claim_loop(store, "a", {"seed": 1})
        assert (again.earlier.record, again.earlier.spent) == ({"iterations": []}, Usage(calls=5))
        assert find_loop(store, "a") == again.earlier


def test_another_loop_of_the_name_and_another_process_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        held = claim_loop(store, "a", {"seed": 1, "data": "x"})
        with pytest.raises(StoreError, match="loop 'a' is being worked on by another thread of this process"):
            claim_loop(store, "a", {"seed": 1, "data": "x"})
        held.release()
        with pytest.raises(ConfigError, match="loop 'a' is there already, with other data"):
            claim_loop(store, "a", {"seed": 1, "data": "y"})


def test_a_loop_that_is_not_there_comes_with_those_that_are(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        claim_loop(store, "first", {})
        claim_loop(store, "second", {})
        assert set(loop_names(store)) == {"first", "second"}
        with pytest.raises(UnknownNameError, match="did you mean first"):
            find_loop(store, "firs")
