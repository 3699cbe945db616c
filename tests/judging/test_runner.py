import dataclasses
import itertools
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from bineval.errors import BudgetExceeded, ModelAuthError, ModelBusyError, ModelRequestError
from bineval.judging.chat import ChatJudge, ChatSettings, Mode
from bineval.judging.runner import Progress, execute, is_unanswered, pending_tasks
from bineval.judging.units import Units
from bineval.models.base import Model
from bineval.models.budget import Budget, Budgeted
from bineval.models.cache import Cached
from bineval.models.scripted import Scripted
from bineval.store.database import Store
from bineval.store.replies import StoredReplies
from bineval.store.runs import Settled, StoredRun, begin_run, find_run
from bineval.types import Checklist, Example, Question, Request, Usage, Verdict, VerdictRow
from support.asking import CHECKLIST, Replies, answer, answers, deciding, interrupt
from support.budgets import spent_ledger

EXAMPLES = [Example(id=f"e{i}", output=f"text {i}") for i in range(6)]
MODES: list[Mode] = ["independent", "dimension", "all"]
N_CALLS = {"independent": 18, "dimension": 12, "all": 6}
MODEL = "scripted/judge"


@dataclass
class Bench:
    """A store in which runs are begun, cut off and resumed."""

    store: Store
    progress: list[Progress] = field(default_factory=list)

    def sitting(
        self,
        model: Model,
        *,
        name: str = "run",
        examples: Sequence[Example] = EXAMPLES,
        mode: Mode = "independent",
        repeats: int = 1,
        n_threads: int = 4,
        budget: Budget | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        checklist: Checklist = CHECKLIST,
    ) -> list[VerdictRow]:
        """Begins or resumes a run, and returns its rows; whatever ends it is raised."""
        run = self.run(name, checklist)
        replies = StoredReplies(self.store, run_id=run.id, uncounted=run.uncounted_replies())
        if budget is not None:
            model = Budgeted(model, spent_ledger(budget, run.usage()))
        judge = ChatJudge(Cached(model, replies), task=None, settings=ChatSettings(mode=mode))
        tell = on_progress or self.progress.append
        execute(run, examples, judge, repeats=repeats, n_threads=n_threads, on_progress=tell)
        return list(run.rows())

    def run(self, name: str = "run", checklist: Checklist = CHECKLIST) -> StoredRun:
        with self.store.reading() as connection:
            exists = connection.exec_driver_sql("SELECT 1 FROM runs WHERE name = ?", (name,)).scalar()
        if exists:
            return find_run(self.store, name)
        return begin_run(self.store, name, identity={}, facts={}, checklist=checklist)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Store(tmp_path / "store.db") as store:
        yield Bench(store)


def counting(decide: Callable[[str, str], object] = lambda *_: "yes") -> tuple[Scripted, list[tuple[str, str]]]:
    """A judge, and what it was really asked: outputs with questions."""
    asked: list[tuple[str, str]] = []

    def noted(output: str, question: str) -> object:
        asked.append((output, question))
        return decide(output, question)

    return deciding(noted, MODEL), asked


def by_content(output: str, question: str) -> str:
    return "yes" if (len(output) + len(question) + int(output[-1])) % 3 else "no"


def facts(rows: list[VerdictRow]) -> list[tuple[object, ...]]:
    return [(r.example_id, r.question_id, r.dimension, r.repeat, r.verdict.answer, r.verdict.reason) for r in rows]


# A whole run


@pytest.mark.parametrize("mode", MODES)
def test_every_question_of_every_example_gets_its_verdict_in_order(bench: Bench, mode: Mode) -> None:
    model, asked = counting(lambda output, _: "no" if output == "text 2" else "yes")
    rows = bench.sitting(model, mode=mode)
    expected = [(example.id, question.id) for example in EXAMPLES for question in CHECKLIST.questions]
    assert [(row.example_id, row.question_id) for row in rows] == expected
    assert [row.dimension for row in rows[:3]] == ["consistency", "consistency", "fluency"]
    assert {row.example_id for row in rows if row.verdict.answer == "no"} == {"e2"}
    assert len(asked) == 18
    assert bench.run().usage().calls == N_CALLS[mode]


