"""The story of an aligned prompt, and the report on a change of judges, as words and tables for people."""

from typing import TYPE_CHECKING

from bineval.cli.estimate_cells import estimate_cell, missing_parts
from bineval.cli.output import number, plain, print_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from bineval.optimize.migration import Migration, QuestionShift
    from bineval.optimize.record import Iteration, LoopRecord


def print_loop(record: "LoopRecord", screen: "Console") -> None:
    """Prints what each attempt did, which words changed, and what came of it on test."""
    sizes = ", ".join(f"{n} {name}" for name, n in record.n_examples.items())
    print_line(screen, f"{record.target}, prompt {record.prompt}, by {record.objective}; lessons by {record.writer}")
    print_line(screen, f"examples: {sizes}; lessons come from train, choices from dev, the result from test")
    print_line(screen, f"start, on dev: {estimate_cell(record.start_value)}")
    rules = record.start_rules
    for attempt in record.iterations:
        _print_attempt(attempt, rules, screen)
        rules = attempt.rules if attempt.kept else rules
    screen.print()
    if record.ending is None or record.test is None:
        print_line(screen, "unfinished: the same command goes on; where a cap stopped it, with a higher one")
        return
    print_line(screen, f"ended: {record.ending}")
    if record.best_rules == record.start_rules:
        print_line(screen, f"no improvement, start prompt kept; on test: {estimate_cell(record.test.start)}")
        return
    test = record.test
    print_line(screen, f"on test, start prompt: {estimate_cell(test.start)}")
    print_line(screen, f"on test, best prompt:  {estimate_cell(test.best)}")
    words = {
        "above": "better beyond noise",
        "below": "worse beyond noise: use the start prompt",
        "unclear": "no clear difference: not confirmed on test",
    }
    said = "undefined" if test.gain.value is None else words[test.gain.direction]
    print_line(screen, f"difference: {estimate_cell(test.gain)}, {said}")
    for name, gain in test.dimensions.items():
        print_line(screen, f"  {name}: {estimate_cell(gain)}")
    _print_by_question(test.by_question, "on test, share right", screen)
    parts = [("start", test.start), ("best", test.best), ("difference", test.gain), *test.dimensions.items()]
    for line in missing_parts(parts):
        print_line(screen, line)


def _print_attempt(attempt: "Iteration", before: str, screen: "Console") -> None:
    screen.print()
    kept = "kept" if attempt.kept else "refused"
    screen.print(f"[bold]Attempt {attempt.number}[/bold] · {kept}", soft_wrap=True)
    for line in (*_lesson_lines(attempt), *_change_lines(attempt, before), *_result_lines(attempt)):
        print_line(screen, line)
    _print_by_question(attempt.by_question, "on dev, share right", screen)
    if not attempt.by_question:
        _print_by_question(attempt.yes_rates, "on dev, share of yes", screen)


def _lesson_lines(attempt: "Iteration") -> "Iterator[str]":
    if attempt.n_shown:
        yield f"lessons from {attempt.n_shown} of {attempt.n_cases} cases on train"
    else:
        yield "a lesson of before alone, as several together were refused"
    for problem in attempt.problems:
        yield f"  {problem}"
    for pair in attempt.contradictions:
        yield f"  left out: {pair.lesson}"
        yield f"    as it contradicts: {pair.kept}"
    for text in attempt.dropped:
        yield f"  no longer kept, too many lessons: {text}"


def _change_lines(attempt: "Iteration", before: str) -> "Iterator[str]":
    from bineval.optimize.edits import rules_difference

    for change in attempt.changes:
        for text in change.lessons:
            yield f"  lesson: {text}"
        if change.problem is not None:
            yield f"    skipped: {change.problem}"
    for line in rules_difference(before, attempt.rules):
        yield f"    {line}"


def _result_lines(attempt: "Iteration") -> "Iterator[str]":
    if attempt.value is not None and attempt.gain is not None:
        yield f"on dev: {estimate_cell(attempt.value)}, gain {estimate_cell(attempt.gain)}"
    if attempt.unanswered is not None and any(attempt.unanswered):
        before, after = attempt.unanswered
        yield f"unanswered on dev: {before:.1%} before, {after:.1%} after"
    for reason in attempt.refusals:
        yield f"refused: {reason}"
    if attempt.drift is not None:
        yield f"warning: {attempt.drift}"


def _print_by_question(pairs: "Mapping[str, tuple[float | None, float | None]]", title: str, screen: "Console") -> None:
    from rich.table import Table

    if not pairs:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column(title)
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for name, (before, after) in pairs.items():
        table.add_row(plain(name), number(before, digits=2), number(after, digits=2))
    screen.print(table)


def print_migration(report: "Migration", screen: "Console") -> None:
    """Prints whether the new judge can take the place of the old one."""
    from rich.table import Table

    print_line(screen, f"{report.new} in place of {report.old}")
    table = Table(box=None, pad_edge=False)
    table.add_column("question")
    for title in ("same answer", "yes: old", "new", "shift", "n", "lost"):
        table.add_column(title, justify="right")
    table.add_column("")
    for item in (report.all, *report.questions):
        table.add_row(
            plain(item.question_id or item.text),
            estimate_cell(item.agreement, digits=2),
            number(item.old_yes, digits=2),
            number(item.new_yes, digits=2),
            estimate_cell(item.shift, digits=2),
            str(item.n),
            str(item.n_lost),
            _said(item),
        )
    screen.print(table)
    print_line(
        screen,
        f"breaks: even the upper end of the share of same answers is below {report.least_agreement:g}; milder, "
        "stricter: says yes more, less often (p below 0.05, Holm over the questions); lost: the old judge has an "
        "answer, the new one has none",
    )
    broken = [item.question_id or "" for item in report.questions if item.breaks]
    if broken:
        print_line(screen, f"{len(broken)} of {len(report.questions)} questions break: {', '.join(broken)}")
    else:
        print_line(screen, f"no question breaks for certain; {_unproven(report)}")


def _unproven(report: "Migration") -> str:
    """How many questions are known to be answered alike often enough."""
    sure = [
        item
        for item in report.questions
        if item.agreement.low is not None and item.agreement.low >= report.least_agreement
    ]
    return f"{len(sure)} of {len(report.questions)} agree on at least {report.least_agreement:g} for certain"


def _said(item: "QuestionShift") -> str:
    parts = ["breaks"] if item.breaks else []
    if item.direction != "unclear":
        parts.append(item.direction)
    return ", ".join(parts)
