import random
from dataclasses import replace

import numpy as np
import pytest

from bineval.diagnose.findings import Finding, findings
from bineval.diagnose.limits import KINDS
from bineval.types import Estimate
from support.answered import Answered, answered


def texts(found: list[Finding]) -> list[str]:
    return [finding.text for finding in found]


def kinds(run: Answered) -> list[str]:
    return [finding.kind for finding in run.findings()]


def drawn(n: int, share: float = 0.5, seed: int = 0) -> str:
    generator = random.Random(seed)
    return "".join("y" if generator.random() < share else "n" for _ in range(n))


def changed(word: str, share: float, seed: int = 1) -> str:
    """The same answers, some of them turned around."""
    generator = random.Random(seed)
    return "".join({"y": "n", "n": "y"}[letter] if generator.random() < share else letter for letter in word)


def opposite(word: str) -> str:
    return changed(word, 1.0)


def test_independent_questions_give_no_finding() -> None:
    columns = {f"c{i}": drawn(200, 0.3 + 0.1 * i, seed=i) for i in range(4)}
    assert answered(columns).findings() == []


@pytest.mark.parametrize(("letter", "kind", "word"), [("y", "always_yes", "yes"), ("n", "always_no", "no")])
def test_a_question_with_one_answer_tells_nothing(letter: str, kind: str, word: str) -> None:
    [finding] = answered({"c1": letter * 20}).findings()
    assert (finding.kind, finding.questions, finding.dimension) == (kind, ("c1",), "c")
    assert finding.text == f"c1: always {word} (20 examples): it tells no output from another here"
    assert answered({"c1": letter * 19}).findings() == []


def test_almost_always_needs_enough_examples_to_be_said() -> None:
    [finding] = answered({"c1": "y" * 397 + "n" * 3}).findings()
    assert finding.kind == "always_yes"
    # Wilson's lower end for 397 of 400 is 97.8 %.
    assert finding.text == "c1: almost always yes: in 99.2% of 400 examples, at least 97.8% of more"
    assert answered({"c1": "y" * 59 + "n"}).findings() == []
    assert kinds(answered({"c1": "n" * 397 + "y" * 3})) == ["always_no"]


def test_never_answered_and_never_applies_are_two_things() -> None:
    run = answered({"c1": "uue", "f1": "---", "g1": ["", "", ""]})
    assert texts(run.findings()) == [
        "c1: never answered: none of 3 verdicts (1 error, 2 unparsed)",
        "f1: never applies: all 3 verdicts say so",
    ]


def test_often_unanswered_needs_an_interval_above_one_in_twenty() -> None:
    [finding] = answered({"c1": drawn(80) + "u" * 20}).findings()
    assert finding.kind == "often_unanswered"
    assert finding.text == "c1: often unanswered: 20% [13%, 29%] of 100 verdicts"
    assert answered({"c1": drawn(18) + "uu"}).findings() == []


def test_a_repeated_question_is_named_with_the_one_that_it_repeats() -> None:
    first, other = drawn(120), drawn(120, seed=5)
    run = answered({"c1": first, "c2": other, "c3": changed(first, 0.015)})
    [finding] = run.findings()
    assert (finding.kind, finding.questions) == ("redundant", ("c3", "c1"))
    assert finding.text.startswith("c3: redundant with c1 at φ 0.97 [0.8")
    assert finding.text.endswith("(n = 120)")


def test_questions_that_never_differ_are_redundant_though_there_is_no_interval() -> None:
    first = drawn(20)
    assert texts(answered({"c1": first, "c2": first}).findings()) == ["c2: redundant with c1 at φ 1.00 (n = 20)"]
    assert answered({"c1": first[:19], "c2": first[:19]}).findings() == []


def test_questions_that_are_all_alike_are_one_signal_said_once() -> None:
    first = drawn(120)
    run = answered({f"c{i}": changed(first, 0.02, seed=i) for i in range(4)})
    [finding] = run.findings()
    assert (finding.kind, finding.questions) == ("one_signal", ("c0", "c1", "c2", "c3"))
    assert finding.text == (
        "c: its 4 questions are one signal: φ of their answers is 0.93 to 0.97 in 6 pairs (n = 120)"
    )


