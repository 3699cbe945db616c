from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, StoreError
from bineval.judging.chat import ChatSettings
from bineval.judging.plans import JudgeOptions, SingleJudge
from bineval.models.base import Model
from bineval.models.cache import reply_key
from bineval.models.scripted import Scripted
from bineval.optimize.align import Alignment, align
from bineval.optimize.loop import LoopSettings
from bineval.optimize.record import record_from_json
from bineval.store.database import Store
from bineval.store.loops import find_loop
from bineval.types import Request
from support.planted import CHECKLIST, LESSONS, PROMPT, RIGHT, RULES, WRONG, examples, note_taker, source, target, truth

N = 240


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store(tmp_path / "s.db") as store:
        yield store


def prompted(judge: SingleJudge, folder: Path) -> SingleJudge:
    path = folder / "judge.md"
    path.write_text(PROMPT)
    return replace(judge, options=JudgeOptions(chat=ChatSettings(prompts={"judge_one": path})))


def alignment(folder: Path, judge: SingleJudge | None = None, writer: Model | None = None, **more: Any) -> Alignment:
    return Alignment(
        examples=examples(N),
        checklist=CHECKLIST,
        target=prompted(judge or target(), folder),
        source=source(),
        writer=writer or note_taker(),
        **more,
    )


def test_a_judge_with_three_wrong_rules_is_repaired_on_train_dev_and_test(tmp_path: Path, store: Store) -> None:
    record = align(alignment(tmp_path), store, "repair")
    assert all(rule not in record.best_rules for rule in WRONG.values())
    assert record.best_rules == RULES.replace(WRONG["polite"], RIGHT["polite"]).replace(
        WRONG["short"], RIGHT["short"]
    ).replace(WRONG["number"], RIGHT["number"])
    assert record.test is not None
    assert record.test.start.value is not None
    assert record.test.start.value < 0.8
    assert record.test.best.value == 1.0
    assert record.test.gain.direction == "above"
    assert set(record.test.by_question) == {"polite", "short", "number"}
    assert all(after == 1.0 for _, after in record.test.by_question.values())
    assert record.ending == "nothing left to gain"
    assert record.n_examples == {"train": 60, "dev": 60, "test": 120}
    assert record_from_json(find_loop(store, "repair").record) == record


def test_the_record_tells_which_lesson_changed_which_words_and_what_that_did(tmp_path: Path, store: Store) -> None:
    record = align(alignment(tmp_path), store, "story")
    [first, *_] = record.iterations
    assert first.n_cases > first.n_shown == 24
    change = next(change for change in first.changes if change.find == WRONG["polite"])
    assert (change.lessons, change.replace, change.problem) == (("Politeness needs no title.",), RIGHT["polite"], None)
    lesson = next(lesson for lesson in first.memory if lesson.text == "Politeness needs no title.")
    assert lesson.state == "applied"
    assert {question for _, question in lesson.cases} == {"polite"}
    before, after = first.by_question["polite"]
    assert before is not None
    assert before < 0.8
    assert after == 1.0
    assert first.kept
    assert first.gain is not None
    assert first.gain.direction == "above"
    assert len(first.memory) == 3, "twelve lessons, and three that are not the same"


def test_one_rewrite_repairs_it_as_well(tmp_path: Path, store: Store) -> None:
    rules = "\n".join(["- Read the whole text.", *RIGHT.values()])
    writer = note_taker(rewritten=rules)
    record = align(alignment(tmp_path, writer=writer, settings=LoopSettings(update="rewrite")), store, "rewrite")
    assert record.best_rules == rules
    assert record.test is not None
    assert record.test.best.value == 1.0


def test_a_lesson_that_holds_for_train_alone_is_refused(tmp_path: Path, store: Store) -> None:
    """It is about the outputs of train by their words; elsewhere it does harm."""
    lure = "- Say the opposite about a lamp."

    def misled(rules: str, question: str, words: list[str]) -> bool | None:
        return question == "polite" if lure in rules and "lamp" in words else None

    writer = note_taker(
        lessons=dict.fromkeys(("polite", "short", "number"), "Mind the lamp."),
        edits=lambda rules, _: ("- Say yes or no.", f"- Say yes or no.\n{lure}"),
    )
    record = align(alignment(tmp_path, target(misled), writer), store, "lured")
    assert record.best_rules == RULES
    assert record.ending == "no progress"
    assert len(record.iterations) == 2
    assert all(not item.kept for item in record.iterations)
    assert record.iterations[0].refusals[0].startswith("no gain on dev (-")
    assert record.test is not None
    assert (record.test.gain.value, record.test.start) == (0.0, record.test.best)