def test_rows_are_the_same_at_concurrency_1_and_16(bench: Bench) -> None:
    # Fixed delays that have nothing to do with the order of asking.
    delays = {f"text {i}": random.Random(i).random() / 100 for i in range(6)}

    def slowly(output: str, question: str) -> str:
        time.sleep(delays[output])
        return by_content(output, question)

    one = bench.sitting(deciding(slowly, "scripted/one"), name="one", n_threads=1, repeats=2)
    many = bench.sitting(deciding(slowly, "scripted/many"), name="many", n_threads=16, repeats=2)
    assert facts(one) == facts(many)
    assert [row.verdict.usage for row in one] == [row.verdict.usage for row in many]


def test_repeats_are_rows_of_their_own(bench: Bench) -> None:
    def flips(request: Request) -> str:
        return answers({"con-1": "yes" if request.repeat % 2 else "no", "con-2": "yes", "flu-1": "yes"})

    rows = bench.sitting(Scripted.from_function(flips), examples=EXAMPLES[:1], mode="all", repeats=3)
    assert [(row.question_id, row.repeat, row.verdict.answer) for row in rows[:3]] == [
        ("con-1", 0, "no"),
        ("con-1", 1, "yes"),
        ("con-1", 2, "no"),
    ]
    assert len(rows) == 9
    assert not any(row.verdict.cached for row in rows)


def test_the_usage_of_all_rows_adds_up_to_what_was_paid(bench: Bench) -> None:
    rows = bench.sitting(deciding(by_content), mode="all")
    assert sum((row.verdict.usage for row in rows), Usage()) == bench.run().usage()
    assert bench.progress[-1].usage == bench.run().usage()


def test_progress_counts_from_nothing_to_everything(bench: Bench) -> None:
    answers_of = {"con-1": "yes", "con-2": "not_applicable", "flu-1": "perhaps"}
    bench.sitting(deciding(lambda _, key: answers_of[key]), mode="all", n_threads=2)
    first, last = bench.progress[0], bench.progress[-1]
    assert (first.n_done, first.n_planned) == (0, 18)
    assert (last.n_done, last.n_fresh, last.n_unanswered, last.n_cached) == (18, 18, 6, 0)
    done = [progress.n_done for progress in bench.progress]
    assert done == sorted(done)


def test_a_second_run_over_the_same_questions_is_cached_and_costs_nothing(bench: Bench) -> None:
    model, asked = counting(by_content)
    first = bench.sitting(model, name="first")
    second = bench.sitting(model, name="second")
    assert facts(first) == facts(second)
    assert len(asked) == 18
    assert all(row.verdict.cached and row.verdict.usage == Usage() for row in second)
    assert not any(row.verdict.cached for row in first)
    assert bench.run("second").usage() == Usage()


# Questions of each sentence

TRUE = Question(id="true", text="Is it true?", dimension="consistency", per="sentence")
BY_SENTENCE = dataclasses.replace(CHECKLIST, questions=(TRUE, *CHECKLIST.questions[:1]))
SENTENCES = [Example(id="a", output="One is. Two is. Three is."), Example(id="b", output="")]


def by_sentence(asked: list[str | None], *, fails: str | None = None) -> Scripted:
    """A judge that says no to sentences that hold "Two"; it notes each sentence, None for the whole."""

    def reply(request: Request) -> str:
        text = request.messages[1].content
        found = re.search(r"<<<BEGIN SENTENCE>>>\n(.*)\n<<<END SENTENCE>>>", text)
        sentence = found[1] if found else None
        if sentence is not None and sentence == fails:
            raise ModelRequestError("too long", model=MODEL)
        asked.append(sentence)
        return answer("no" if sentence and "Two" in sentence else "yes")

    return Scripted.from_function(reply, MODEL)


def test_a_question_per_sentence_has_a_row_for_each_sentence_and_repeat(bench: Bench) -> None:
    asked: list[str | None] = []
    rows = bench.sitting(by_sentence(asked), checklist=BY_SENTENCE, examples=SENTENCES, repeats=2)
    assert [(r.example_id, r.question_id, r.unit, r.sentence, r.repeat, r.verdict.answer) for r in rows] == [
        ("a", "true", 0, "One is.", 0, "yes"),
        ("a", "true", 0, "One is.", 1, "yes"),
        ("a", "true", 1, "Two is.", 0, "no"),
        ("a", "true", 1, "Two is.", 1, "no"),
        ("a", "true", 2, "Three is.", 0, "yes"),
        ("a", "true", 2, "Three is.", 1, "yes"),
        ("a", "con-1", None, None, 0, "yes"),
        ("a", "con-1", None, None, 1, "yes"),
        ("b", "true", 0, "", 0, "yes"),
        ("b", "true", 0, "", 1, "yes"),
        ("b", "con-1", None, None, 0, "yes"),
        ("b", "con-1", None, None, 1, "yes"),
    ]
    assert {row.dimension for row in rows} == {"consistency"}
    assert (bench.progress[0].n_planned, bench.progress[-1].n_done) == (12, 12)