def test_probabilities_show_one_signal_that_answers_of_one_kind_hide() -> None:
    generator = random.Random(0)
    signal = [generator.uniform(0.6, 0.99) for _ in range(60)]
    columns = {f"c{i}": [p - 0.01 * i + generator.uniform(-0.02, 0.02) for p in signal] for i in range(3)}
    found = answered(columns).findings()
    assert [finding.kind for finding in found] == ["always_yes", "one_signal"]
    assert found[0].questions == ("c0", "c1", "c2")
    assert found[0].text.startswith("c: always or almost always yes to all its 3 questions (60 examples): ")
    assert "r of their P(yes) is 0.9" in found[-1].text


def test_two_failures_in_common_are_no_repetition() -> None:
    # φ is 1, but hangs on two examples.
    run = answered({"c1": "nn" + "y" * 60, "c2": "nn" + "y" * 60})
    assert run.questions()["c1"].rest.value == pytest.approx(1)
    assert "redundant" not in kinds(run)


@pytest.mark.parametrize(("n_no", "kind"), [(4, None), (5, "redundant")])
def test_a_repetition_needs_five_of_the_rarer_answer(n_no: int, kind: str | None) -> None:
    word = "n" * n_no + "y" * 55
    found = [item for item in kinds(answered({"c1": word, "c2": word})) if item == "redundant"]
    assert found == ([] if kind is None else [kind])


@pytest.mark.parametrize(("high", "kind"), [(0.0999, "unrelated_to_people"), (0.1001, None)])
def test_a_question_is_unrelated_to_people_when_rho_lies_below_a_tenth(high: float, kind: str | None) -> None:
    run = answered({"c1": drawn(40)})
    [item] = run.questions().values()
    human = Estimate(value=0.0, low=-0.1, high=high, n=40, method="BCa bootstrap over 40 groups")
    found = findings([replace(item, human=human)], [], n_groups=40)
    assert [finding.kind for finding in found] == ([] if kind is None else [kind])


def test_a_question_against_the_others_is_named() -> None:
    first = drawn(100)
    columns = {"c1": changed(first, 0.2, 1), "c2": changed(first, 0.2, 2), "c3": changed(opposite(first), 0.2, 3)}
    found = answered(columns).findings()
    assert [finding.questions for finding in found if finding.kind == "against_others"] == [("c3",)]
    assert found[0].text.startswith(
        "c3: disagrees with the other questions of c: r of its answers with their mean is -0."
    )


def test_people_are_disagreed_with_or_hardly_touched() -> None:
    generator = random.Random(0)
    ratings = [generator.randint(1, 5) for _ in range(600)]
    good = "".join("y" if rating > 2 else "n" for rating in ratings)
    run = answered({"c1": good, "f1": opposite(good), "g1": drawn(600, seed=4)}, human=dict.fromkeys("cfg", ratings))
    against, unrelated = run.findings()
    assert (against.kind, against.questions) == ("against_people", ("f1",))
    assert against.text.startswith("f1: disagrees with people: rho of its answers with their ratings of f is -0.")
    assert (unrelated.kind, unrelated.questions) == ("unrelated_to_people", ("g1",))
    # With 40 examples no one can tell.
    assert answered({"g1": drawn(40, seed=4)}, human={"g": ratings[:40]}).findings() == []


def test_a_judge_harsher_than_people_is_named_for_questions_and_dimensions() -> None:
    run = answered({"c1": "n" * 12 + "yn" * 24}, human={"c": [1] * 30 + [0, 1] * 15})
    labels = {(f"e{i}", "c1", None): rating == 1 for i, rating in enumerate([1] * 30 + [0, 1] * 15)}
    found = [finding for finding in run.findings(labels) if finding.kind == "harsher"]
    # Yes in 24 of 60 against 45 of 60.
    assert found[0].text.startswith("c1: harsher than people: its share of yes less theirs is -0.35 [-0.")
    assert found[1].text.startswith("c: harsher than people: score less rating, both in [0, 1], is -0.35 [-0.")
    assert found[1].questions == ()