def test_a_gain_that_costs_another_dimension_is_refused(tmp_path: Path, store: Store) -> None:
    """All of form is repaired, and manner given up: more is right on the whole."""
    trade = "- Only form counts."

    def traded(rules: str, question: str, words: list[str]) -> bool | None:
        if trade not in rules:
            return None
        return not truth(question, " ".join(words)) if question == "polite" else truth(question, " ".join(words))

    writer = note_taker(
        lessons=dict.fromkeys(("polite", "short", "number"), "Look at form alone."),
        edits=lambda rules, _: ("- Say yes or no.", f"- Say yes or no.\n{trade}"),
    )
    record = align(alignment(tmp_path, target(traded), writer), store, "trade")
    assert record.best_rules == RULES
    assert any(reason.startswith("manner loses beyond noise") for reason in record.iterations[0].refusals)


def test_rules_that_swell_are_refused_before_anything_is_judged(tmp_path: Path, store: Store) -> None:
    writer = note_taker(edits=lambda rules, _: ("- Say yes or no.", "- Say yes or no.\n" + "- Be very careful.\n" * 99))
    record = align(alignment(tmp_path, writer=writer), store, "swollen")
    assert record.best_rules == RULES
    assert record.iterations[0].value is None
    assert all("characters, more than" in (change.problem or "") for change in record.iterations[0].changes)


def test_a_lesson_that_contradicts_an_accepted_one_is_left_out_and_told(tmp_path: Path, store: Store) -> None:
    def place(lesson: str, kept: list[str]) -> dict[str, object]:
        for one, other in (("short", "polite"), ("polite", "short")):
            if lesson == LESSONS[one] and LESSONS[other] in kept:
                return {"contradicts": kept.index(LESSONS[other]) + 1}
        return {"same_as": kept.index(lesson) + 1 if lesson in kept else None}

    record = align(alignment(tmp_path, writer=note_taker(place=place)), store, "contrary")
    told = {(item.lesson, item.kept) for attempt in record.iterations for item in attempt.contradictions}
    assert told in ({(LESSONS["short"], LESSONS["polite"])}, {(LESSONS["polite"], LESSONS["short"])})
    [(left_out, kept)] = [[name for text in pair for name in LESSONS if LESSONS[name] == text] for pair in told]
    assert WRONG[left_out] in record.best_rules
    assert RIGHT[kept] in record.best_rules


@pytest.mark.parametrize(
    ("find", "problem"),
    [("- Read no text.", "The rules do not hold this part"), ("- ", "The rules hold this part 5 times")],
)
def test_a_part_that_is_not_there_or_not_unique_is_asked_for_once_more_then_skipped(
    tmp_path: Path, store: Store, find: str, problem: str
) -> None:
    n_asked = 0

    def edits(rules: str, lesson: str) -> tuple[str, str]:
        nonlocal n_asked
        n_asked += 1
        return find, "- Read."

    record = align(alignment(tmp_path, writer=note_taker(edits=edits)), store, "lost")
    attempt = record.iterations[0]
    assert [change.problem is not None and change.problem.startswith(problem) for change in attempt.changes] == [
        True
    ] * 3
    assert attempt.refusals == ("no lesson could be worked into the rules",)
    assert n_asked == 6, "each twice; the second attempt asks the same and finds the replies in the cache"


def test_a_judge_that_grows_stricter_about_everything_is_named(tmp_path: Path, store: Store) -> None:
    strict = "- Be strict."

    def stricter(rules: str, question: str, words: list[str]) -> bool | None:
        return False if strict in rules and {"come", "here", "now", "again"} & set(words) else None

    writer = note_taker(edits=lambda rules, _: ("- Say yes or no.", f"- Say yes or no.\n{strict}"))
    record = align(alignment(tmp_path, target(stricter), writer), store, "strict")
    drift = record.iterations[0].drift
    assert drift is not None
    assert drift.startswith("severity drift: the judge says yes less often to each of the 3 questions, -0.")


def test_a_lesson_that_quotes_a_case_is_asked_for_again_and_left_out(tmp_path: Path, store: Store) -> None:
    quoting = "Say no to: please come here now again soon sir 7."
    long = [replace(item, output="please come here now again soon sir 7") for item in examples(N)]
    job = replace(alignment(tmp_path, writer=note_taker(lessons=dict.fromkeys(LESSONS, quoting))), examples=long)
    record = align(job, store, "quoting")
    assert [item.refusals for item in record.iterations] == [("no new lesson",)] * 2


