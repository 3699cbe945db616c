"""General lessons from cases, written by a model, and a memory of them without repetitions and contradictions."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bineval.errors import ModelError
from bineval.generation.drafting import Drafter, Fault
from bineval.optimize.cases import Case
from bineval.optimize.replies import LessonEntry, MergeEntry, lessons_form, merge_form
from bineval.optimize.subjects import Role

# So many words in a row that a lesson shares with a case are quoted from it, and hold for that case alone.
_QUOTED_WORDS = 8
_WORD = re.compile(r"\w+")


LessonState = Literal["open", "applied", "suspect", "refused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """What a judge should do otherwise.

    Attributes:
        text: One sentence.
        cases: The cases that it comes from, as `(example's id, question's id or None)`.
        state: "open" until it is tried; "applied" when the rules that are kept say it; "suspect" when it was tried
            together with others and refused; "refused" when it was tried alone and refused.
    """

    text: str
    cases: tuple[tuple[str, str | None], ...]
    state: LessonState = "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """A new lesson that a judge could not follow together with one that is kept."""

    lesson: str
    kept: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """A memory after new lessons came to it.

    Attributes:
        memory: The lessons kept.
        contradictions: New lessons that were left out for that.
        dropped: Lessons that no longer fit in.
    """

    memory: tuple[Lesson, ...]
    contradictions: tuple[Contradiction, ...]
    dropped: tuple[str, ...]


def write_lessons(
    drafter: Drafter, role: Role, rules: str, cases: Sequence[Case], *, batch_size: int
) -> tuple[list[Lesson], list[str]]:
    """Returns the lessons that a model draws from cases, so many of them at once, and which cases it failed at.

    A lesson that quotes one of its cases is asked for again, and left out when it comes back.

    Raises:
        ModelError: No further call can succeed.
    """
    found: list[Lesson] = []
    problems: list[str] = []
    for start in range(0, len(cases), batch_size):
        batch = cases[start : start + batch_size]
        drafter.say(f"lessons from cases {start + 1} to {start + len(batch)} of {len(cases)}")
        shown = "\n\n".join(case.text(number) for number, case in enumerate(batch, 1))
        try:
            draft = drafter.draft(
                role.lessons,
                {"present_rules": rules, "cases": shown},
                lessons_form(len(batch)),
                lambda entries, batch=batch: _quoting(entries, batch),  # type: ignore[misc]
            )
        except ModelError as error:
            if error.stops_run:
                raise
            problems.append(f"no lesson from cases {start + 1} to {start + len(batch)}: {error}")
            continue
        faulty = [fault.entry for fault in _quoting(draft.entries, batch)]
        found += [_lesson(entry, batch) for entry in draft.entries if entry not in faulty]
    return found, problems


def remember(drafter: Drafter, memory: Sequence[Lesson], fresh: Sequence[Lesson], *, most: int) -> Remembered:
    """Merges new lessons into a memory: each one repeats a lesson that is kept, contradicts one, or is added.

    One that repeats a refused lesson stays refused. One that contradicts a refused lesson is added. When more than
    `most` are still to be tried, those from the fewest cases go, the latest first.

    Raises:
        ModelError: A call failed.
    """
    kept = list(memory)
    contradictions = []
    for lesson in fresh:
        place = _place(drafter, kept, lesson)
        if (
            place is None
            or (place.same_as is None and place.contradicts is None)
            or (place.contradicts is not None and kept[place.contradicts - 1].state == "refused")
        ):
            kept.append(lesson)
        elif place.contradicts is not None:
            contradictions.append(Contradiction(lesson=lesson.text, kept=kept[place.contradicts - 1].text))
        elif place.same_as is not None:
            old = kept[place.same_as - 1]
            cases = tuple(dict.fromkeys((*old.cases, *lesson.cases)))
            # What was tried was tried in its own words: other words would be another lesson.
            text = place.lesson if old.state == "open" else old.text
            kept[place.same_as - 1] = replace(old, text=text, cases=cases)
    to_try = [i for i, lesson in enumerate(kept) if lesson.state in ("open", "suspect")]
    dropped = set(sorted(to_try, key=lambda i: (-len(kept[i].cases), i))[most:])
    return Remembered(
        memory=tuple(lesson for i, lesson in enumerate(kept) if i not in dropped),
        contradictions=tuple(contradictions),
        dropped=tuple(kept[i].text for i in sorted(dropped)),
    )


def to_be_tried(memory: Sequence[Lesson]) -> list[Lesson]:
    """The lessons of the next attempt, those from most cases first: all that are open, or else one suspect alone."""
    by_cases = sorted(memory, key=lambda lesson: -len(lesson.cases))
    return [lesson for lesson in by_cases if lesson.state == "open"] or [
        lesson for lesson in by_cases if lesson.state == "suspect"
    ][:1]


def settled(memory: Sequence[Lesson], texts: Collection[str], *, kept: bool) -> tuple[Lesson, ...]:
    """The memory after an attempt with the lessons of these texts, whose rules were kept or refused."""
    refused: LessonState = "refused" if len(texts) == 1 else "suspect"
    return tuple(
        replace(lesson, state="applied" if kept else refused) if lesson.text in texts else lesson for lesson in memory
    )


def _place(drafter: Drafter, memory: Sequence[Lesson], lesson: Lesson) -> MergeEntry | None:
    """Where the model puts a lesson; None where it names no place that there is."""
    if not memory:
        return None
    drafter.say(f"whether a lesson is among the {len(memory)} kept")
    listed = "\n".join(f"{number}. {kept.text}" for number, kept in enumerate(memory, 1))
    there = range(1, len(memory) + 1)

    def check(entries: Sequence[MergeEntry]) -> list[Fault[MergeEntry]]:
        return [
            Fault(message=f"There is no lesson {number} in the list.", entry=entry)
            for entry in entries
            for number in (entry.same_as, entry.contradicts)
            if number is not None and number not in there
        ]

    draft = drafter.draft("merge_lesson", {"memory": listed, "lesson": lesson.text}, merge_form(), check)
    entry = next(iter(draft.entries), None)
    return entry if entry is not None and not check([entry]) else None


def _lesson(entry: LessonEntry, batch: Sequence[Case]) -> Lesson:
    named = [batch[number - 1] for number in entry.cases if 1 <= number <= len(batch)]
    # A model that names no case still wrote the lesson for these.
    return Lesson(text=entry.lesson, cases=tuple((case.example_id, case.question_id) for case in named or batch))


def _quoting(entries: Sequence[LessonEntry], batch: Sequence[Case]) -> list[Fault[LessonEntry]]:
    quoted = {run for case in batch for run in _runs(f"{case.shown}\n{case.told}")}
    return [
        Fault(message=f"This lesson quotes a case, and so holds for it alone: {entry.lesson}", entry=entry)
        for entry in entries
        if quoted & _runs(entry.lesson)
    ]


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + _QUOTED_WORDS]) for i in range(len(words) - _QUOTED_WORDS + 1)}