def test_a_resumed_run_asks_only_the_sentences_that_are_missing(bench: Bench) -> None:
    asked: list[str | None] = []
    with pytest.raises(BudgetExceeded):
        bench.sitting(
            by_sentence(asked), checklist=BY_SENTENCE, examples=SENTENCES, n_threads=1, budget=Budget(max_calls=2)
        )
    bench.sitting(by_sentence(asked, fails="Three is."), checklist=BY_SENTENCE, examples=SENTENCES, n_threads=1)
    assert asked == ["One is.", "Two is.", None, "", None]
    rows = bench.sitting(by_sentence(asked), checklist=BY_SENTENCE, examples=SENTENCES)
    assert asked[5:] == ["Three is."]
    assert [row.verdict.answer for row in rows] == ["yes", "no", "yes", "yes", "yes", "yes"]


def test_sentences_asked_in_one_call_keep_their_answers_apart(bench: Bench) -> None:
    replies = Replies(answers({"true/3": "no", "con-1": "yes", "true/1": "yes", "true/2": "no"}))
    rows = bench.sitting(replies.model, checklist=BY_SENTENCE, examples=SENTENCES[:1], mode="all")
    assert [(row.question_id, row.unit, row.verdict.answer) for row in rows] == [
        ("true", 0, "yes"),
        ("true", 1, "no"),
        ("true", 2, "no"),
        ("con-1", None, "yes"),
    ]


# What ends a run early


def test_an_error_that_stops_keeps_what_was_finished_and_notes_how_much(bench: Bench) -> None:
    n_asked = 0

    def decide(output: str, _: str) -> str:
        nonlocal n_asked
        n_asked += 1
        if n_asked >= 10:
            raise ModelAuthError("out of quota", model=MODEL)
        return "yes"

    with pytest.raises(ModelAuthError) as caught:
        bench.sitting(deciding(decide, MODEL), n_threads=1)
    assert len(list(bench.run().rows())) == 9
    assert any("9 of 18 verdicts are kept in run run" in note for note in caught.value.__notes__)
    model, asked = counting()
    assert len(bench.sitting(model)) == 18
    assert len(asked) == 9


def test_a_wrong_key_is_met_by_one_call_and_leaves_nothing(bench: Bench) -> None:
    def decide(output: str, _: str) -> str:
        raise ModelAuthError("wrong key", model=MODEL)

    model, asked = counting(decide)
    with pytest.raises(ModelAuthError):
        bench.sitting(model, n_threads=16)
    assert len(asked) == 1
    assert bench.run().n_verdicts() == 0


def test_a_budget_that_is_reached_keeps_what_was_paid(bench: Bench) -> None:
    model, asked = counting()
    with pytest.raises(BudgetExceeded) as caught:
        bench.sitting(model, budget=Budget(max_calls=7))
    assert len(asked) == 7
    assert bench.run().n_settled() == caught.value.finished == 7
    assert any("7 of 18" in note for note in caught.value.__notes__)
    bench.sitting(model)
    assert len(asked) == 18


def test_a_model_that_is_unreachable_for_a_while_leaves_errors_that_are_asked_again(bench: Bench) -> None:
    is_down = True

    def decide(output: str, _: str) -> str:
        if is_down and output in ("text 2", "text 3"):
            raise ModelBusyError("HTTP 503", model=MODEL)
        return "yes"

    model, asked = counting(decide)
    rows = bench.sitting(model)
    failed = [row for row in rows if row.verdict.reason == "error"]
    assert [row.example_id for row in failed] == ["e2"] * 3 + ["e3"] * 3
    assert bench.run().n_settled() == 12
    assert bench.progress[-1].n_unanswered == 6

    is_down = False
    asked.clear()
    rows = bench.sitting(model)
    assert sorted(output for output, _ in asked) == ["text 2"] * 3 + ["text 3"] * 3
    assert [row.verdict.answer for row in rows] == ["yes"] * 18
    assert not any(row.verdict.cached for row in rows)


