"""How lessons get into the rules of a prompt: one part replaced for each lesson, or all rules rewritten at once."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from bineval.errors import ModelError
from bineval.generation.drafting import Drafter, Fault
from bineval.optimize.lessons import Lesson
from bineval.optimize.replies import EditEntry, RulesEntry, edit_form, rules_form
from bineval.optimize.subjects import Role
from bineval.templates import holds_title

Update = Literal["edits", "rewrite"]
UPDATES: tuple[Update, ...] = get_args(Update)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What one lesson, or all of them together, did to the rules.

    Attributes:
        lessons: Their texts.
        find: The part that was replaced; None for a rewrite and where nothing could be done.
        replace: What stands there now; None where nothing could be done.
        problem: Why nothing was done; None when something was.
    """

    lessons: tuple[str, ...]
    find: str | None = None
    replace: str | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Updated:
    """Rules with lessons applied, and how."""

    rules: str
    changes: tuple[Change, ...]


def update_rules(
    drafter: Drafter, role: Role, rules: str, lessons: Sequence[Lesson], *, update: Update, most_chars: int
) -> Updated:
    """Returns the rules with the lessons applied.

    A part that is not in the rules, or is there twice, is asked for again, once; then its lesson is skipped, and so is
    one that would make the rules too long.

    Raises:
        ModelError: No further call can succeed.
    """
    if update == "rewrite":
        return _rewritten(drafter, role, rules, lessons, most_chars)
    changes = []
    for lesson in lessons:
        change = _edit(drafter, role, rules, lesson)
        if change.find is not None and change.replace is not None:
            changed = rules.replace(change.find, change.replace, 1)
            if (problem := too_long(changed, most_chars)) is None:
                rules = changed
            else:
                change = replace(change, problem=problem)
        changes.append(change)
    return Updated(rules=rules, changes=tuple(changes))


def too_long(rules: str, most_chars: int) -> str | None:
    """Why rules are too long; None when they are not."""
    if len(rules) <= most_chars:
        return None
    return f"the rules would have {len(rules):,} characters, more than {most_chars:,}"


def rules_difference(before: str, after: str) -> list[str]:
    """The lines that went, with "-", and that came, with "+", among those around them."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))
    # The first two name the files; those that begin with @@ the lines, which a rule beginning so has a sign before.
    return [line for line in lines[2:] if not line.startswith("@@")]


def _edit(drafter: Drafter, role: Role, rules: str, lesson: Lesson) -> Change:
    drafter.say("which part of the rules a lesson changes")

    def check(entries: Sequence[EditEntry]) -> list[Fault[EditEntry]]:
        return [Fault(message=problem, entry=entry) for entry in entries if (problem := _problem(entry, rules))]

    values = {"whose_rules": role.whose_rules, "present_rules": rules, "lesson": lesson.text}
    try:
        draft = drafter.draft("edit_rules", values, edit_form(), check)
    except ModelError as error:
        if error.stops_run:
            raise
        return Change(lessons=(lesson.text,), problem=str(error))
    problems = {entry: _problem(entry, rules) for entry in draft.entries}
    entry = next((entry for entry, problem in problems.items() if problem is None), None)
    if entry is None:
        problem = next(iter(problems.values()), None) or "no edit could be read from the reply"
        return Change(lessons=(lesson.text,), problem=problem)
    return Change(lessons=(lesson.text,), find=entry.find, replace=entry.replace)


def _problem(entry: EditEntry, rules: str) -> str | None:
    n = rules.count(entry.find)
    if n == 0:
        return f"The rules do not hold this part: {entry.find!r}. Copy it letter by letter."
    if n > 1:
        return f"The rules hold this part {n} times: {entry.find!r}. Name a longer one that is there once."
    changed = rules.replace(entry.find, entry.replace, 1)
    if not changed.strip():
        return "Nothing would be left of the rules."
    if changed == rules:
        return "The part and what replaces it are the same."
    if holds_title(changed):
        return "The rules may not hold a title such as '## system'."
    return None


def _rewritten(drafter: Drafter, role: Role, rules: str, lessons: Sequence[Lesson], most_chars: int) -> Updated:
    drafter.say(f"the rules rewritten with {len(lessons)} lessons")

    def check(entries: Sequence[RulesEntry]) -> list[Fault[RulesEntry]]:
        faults = []
        for entry in entries:
            if len(entry.rules.strip()) > most_chars:
                message = (
                    f"The rules have {len(entry.rules.strip())} characters, and may have {most_chars}. Shorten them."
                )
                faults.append(Fault(message=message, entry=entry))
            elif holds_title(entry.rules):
                faults.append(Fault(message="The rules may not hold a title such as '## system'.", entry=entry))
        return faults

    texts = tuple(lesson.text for lesson in lessons)
    listed = "\n".join(f"- {text}" for text in texts)
    values = {"whose_rules": role.whose_rules, "present_rules": rules, "lessons": listed, "limit": str(most_chars)}
    problem: str | None = None
    try:
        draft = drafter.draft("rewrite_rules", values, rules_form(), check)
        # A small model writes one entry for each rule.
        written = "\n".join(entry.rules.strip() for entry in draft.entries)
        if not written or holds_title(written):
            problem = "no rules could be read from the reply"
    except ModelError as error:
        if error.stops_run:
            raise
        problem = str(error)
    if problem := problem or too_long(written, most_chars):
        return Updated(rules=rules, changes=(Change(lessons=texts, problem=problem),))
    return Updated(rules=written, changes=(Change(lessons=texts, replace=written),))
