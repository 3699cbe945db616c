from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bineval.judging.runs import Run
from bineval.methods.evaluate import evaluate
from bineval.optimize.migration import Migration, migration
from support.probable import CHECKLIST, OPTIONS, chance, examples, probable

N = 40


@pytest.fixture
def open_runs() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def compared(runs: ExitStack, folder: Path, new: object) -> Migration:
    def run(judge: object, name: str) -> Run:
        return runs.enter_context(
            evaluate(examples(N), CHECKLIST, judge=judge, name=name, store=folder / "s.db", options=OPTIONS)  # type: ignore[arg-type]
        )

    return migration(run(probable(lambda p, _: p, "scripted/old"), "old"), run(new, "new"))


def test_each_question_has_its_agreement_and_shift(open_runs: ExitStack, tmp_path: Path) -> None:
    # Whether it is true: yes above 0.7, not 0.5, so four of twenty chances change (0.525 to 0.675). The rest as before.
    stricter = probable(lambda p, question: p - 0.2 if "true" in question else p, "scripted/stricter")
    report = compared(open_runs, tmp_path, stricter)
    assert (report.old, report.new) == ("scripted/old", "scripted/stricter")
    truth, kind, calm = report.questions
    assert (truth.question_id, truth.n, truth.n_lost) == ("tru-1", N, 0)
    assert (truth.old_yes, truth.new_yes) == (0.5, pytest.approx(0.3))
    assert truth.agreement.value == pytest.approx(0.8)
    assert truth.shift.value == pytest.approx(-0.2)
    assert (truth.direction, truth.breaks) == ("stricter", True), "32 of 40 is at most 0.895"
    for same in (kind, calm):
        assert (same.agreement.value, same.shift.value, same.p_value, same.direction) == (1, 0, 1, "unclear")
    assert report.all.n == 3 * N
    assert report.all.agreement.value == pytest.approx(1 - 0.2 / 3)


def test_answers_that_are_lost_are_counted_and_are_no_disagreement(open_runs: ExitStack, tmp_path: Path) -> None:
    silent = probable(lambda p, question: None if "true" in question and p < 0.25 else p, "scripted/silent")
    [truth, *_] = compared(open_runs, tmp_path, silent).questions
    assert (truth.n, truth.n_lost) == (30, 10)
    assert truth.agreement.value == 1.0
    assert truth.old_yes == pytest.approx(20 / 30)


def test_a_question_that_is_answered_otherwise_breaks(open_runs: ExitStack, tmp_path: Path) -> None:
    contrary = probable(lambda p, question: 1 - p if "kind" in question else p, "scripted/contrary")
    report = compared(open_runs, tmp_path, contrary)
    assert [item.breaks for item in report.questions] == [False, True, False]
    # As many become yes as become no.
    assert report.questions[1].direction == "unclear"
    assert chance(0) == 0.025