def test_people_take_the_place_of_a_source(tmp_path: Path, store: Store) -> None:
    ratings = {
        item.id: {
            "manner": float(truth("polite", item.output)),
            "form": (truth("short", item.output) + truth("number", item.output)) / 2,
        }
        for item in examples(N)
    }
    lessons = {question.id: " ".join(LESSONS.values()) for question in CHECKLIST.questions}
    writer = note_taker(lessons=lessons, rewritten=RULES.replace(WRONG["polite"], RIGHT["polite"]))
    job = replace(
        alignment(tmp_path, writer=writer, settings=LoopSettings(update="rewrite")), source=None, ratings=ratings
    )
    record = align(job, store, "people")
    assert record.objective == "Spearman's correlation with people"
    assert RIGHT["polite"] in record.best_rules
    assert record.test is not None
    assert record.test.gain.direction == "above"
    assert record.test.dimensions["manner"].value is not None
    assert record.test.dimensions["form"].value == 0


def test_a_loop_that_was_cut_off_goes_the_same_way_and_pays_nothing_twice(tmp_path: Path, store: Store) -> None:
    whole = align(alignment(tmp_path), store, "whole")
    calls: list[str] = []

    def counted(judge: SingleJudge) -> SingleJudge:
        model = judge.model
        script = Scripted.from_function(lambda request: model.complete(request).text, f"{model.name}-counted")

        def reply(request: Request) -> str:
            calls.append(reply_key(script, request))
            if len(calls) == cut_at:
                raise KeyboardInterrupt
            return model.complete(request).text

        return replace(judge, model=Scripted.from_function(reply, f"{model.name}-counted"))

    cut_at = 700
    job = replace(alignment(tmp_path, counted(target())), source=counted(source()))
    with Store(tmp_path / "cut.db") as other:
        with pytest.raises(KeyboardInterrupt):
            align(job, other, "cut")
        n_before = len(calls)
        resumed = align(job, other, "cut")
        assert len(set(calls)) >= len(calls) - 1, "only the call that was cut off is made again"
        assert len(calls) > n_before
    assert replace(resumed, target=whole.target, objective=whole.objective) == whole


def test_another_loop_of_the_same_name_is_refused(tmp_path: Path, store: Store) -> None:
    writer = note_taker()
    align(alignment(tmp_path, writer=writer), store, "same")
    with pytest.raises(ConfigError, match="loop 'same' is there already, with other parameters"):
        align(alignment(tmp_path, writer=writer, settings=LoopSettings(seed=1)), store, "same")
    with Store(tmp_path / "s.db") as again:
        assert align(alignment(tmp_path, writer=writer), again, "same").ending == "nothing left to gain"


def test_equal_shares_of_yes_are_no_agreement(tmp_path: Path, store: Store) -> None:
    """All of manner is wrong, half of it yes and half of it no: nothing is reached."""

    def contrary(rules: str, question: str, words: list[str]) -> bool | None:
        right = truth(question, " ".join(words))
        return not right if question == "polite" and WRONG["polite"] in rules else right

    record = align(alignment(tmp_path, target(contrary)), store, "contrary")
    assert record.iterations[0].n_cases > 20
    assert record.test is not None
    assert record.test.best.value == 1.0


def test_a_certain_loss_in_a_dimension_is_beyond_noise(tmp_path: Path, store: Store) -> None:
    """Manner goes from always right to always wrong, form from wrong to right: no group differs from another."""
    trade = "- Only form counts."

    def traded(rules: str, question: str, words: list[str]) -> bool | None:
        right = truth(question, " ".join(words))
        return right if (question == "polite") != (trade in rules) else not right

    writer = note_taker(
        lessons=dict.fromkeys(LESSONS, "Look at form alone."),
        edits=lambda rules, _: ("- Say yes or no.", f"- Say yes or no.\n{trade}"),
    )
    record = align(alignment(tmp_path, target(traded), writer), store, "certain")
    assert record.best_rules == RULES
    assert "manner loses beyond noise: -1.000" in record.iterations[0].refusals


