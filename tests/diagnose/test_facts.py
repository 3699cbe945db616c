from bineval.diagnose import QuestionFacts, question_facts
from bineval.types import Reason, Verdict, VerdictRow

REASONS: dict[str, Reason] = {"u": "unparsed", "-": "not_applicable", "e": "error"}


def rows(**examples: dict[str, str]) -> list[VerdictRow]:
    """Rows as a run yields them: by example, question and repeat; a letter is a verdict."""
    return [
        VerdictRow(
            example_id=example, question_id=question, dimension=question[0], repeat=repeat, verdict=verdict(letter)
        )
        for example, words in examples.items()
        for question, word in words.items()
        for repeat, letter in enumerate(word)
    ]


def verdict(letter: str) -> Verdict:
    if letter in REASONS:
        return Verdict(answer=None, reason=REASONS[letter])
    return Verdict(answer="yes" if letter == "y" else "no")


def facts_of(question: str, **examples: str) -> QuestionFacts:
    (facts,) = question_facts(rows(**{name: {question: word} for name, word in examples.items()}))
    return facts


def test_answers_are_counted_repeat_by_repeat_and_failures_example_by_example() -> None:
    facts = facts_of("c1", a="yn", b="nn", c="yy")
    assert (facts.n_yes, facts.n_no, facts.failed) == (3, 3, ("a", "b"))
    assert facts.fail_rate == 0.5  # 3 of 6


def test_flips_are_counted_among_examples_with_two_answers() -> None:
    facts = facts_of("c1", a="yny", b="yy", c="y", d="yu", e="nu n".replace(" ", ""))
    # Two answers at least: a, b and e; of these only a does not agree with itself.
    assert (facts.n_repeated, facts.n_flipped) == (3, 1)
    assert facts.flip_rate == 1 / 3


def test_sentences_are_counted_one_by_one_and_an_example_fails_once() -> None:
    # Sentences of a: yn, n, yy; of b: y. An example of the whole output would have flipped in "yn" + "n" + "yy".
    facts = question_facts(
        VerdictRow(example_id=example, question_id="s", dimension="d", unit=unit, repeat=i, verdict=verdict(letter))
        for example, units in (("a", ["yn", "n", "yy"]), ("b", ["y"]))
        for unit, word in enumerate(units)
        for i, letter in enumerate(word)
    )
    assert [(f.n_yes, f.n_no, f.failed, f.n_repeated, f.n_flipped) for f in facts] == [(4, 2, ("a",), 2, 1)]


def test_what_does_not_apply_is_not_unanswered() -> None:
    facts = facts_of("c1", a="y", b="-", c="u", d="e")
    assert facts.reasons == {"not_applicable": 1, "unparsed": 1, "error": 1}
    assert facts.n_unanswered == 2
    assert facts.fail_rate == 0.0


def test_without_answers_the_rates_are_undefined() -> None:
    facts = facts_of("c1", a="u", b="-")
    assert (facts.fail_rate, facts.flip_rate, facts.failed) == (None, None, ())


def test_questions_come_in_the_order_of_their_first_verdict() -> None:
    facts = question_facts(rows(a={"c1": "y", "f1": "n"}, b={"c1": "n", "c2": "y", "f1": "n"}))
    assert [item.question_id for item in facts] == ["c1", "f1", "c2"]
    assert [item.dimension for item in facts] == ["c", "f", "c"]
    assert [item.failed for item in facts] == [("b",), ("a", "b"), ()]
    assert question_facts([]) == []