def test_a_lenient_judge_is_named_and_a_fair_one_not() -> None:
    assert "more_lenient" in kinds(answered({"c1": "y" * 40 + "n" * 10}, human={"c": [0, 1] * 25}))
    assert "harsher" not in kinds(answered({"c1": "yn" * 25}, human={"c": [1, 0, 0, 1, 1] * 10}))


def test_flips_are_named_where_they_are_many() -> None:
    [finding] = answered({"c1": ["yn", "yy", "nn", "yy"] * 15}).findings()
    assert finding.kind == "flips"
    assert finding.text == "c1: flips between repeats in 25% [16%, 37%] of 60 examples or sentences"
    assert answered({"c1": ["yn"] + ["yy", "nn"] * 12}).findings() == []


def test_a_question_whose_failures_others_catch_is_named() -> None:
    broad, other = drawn(200, 0.4), drawn(200, 0.6, seed=2)
    narrow = "".join("n" if letter == "n" and i % 4 == 0 else "y" for i, letter in enumerate(broad))
    [finding] = answered({"c1": broad, "c2": narrow, "c3": other}).findings()
    assert (finding.kind, finding.questions) == ("nothing_alone", ("c2",))
    n_failed = narrow.count("n")
    assert finding.text == f"c2: catches nothing of its own: others of c catch all its {n_failed} failures"
    some = answered({"c1": broad + "uu", "c2": narrow + "nn", "c3": other + "yy"})
    assert [text for text in texts(some.findings()) if text.startswith("c2")] == [
        f"c2: catches nothing of its own: others of c catch {n_failed} of its {n_failed + 2} failures, "
        "and 2 are open, with others unanswered"
    ]


def test_the_opposite_of_all_others_is_found_though_there_is_no_interval() -> None:
    first = drawn(40)
    run = answered({"c1": first, "c2": opposite(first)})
    rest = run.questions()["c1"].rest
    assert (rest.value, rest.low, rest.method) == (pytest.approx(-1), None, "no interval: all resamples are equal")
    assert texts(run.findings())[:2] == [
        f"{key}: disagrees with the other questions of c: r of its answers with their mean is -1.00 (n = 40)"
        for key in ("c1", "c2")
    ]


@pytest.mark.parametrize(("letter", "kind", "bias"), [("y", "more_lenient", "+1.00"), ("n", "harsher", "-1.00")])
def test_a_judge_always_opposed_to_people_is_found_though_there_is_no_interval(
    letter: str, kind: str, bias: str
) -> None:
    def found(n: int) -> list[str]:
        labels = {(f"e{i}", "c1", None): letter == "n" for i in range(n)}
        run = answered({"c1": letter * n}, human={"c": [float(letter == "n")] * n})
        return [finding.text for finding in run.findings(labels) if finding.kind == kind]

    words = kind.replace("_", " ")
    assert found(5) == [
        f"c1: {words} than people: its share of yes less theirs is {bias} (n = 5)",
        f"c: {words} than people: score less rating, both in [0, 1], is {bias} (n = 5)",
    ]
    assert found(4) == []


def test_the_reverse_of_peoples_ranks_is_found_though_there_is_no_interval() -> None:
    first = drawn(40)
    run = answered({"c1": first}, human={"c": [float(letter == "n") for letter in first]})
    assert texts(run.findings())[0] == (
        "c1: disagrees with people: rho of its answers with their ratings of c is -1.00 (n = 40)"
    )