def test_a_model_that_stays_unreachable_stops_the_run_with_everything_before_it_kept(bench: Bench) -> None:
    def decide(output: str, _: str) -> str:
        if output != "text 0":
            raise ModelBusyError("HTTP 503", model=MODEL)
        return "yes"

    model, asked = counting(decide)
    with pytest.raises(ModelBusyError) as caught:
        bench.sitting(model, n_threads=1)
    assert len(asked) in (3 + 9, 3 + 9 + 1)  # one more may have been under way
    assert bench.run().n_settled() == 3
    assert any("3 of 18" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("mode", MODES)
def test_an_interruption_loses_nothing(bench: Bench, mode: Mode) -> None:
    turns = itertools.count(1)

    def decide(output: str, _: str) -> str:
        turn = next(turns)
        time.sleep(0.005)
        if turn == 7:
            interrupt()
        return by_content(output, "")

    model, asked = counting(decide)
    with pytest.raises(KeyboardInterrupt):
        bench.sitting(model, mode=mode, n_threads=3)
    assert bench.progress[-1].stopping
    kept = bench.run().n_settled()
    assert 0 < kept < 18
    rows = bench.sitting(model, mode=mode)
    assert len(asked) == 18
    other = bench.sitting(deciding(lambda output, _: by_content(output, ""), "scripted/other"), name="other", mode=mode)
    assert facts(rows) == facts(other)
    assert bench.run().usage().calls == N_CALLS[mode]
    assert not any(row.verdict.cached for row in rows)


def test_impatient_interruptions_while_verdicts_are_saved_leave_no_half_done_transaction(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bineval.judging.runner._SAVE_AFTER_ROWS", 1)
    pressed_in: list[threading.Thread] = []

    def press(*_: object) -> None:
        pressed_in.append(threading.current_thread())
        interrupt()
        time.sleep(0.01)

    def press_when_saving(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO verdicts") and not pressed_in:
            press()

    def press_when_undoing(connection: object) -> None:
        if pressed_in == [threading.current_thread()]:
            press()

    engine = bench.store._engine
    sa.event.listen(engine, "before_cursor_execute", press_when_saving)
    sa.event.listen(engine, "rollback", press_when_undoing)
    model, asked = counting()
    with pytest.raises(KeyboardInterrupt):
        bench.sitting(model)
    assert bench.run().n_settled() > 0
    assert len(bench.sitting(model)) == len(asked) == 18


def test_a_fault_of_whoever_watches_the_progress_loses_nothing_either(bench: Bench) -> None:
    def watch(progress: Progress) -> None:
        if progress.n_done == 5:
            raise RuntimeError("a bug")

    model, asked = counting()
    with pytest.raises(RuntimeError):
        bench.sitting(model, n_threads=2, on_progress=watch)
    n_kept = bench.run().n_settled()
    assert n_kept == 5
    time.sleep(0.1)
    assert len(asked) <= n_kept + 4  # nothing more is sent


# Resuming


@pytest.mark.parametrize("mode", MODES)
def test_a_resumed_run_asks_only_what_is_missing(bench: Bench, mode: Mode) -> None:
    cut = {"independent": 8, "dimension": 5, "all": 2}[mode]
    model, asked = counting(by_content)
    with pytest.raises(BudgetExceeded):
        bench.sitting(model, mode=mode, n_threads=1, budget=Budget(max_calls=cut))
    before = list(asked)
    rows = bench.sitting(model, mode=mode)
    assert not set(before) & set(asked[len(before) :])
    assert len(asked) == len(rows) == 18
    assert bench.run().usage().calls == N_CALLS[mode]


def test_of_a_batch_only_the_questions_that_failed_are_asked_again(bench: Bench) -> None:
    replies = Replies(
        answers({"con-1": "yes", "flu-1": "no"}),
        ModelRequestError("too long", model=MODEL),
        answers({"con-2": "no"}),
    )
    rows = bench.sitting(replies.model, examples=EXAMPLES[:1], mode="all")
    assert [row.verdict.answer or row.verdict.reason for row in rows] == ["yes", "error", "no"]
    rows = bench.sitting(replies.model, examples=EXAMPLES[:1], mode="all")
    assert [row.verdict.answer for row in rows] == ["yes", "no", "no"]
    assert "- id con-1:" not in replies.users[2]
    # The first call is still paid for, by the questions that it answered.
    assert bench.run().usage().calls == 2
    sent = [replies.requests[0], replies.requests[2]]
    assert bench.run().usage().input_tokens == sum(replies.model.count_tokens(request) for request in sent)


def test_what_is_unparsed_refused_or_truncated_is_not_asked_again(bench: Bench) -> None:
    model, asked = counting(lambda *_: "perhaps")
    rows = bench.sitting(model)
    assert {row.verdict.reason for row in rows} == {"unparsed"}
    n_asked = len(asked)
    assert facts(bench.sitting(model)) == facts(rows)
    assert len(asked) == n_asked


def test_a_resumed_run_that_is_finished_asks_nothing_and_changes_nothing(bench: Bench) -> None:
    rows = bench.sitting(deciding(by_content, MODEL))
    assert bench.sitting(Replies().model) == rows
    assert bench.progress[-1].n_fresh == 0


def test_more_examples_extend_a_run(bench: Bench) -> None:
    model, asked = counting()
    bench.sitting(model, examples=EXAMPLES[:2])
    rows = bench.sitting(model)
    assert len(asked) == len(rows) == 18
    assert [row.example_id for row in rows] == [example.id for example in EXAMPLES for _ in range(3)]


@pytest.mark.parametrize("mode", MODES)
def test_totals_of_a_resumed_run_are_those_of_an_uninterrupted_one(bench: Bench, mode: Mode) -> None:
    whole = bench.sitting(counting(by_content)[0], name="whole", mode=mode)
    with Store(Path(bench.store.place).with_name("other.db")) as store:
        other = Bench(store)
        for n_calls in (1, 3, 5, 11, 20):
            try:
                other.sitting(counting(by_content)[0], mode=mode, n_threads=2, budget=Budget(max_calls=n_calls))
            except BudgetExceeded:
                continue
        assert other.run().usage() == bench.run("whole").usage()
        assert list(other.run().rows()) == whole


def test_a_reply_that_was_paid_before_an_interruption_is_the_runs_own_and_counted_once(bench: Bench) -> None:
    """The process dies between the reply, which is in the cache, and the verdict, which is not saved."""
    run = bench.run()
    model, asked = counting()
    judge = ChatJudge(Cached(model, StoredReplies(bench.store, run_id=run.id)), task=None)
    (lost,) = judge.ask(EXAMPLES[0], CHECKLIST.questions[:1])
    assert (run.n_verdicts(), len(asked)) == (0, 1)

    rows = bench.sitting(model, examples=EXAMPLES[:1])
    assert len(asked) == 3
    assert not any(row.verdict.cached for row in rows)
    assert rows[0].verdict == lost
    assert bench.run().usage().calls == 3
    # For another run the same reply is another's work.
    other = bench.sitting(model, name="other", examples=EXAMPLES[:1])
    assert all(row.verdict.cached for row in other)
    assert bench.run("other").usage() == Usage()


def test_equal_outputs_share_one_call_and_all_get_their_verdict(bench: Bench) -> None:
    twins = [Example(id=name, output="text 0") for name in "abc"]
    model, asked = counting()
    rows = bench.sitting(model, examples=twins, n_threads=1)
    assert len(asked) == 3
    assert [row.verdict.answer for row in rows] == ["yes"] * 9
    assert [row.verdict.cached for row in rows] == [False] * 3 + [True] * 6
    assert bench.run().usage().calls == 3


# Parts


def test_pending_tasks_come_example_by_example_with_repeats_in_turn() -> None:
    judge = ChatJudge(Replies(answer("yes")).model, task=None, settings=ChatSettings(mode="dimension"))
    done: set[Settled] = {(0, None, 0), (1, None, 0), (2, None, 1)}
    tasks = pending_tasks(
        Units(CHECKLIST), EXAMPLES[:2], judge, repeats=2, settled=lambda at: done if at == 0 else set()
    )
    assert [(task.position, task.repeat, [item.place for item in task.questions]) for task in tasks] == [
        (0, 0, [2]),
        (0, 1, [0, 1]),
        (1, 0, [0, 1]),
        (1, 0, [2]),
        (1, 1, [0, 1]),
        (1, 1, [2]),
    ]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict(answer="no"), False),
        (Verdict(answer=None, reason="not_applicable"), False),
        (Verdict(answer=None, reason="unparsed"), True),
        (Verdict(answer=None, reason="error"), True),
    ],
)
def test_not_applicable_is_not_unanswered(verdict: Verdict, expected: bool) -> None:
    assert is_unanswered(verdict) == expected