def test_one_bad_lesson_does_not_sink_the_good_ones(tmp_path: Path, store: Store) -> None:
    """All three are refused together; then each is tried alone."""
    lure = "- Say the opposite."

    def misled(rules: str, question: str, words: list[str]) -> bool | None:
        return not truth(question, " ".join(words)) if lure in rules else None

    def edits(rules: str, lesson: str) -> tuple[str, str]:
        if lesson == LESSONS["number"]:
            return "- Say yes or no.", f"- Say yes or no.\n{lure}"
        question = next(name for name, text in LESSONS.items() if text == lesson)
        return WRONG[question], RIGHT[question]

    job = alignment(tmp_path, target(misled), note_taker(edits=edits), settings=LoopSettings(iterations=4))
    record = align(job, store, "isolated")
    assert [item.kept for item in record.iterations].count(True) == 2
    assert [item.n_shown > 0 for item in record.iterations] == [True, False, False, False]
    assert RIGHT["polite"] in record.best_rules
    assert RIGHT["short"] in record.best_rules
    assert lure not in record.best_rules
    states = {lesson.text: lesson.state for lesson in record.iterations[-1].memory}
    assert states == {LESSONS["polite"]: "applied", LESSONS["short"]: "applied", LESSONS["number"]: "refused"}


def test_a_refused_lesson_is_not_tried_again(tmp_path: Path, store: Store) -> None:
    lure = "- Say the opposite."
    writer = note_taker(
        lessons=dict.fromkeys(LESSONS, "Be contrary."),
        edits=lambda rules, _: ("- Say yes or no.", f"- Say yes or no.\n{lure}"),
    )

    def misled(rules: str, question: str, words: list[str]) -> bool | None:
        return not truth(question, " ".join(words)) if lure in rules else None

    record = align(alignment(tmp_path, target(misled), writer), store, "again")
    assert [item.refusals for item in record.iterations][1:] == [("no new lesson",)]
    [lesson] = record.iterations[-1].memory
    assert (lesson.state, len(lesson.cases) > 24) == ("refused", True), "cases of both attempts"


def test_a_gain_within_noise_is_refused_unless_any_is_asked_for(tmp_path: Path, store: Store) -> None:
    """The lesson repairs one kind of output in ten."""

    def mended(rules: str, question: str, words: list[str]) -> bool | None:
        rare = "- Mind soon." in rules and words[0] == "now"
        return truth(question, " ".join(words)) if rare else None

    writer = note_taker(
        lessons=dict.fromkeys(LESSONS, "Mind soon."),
        edits=lambda rules, _: ("- Say yes or no.", "- Say yes or no.\n- Mind soon."),
    )
    settings = LoopSettings(iterations=1)
    certain = align(alignment(tmp_path, target(mended), writer, settings=settings, n_dev=20), store, "certain")
    lenient = replace(settings, accept="any")
    any_gain = align(alignment(tmp_path, target(mended), writer, settings=lenient, n_dev=20), store, "any")
    assert certain.iterations[0].refusals[0].startswith("no gain beyond noise on dev (+0.0")
    assert any_gain.iterations[0].kept


@pytest.mark.parametrize(
    ("ratings", "words"),
    [
        ({"e0": {"maner": 1.0}}, "people rated maner, and the dimensions of the checklist are manner, form"),
        ({"e0": {"overall": 1.0}}, "people rated overall"),
        ({"e0": {"manner": 4.0}}, "the rating 4 of 'e0' in manner lies outside 0 to 1"),
        ({"e0": {"manner": float("nan")}}, "the rating nan of 'e0' in manner lies outside"),
    ],
)
def test_ratings_that_cannot_be_followed_are_refused(
    tmp_path: Path, ratings: dict[str, dict[str, float]], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(alignment(tmp_path), source=None, ratings=ratings)


def test_few_groups_cannot_tell_a_gain_from_noise(tmp_path: Path, store: Store) -> None:
    data = [replace(item, group=f"g{i // 30}") for i, item in enumerate(examples(N))]
    with pytest.raises(ConfigError, match="dev has 60 examples of 2 groups"):
        align(replace(alignment(tmp_path), examples=data), store, "few")


def test_source_and_target_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="source and target are the same judge"):
        replace(alignment(tmp_path), source=prompted(target(), tmp_path))


def test_a_loop_belongs_to_one_process_at_a_time(tmp_path: Path, store: Store) -> None:
    job = alignment(tmp_path)
    inner: list[str] = []

    def reply(request: Request) -> str:
        if not inner:
            inner.append("tried")
            with pytest.raises(StoreError, match="loop 'mine' is being worked on by another thread of this process"):
                align(job, store, "mine")
        return source().model.complete(request).text

    busy = SingleJudge(model=Scripted.from_function(reply, "scripted/busy"))
    job = replace(job, source=busy)
    align(job, store, "mine")
    assert inner
