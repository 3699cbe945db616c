import random

import pytest

from bineval.diagnose.pruning import MOST_LOST, DimensionPruning, prune_dimension, pruned, score_loss
from support.answered import Answered, answered


def drawn(n: int, share: float = 0.5, seed: int = 0) -> str:
    generator = random.Random(seed)
    return "".join("y" if generator.random() < share else "n" for _ in range(n))


def prune(run: Answered, n_choosing: int) -> DimensionPruning:
    """Chooses on the first examples, and reports on the others."""
    return prune_dimension(run.table, "c", set(run.table.groups[n_choosing:]))


def test_a_copy_of_a_question_goes_and_the_others_stay() -> None:
    one, two = drawn(120), drawn(120, seed=2)
    found = prune(answered({"c1": one, "c2": two, "c3": one}), 60)
    assert (found.by, found.kept) == ("full score", ("c1", "c2"))
    [drop] = found.drops
    assert (drop.question_id, drop.n_lost, drop.human_change) == ("c3", 0, None)
    assert found.total is not None
    assert found.total.lost == ()
    assert found.total == found.alone["c3"]


def test_independent_questions_all_stay() -> None:
    found = prune(answered({f"c{i}": drawn(120, 0.8, seed=i) for i in range(4)}), 60)
    assert (found.kept, found.drops, found.total) == (("c0", "c1", "c2", "c3"), (), None)
    assert all(loss.lost for loss in found.alone.values())


def test_the_last_question_stays_however_little_it_tells() -> None:
    found = prune(answered({"c1": "y" * 40, "c2": "y" * 40, "c3": "y" * 40}), 20)
    assert (found.kept, [drop.question_id for drop in found.drops]) == (("c1",), ["c3", "c2"])
    assert [drop.likeness for drop in found.drops] == [None, None]
    only = prune(answered({"c1": "yn" * 20}), 20)
    assert (only.kept, only.drops, only.alone) == (("c1",), (), {})


def test_people_decide_where_they_have_rated_enough() -> None:
    generator = random.Random(0)
    n = 300
    good, noise = drawn(n), drawn(n, 0.9, seed=7)
    # A failure of the noise is never one alone, so that only its harm to the correlation counts.
    noise = "".join("n" if a == "n" and b == "n" else "y" for a, b in zip(good, noise, strict=True))
    ratings = [
        (letter == "y") * 2 + generator.random() + 1.0 * (other == "n")
        for letter, other in zip(good, noise, strict=True)
    ]
    found = prune(answered({"c1": good, "c2": noise}, human={"c": ratings}), 150)
    assert (found.by, found.kept) == ("people", ("c1",))
    assert found.drops[0].human_change is not None
    assert found.drops[0].human_change > 0
    assert found.total is not None
    assert found.total.human_change.value is not None
    assert found.total.human_change.low is not None
    assert found.total.human_change.value > 0
    few = [rating if i < 19 or i >= 150 else None for i, rating in enumerate(ratings)]
    assert prune(answered({"c1": good, "c2": noise}, human={"c": few}), 150).by == "full score"


def test_a_question_that_catches_failures_of_its_own_stays_though_scores_hardly_change() -> None:
    # Alone, c2 catches 3 of 43 failures: 7 %.
    one, two = "n" * 40 + "y" * 160, "y" * 197 + "nnn"
    assert MOST_LOST < 3 / 43
    assert prune(answered({"c1": one, "c2": two}), 200).kept == ("c1", "c2")
    # One of 41 is less than the limit.
    assert prune(answered({"c1": one, "c2": "y" * 199 + "n"}), 200).kept == ("c1",)


def test_a_question_that_alone_is_answered_stays() -> None:
    one = "yn" * 10 + "u" * 20
    assert prune(answered({"c1": one, "c2": "yn" * 20}), 40).kept == ("c2",)
    kept = prune(answered({"c1": "yn" * 20, "c2": one}), 40).kept
    assert kept == ("c1",)
    both = prune(answered({"c1": "yn" * 10 + "u" * 20, "c2": "u" * 20 + "yn" * 10}), 40)
    assert both.kept == ("c1", "c2")


def test_the_loss_is_counted_by_hand() -> None:
    run = answered({"c1": "ynyny", "c2": "yynny", "c3": "yyyyu"})
    loss = score_loss(run.table, "c", [0])
    # Scores with all: 1, 2/3, 2/3, 1/3, 1; with c1 alone: 1, 0, 1, 0, 1.
    assert (loss.n, loss.n_unscored) == (5, 0)
    assert loss.change.value == pytest.approx((0 + 2 / 3 + 1 / 3 + 1 / 3 + 0) / 5)
    # Examples e1, e2 and e3 fail; c1 does not catch e2.
    assert (loss.n_failed, loss.lost) == (3, ("e2",))
    assert score_loss(run.table, "c", [2]).n_unscored == 1
    assert loss.human_change.method == "undefined: no human ratings of it"


def test_with_probabilities_scores_are_of_them_and_failures_of_the_answers() -> None:
    generator = random.Random(0)
    one = [generator.uniform(0.6, 0.9) for _ in range(60)]
    found = prune(answered({"c1": one, "c2": [p + 0.05 for p in one]}), 30)
    assert found.kept == ("c1",)
    assert (found.drops[0].likeness, found.drops[0].n_failed) == (1.0, 0)


def test_the_part_reported_on_decides_nothing() -> None:
    one = drawn(60)
    other = drawn(60, seed=3)
    found = prune(answered({"c1": one + other, "c2": one + drawn(60, seed=4)}), 60)
    assert found.kept == ("c1",)
    assert found.total is not None
    assert found.total.likeness.value is not None
    assert found.total.likeness.value < 0.9
    assert found.total.lost


def test_a_pruned_checklist_keeps_the_order_of_what_is_left() -> None:
    checklist = answered({"c1": "y", "f1": "y", "c2": "y"}).checklist
    assert [item.id for item in pruned(checklist, {"f1"}).questions] == ["c1", "c2"]
