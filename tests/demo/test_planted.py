import pytest

from bineval.demo.planted import PlantedCounts, count_planted, planted_questions
from bineval.errors import DataError
from bineval.types import Answer, Example, Verdict, VerdictRow


def example(example_id: str, *planted: str) -> Example:
    return Example(id=example_id, output="text", metadata={"planted": list(planted)})


def row(example_id: str, question_id: str, answer: Answer | None, *, repeat: int = 0) -> VerdictRow:
    verdict = Verdict(answer=answer, reason="unparsed" if answer is None else None)
    return VerdictRow(example_id=example_id, question_id=question_id, dimension="d", repeat=repeat, verdict=verdict)


EXAMPLES = [example("flawed", "q1", "q2", "q3"), example("sound")]


@pytest.mark.parametrize(
    ("example_id", "question_id", "answer", "counted"),
    [
        ("flawed", "q1", "no", "n_found"),
        ("flawed", "q1", "yes", "n_missed"),
        ("flawed", "q1", None, "n_planted_unanswered"),
        ("flawed", "q4", "yes", "n_passed"),
        ("flawed", "q4", "no", "n_false_alarms"),
        ("flawed", "q4", None, "n_sound_unanswered"),
        ("sound", "q1", "yes", "n_passed"),
        ("sound", "q1", "no", "n_false_alarms"),
        ("sound", "q1", None, "n_sound_unanswered"),
    ],
)
def test_each_verdict_is_counted_in_exactly_one_place(
    example_id: str, question_id: str, answer: Answer | None, counted: str
) -> None:
    assert count_planted(EXAMPLES, [row(example_id, question_id, answer)]) == PlantedCounts(**{counted: 1})


def test_a_run_is_counted_as_by_hand() -> None:
    rows = [
        *(row("flawed", "q1", "no"), row("flawed", "q2", "yes"), row("flawed", "q3", None), row("flawed", "q4", "no")),
        *(row("sound", "q1", "yes"), row("sound", "q2", "yes"), row("sound", "q3", None), row("sound", "q4", "no")),
    ]
    counts = count_planted(EXAMPLES, rows)
    # Planted: q1 found, q2 missed, q3 unanswered. Sound: q4 of the first and all of the second.
    assert (counts.n_planted, counts.n_found, counts.n_missed, counts.n_planted_unanswered) == (3, 1, 1, 1)
    assert (counts.n_sound, counts.n_passed, counts.n_false_alarms, counts.n_sound_unanswered) == (5, 2, 2, 1)


def test_a_flaw_that_was_not_asked_about_is_not_counted() -> None:
    assert count_planted(EXAMPLES, [row("flawed", "q1", "no")]).n_planted == 1
    assert count_planted(EXAMPLES, []) == PlantedCounts()


def test_every_repeat_is_counted() -> None:
    rows = [row("flawed", "q1", answer, repeat=repeat) for repeat, answer in enumerate(("no", "yes", "no"))]
    assert count_planted(EXAMPLES, rows) == PlantedCounts(n_found=2, n_missed=1)


def test_counts_of_tasks_add_up_field_by_field() -> None:
    one = PlantedCounts(
        n_found=1, n_missed=2, n_planted_unanswered=3, n_passed=4, n_false_alarms=5, n_sound_unanswered=6
    )
    two = PlantedCounts(
        n_found=10, n_missed=20, n_planted_unanswered=30, n_passed=40, n_false_alarms=50, n_sound_unanswered=60
    )
    total = sum([one, two], PlantedCounts())
    assert total == PlantedCounts(
        n_found=11, n_missed=22, n_planted_unanswered=33, n_passed=44, n_false_alarms=55, n_sound_unanswered=66
    )
    assert (total.n_planted, total.n_sound) == (66, 165)


def test_a_verdict_about_an_unknown_example_is_refused() -> None:
    with pytest.raises(DataError, match="'other', which is not among the examples"):
        count_planted(EXAMPLES, [row("other", "q1", "no")])


@pytest.mark.parametrize("metadata", [{}, {"planted": None}, {"planted": "q1"}, {"planted": [1]}])
def test_an_example_that_does_not_say_what_is_planted_is_not_taken_for_sound(metadata: dict[str, object]) -> None:
    with pytest.raises(DataError, match="'e1' does not say what is planted"):
        planted_questions(Example(id="e1", output="text", metadata=metadata))  # type: ignore[arg-type]
