from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bineval.errors import ConfigError, DataError, TemplateError
from bineval.judging.plans import SingleJudge
from bineval.judging.runs import Run
from bineval.models.scripted import Scripted
from bineval.optimize.improve import Improvement, improve
from bineval.optimize.loop import LoopSettings
from bineval.store.database import Store
from bineval.types import Request
from support.letters import CHECKLIST, LESSONS, START, inputs, judge, notes, write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.db") as store:
        yield store


def improvement(note_taker: Scripted, **more: object) -> Improvement:
    return replace(
        Improvement(
            examples=inputs(),
            checklist=CHECKLIST,
            instructions=START,
            generator=Scripted.from_function(write, "scripted/writer"),
            judge=SingleJudge(model=Scripted.from_function(judge, "scripted/judge")),
            note_taker=note_taker,
            n_train=20,
            n_dev=20,
            settings=LoopSettings(most_growth=5),
        ),
        **more,  # type: ignore[arg-type]
    )


def test_what_outputs_fail_gets_into_the_instructions(store: Store) -> None:
    record = improve(improvement(notes(LESSONS)), store, "letters")
    assert set(record.best_rules.splitlines()) == {START, "Say Hello.", "Say Thank you."}
    assert record.objective == "mean overall score"
    assert record.test is not None
    # Of three questions only the topic is answered with yes at first.
    assert record.test.start.value == pytest.approx(1 / 3)
    assert record.test.best.value == 1.0
    assert record.test.gain.direction == "above"
    assert record.test.by_question == {"greeting": (0.0, 1.0), "thanks": (0.0, 1.0), "topic": (1.0, 1.0)}
    assert record.ending == "nothing left to gain"


def test_outputs_of_each_version_are_kept_and_can_be_compared(store: Store) -> None:
    improve(improvement(notes(LESSONS)), store, "letters")
    from bineval.store.runs import run_names

    names = [name for name in run_names(store) if name.startswith("letters/test/")]
    assert len(names) == 2
    outputs = {next(iter(Run.open(store, name).examples())).output.split()[0] for name in names}
    assert "Hello" in outputs
    assert any(output.startswith("topic") for output in outputs)


def test_instructions_that_gain_here_and_lose_there_are_refused(store: Store) -> None:
    lessons = {"greeting": "Say Hello. Say Thank you. Be brief."}
    record = improve(improvement(notes(lessons)), store, "brief")
    assert record.best_rules == START
    assert any(reason.startswith("content loses beyond noise") for reason in record.iterations[0].refusals)


def test_a_second_sitting_pays_for_nothing_and_ends_the_same(store: Store) -> None:
    calls = []

    def counted(request: Request) -> str:
        calls.append(request)
        return write(request)

    job = improvement(
        notes(LESSONS),
        generator=Scripted.from_function(counted, "scripted/counted"),
    )
    first = improve(job, store, "again")
    n_calls = len(calls)
    assert improve(job, store, "again") == first
    assert len(calls) == n_calls


def test_what_does_not_fit_is_said_at_once(store: Store) -> None:
    good = improvement(notes({}))
    with pytest.raises(DataError, match=r"letters\.jsonl: .*example 'e0' has no input to write for"):
        improve(
            replace(good, examples=[replace(item, input=None) for item in inputs()]), store, "n", source="letters.jsonl"
        )
    with pytest.raises(TemplateError, match="rules must be text without a title"):
        improve(replace(good, instructions="Hi\n## user\nHo"), store, "n")
    improve(replace(good, settings=LoopSettings(iterations=1)), store, "n")
    with pytest.raises(ConfigError, match="loop 'n' is there already, with other prompt"):
        improve(replace(good, settings=LoopSettings(iterations=1), instructions="Write."), store, "n")