def test_a_share_that_is_the_same_in_all_groups_is_found_though_there_is_no_interval() -> None:
    groups = [f"g{i // 2}" for i in range(20)]
    unanswered = answered({"c1": "uy" * 5 + "un" * 5}, groups=groups)
    assert texts(unanswered.findings()) == ["c1: often unanswered: 50% of 20 verdicts"]
    flipping = answered({"c1": ["yn", "yy"] * 5 + ["yn", "nn"] * 5}, groups=groups)
    assert texts(flipping.findings()) == ["c1: flips between repeats in 50% of 20 examples or sentences"]
    often_yes = answered({"c1": "y" * 29 + "n" + "y" * 29 + "n" + "y" * 29 + "n" + "y" * 29 + "n" + "y" * 29 + "n"})
    assert often_yes.findings() == []
    grouped = answered({"c1": ("y" * 29 + "n") * 5}, groups=[f"g{i // 30}" for i in range(150)])
    assert texts(grouped.findings()) == ["c1: almost always yes: in 96.7% of 150 examples"]


def test_what_one_question_shows_is_not_enough_among_many() -> None:
    def harsher(n_questions: int) -> list[tuple[str, ...]]:
        # Of 50 answers 12 are no where people say yes, and 3 the other way round: p is about 0.02.
        words = {"c1": "n" * 12 + "y" * 38, **{f"c{i}": drawn(50, 0.8, seed=i) for i in range(2, n_questions + 1)}}
        labels = {(f"e{i}", key, None): letter == "y" for key, word in words.items() for i, letter in enumerate(word)}
        for i in range(50):
            labels[f"e{i}", "c1", None] = i < 12 or i >= 15
        found = answered(words).findings(labels)
        return [finding.questions for finding in found if finding.kind == "harsher"]

    assert harsher(1) == [("c1",)]
    assert harsher(4) == []


@pytest.mark.parametrize("name", ["rest", "human"])
def test_a_narrow_interval_of_a_correlation_is_not_enough_among_many(name: str) -> None:
    def found(n_questions: int) -> list[tuple[str, ...]]:
        items = list(answered({f"c{i}": drawn(60, seed=i) for i in range(n_questions)}).questions().values())
        narrow = Estimate(value=-0.32, low=-0.48, high=-0.13, n=60, method="BCa bootstrap over 60 groups")
        wide = replace(narrow, value=0.0, low=-0.3, high=0.3)
        items = [replace(item, **{name: narrow if i == 0 else wide}) for i, item in enumerate(items)]
        kinds = ("against_others", "against_people")
        return [item.questions for item in findings(items, [], n_groups=60) if item.kind in kinds]

    assert found(1) == [("c0",)]
    assert found(8) == []


def test_runs_in_which_nothing_is_wrong_seldom_have_a_finding() -> None:
    def null(seed: int) -> list[Finding]:
        """Independent questions; people say yes as often, to half of the outputs in any case as the judge does."""
        generator = np.random.default_rng(seed)
        columns, labels, human = {}, {}, {}
        for name in "cfgh":
            answers, others = generator.random((2, 60, 5)) < 0.8
            people = np.where(generator.random((60, 5)) < 0.5, answers, others)
            columns |= {f"{name}{j}": ["y" if yes else "n" for yes in answers[:, j]] for j in range(5)}
            labels |= {(f"e{i}", f"{name}{j}", None): bool(yes) for (i, j), yes in np.ndenumerate(people)}
            human[name] = people.mean(axis=1).tolist()
        return answered(columns, human=human).findings(labels)

    # Without adjusting for twenty questions most have one.
    assert sum(bool(null(seed)) for seed in range(7)) <= 2


def test_the_most_important_comes_first_and_every_finding_has_its_figures() -> None:
    first = drawn(120)
    columns = {"c1": first, "c2": changed(first, 0.02), "c3": "y" * 120, "f1": "u" * 120}
    found = answered(columns).findings()
    assert [finding.kind for finding in found] == ["never_answered", "always_yes", "redundant"]
    assert [KINDS.index(finding.kind) for finding in found] == sorted(KINDS.index(finding.kind) for finding in found)
    assert all(finding.figures for finding in found)
