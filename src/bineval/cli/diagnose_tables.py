"""What is found about the questions of a run as tables for people and as JSON for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bineval.cli.estimate_cells import estimate_cell, missing_parts
from bineval.cli.output import counted, number, plain, print_line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bineval.diagnose import DimensionDiagnosis, PhiMatrix, QuestionDiagnosis
    from bineval.diagnose.pruning import Drop, ScoreLoss
    from bineval.methods.diagnose import Diagnosis, Pruning
    from bineval.types import Estimate

_MOST_IN_MATRIX = 12


def print_diagnosis(diagnosis: "Diagnosis", screen: "Console") -> None:
    """Prints the findings, then a table of questions and a matrix of φ for each dimension."""
    of = "P(yes)" if diagnosis.has_probabilities else "answers"
    print_line(screen, f"run {diagnosis.run} · judge {diagnosis.judge} · {counted(diagnosis.n_examples, 'example')}")
    screen.print()
    screen.print("[bold]Findings[/bold]")
    for finding in diagnosis.findings:
        print_line(screen, finding.text)
    if not diagnosis.findings:
        print_line(screen, "none that goes beyond what chance makes of so many questions")
    for dimension in diagnosis.dimensions:
        own = [item for item in diagnosis.questions if item.dimension == dimension.dimension]
        screen.print()
        screen.print(f"[bold]{plain(dimension.dimension)}[/bold]: {_in_short(dimension)}", soft_wrap=True)
        screen.print(_questions_table(own, of))
        if len(own) > 1:
            _print_matrices(dimension, screen)
    screen.print()
    for line in _legend(diagnosis, of):
        screen.print(visible(line), markup=False, style="dim", soft_wrap=True)


def print_pruning(pruning: "Pruning", screen: "Console") -> None:
    """Prints what is proposed to go and why, and what that loses on examples that it was not chosen on."""
    n_left, n_dropped = len(pruning.checklist.questions), len(pruning.dropped)
    screen.print()
    words = f"{n_left} of {counted(n_left + n_dropped, 'question')}"
    screen.print(f"[bold]A smaller checklist[/bold]: {words}", soft_wrap=True)
    for dimension in pruning.dimensions:
        for drop in dimension.drops:
            print_line(screen, f"{drop.question_id} goes: {_why(drop)}")
    if not pruning.dropped:
        print_line(screen, "no question can go within the limits")
    screen.print()
    screen.print(_losses_table(pruning))
    lines = [
        f"chosen on {counted(pruning.n_choosing, 'example')}, split by group; scores are of {pruning.of};",
        f"the table is of {counted(pruning.n_reported, 'example')} that nothing was chosen on",
        "alike: Spearman's rho of the scores without and with it; change: mean absolute change of the score;",
        "people: rho with human ratings without it less with it; failures: of the examples that fail a",
        "question of the dimension, those that fail none without it",
        "what nothing failed here may still matter: read what goes before it goes",
        *missing_parts(_loss_estimates(pruning)),
    ]
    for line in lines:
        screen.print(visible(line), markup=False, style="dim", soft_wrap=True)


def diagnosis_json(diagnosis: "Diagnosis", pruning: "Pruning | None") -> dict[str, Any]:
    """All of both for a program; undefined is null, with the reason as the method of the estimate."""
    found = asdict(diagnosis)
    for dimension, item in zip(found["dimensions"], diagnosis.dimensions, strict=True):
        for values, pair in zip(dimension["pairs"], item.pairs, strict=True):
            values["coverage"] = pair.coverage
    if pruning is None:
        return {**found, "pruning": None}
    proposed = asdict(pruning)
    return {**found, "pruning": {**proposed, "checklist": pruning.checklist.to_json(), "dropped": pruning.dropped}}


def _in_short(item: "DimensionDiagnosis") -> str:
    parts = [counted(item.n_questions, "question"), f"{counted(item.n_failed, 'example')} failed"]
    if item.spread is not None:
        parts.append(f"spread of yes {item.spread:.2f}")
    if item.mean_phi is not None and item.weak_share is not None:
        parts.append(f"mean φ {item.mean_phi:.2f}, {item.weak_share:.0%} weak of {counted(item.n_pairs, 'pair')}")
    if item.mean_probability is not None:
        parts.append(f"mean r of P(yes) {item.mean_probability:.2f}")
    if item.coverage is not None:
        parts.append(f"coverage {item.coverage:.2f}")
    return " · ".join(parts)


def _questions_table(items: "list[QuestionDiagnosis]", of: str) -> "Table":
    from rich.table import Table

    columns = {
        "yes": [number(item.yes_rate.value, digits=2) for item in items],
        "P(yes)": [number(item.probability.value, digits=2) if item.probability else "–" for item in items],
        "unans.": [_share(item.unanswered) for item in items],
        "n/a": [_share(item.not_applicable) for item in items],
        "flips": [_share(item.flips) for item in items],
        "rest": [_cell(item.rest_probability or item.rest) for item in items],
        "people": [_cell(item.human_probability or item.human) for item in items],
        "bias": [number(item.human_bias.value, digits=2) for item in items],
        "alone": [_alone(item) for item in items],
    }
    optional = {
        "P(yes)": of == "P(yes)",
        "n/a": any(item.not_applicable.value for item in items),
        "flips": any(item.flips.value is not None for item in items),
        "rest": len(items) > 1,
        "people": any(item.human.n for item in items),
        "bias": any(item.human_bias.n for item in items),
        "alone": len(items) > 1,
    }
    shown = [title for title in columns if optional.get(title, True)]
    if not {"P(yes)", "n/a", "flips"} & set(shown):
        # Only then there is room for it.
        columns["yes"] = [_cell(item.yes_rate) for item in items]
    table = Table(box=None, pad_edge=False)
    table.add_column("question", overflow="fold")
    for title in shown:
        table.add_column(title, justify="right", no_wrap=True)
    for i, item in enumerate(items):
        table.add_row(plain(item.question_id), *(columns[title][i] for title in shown))
    return table


def _print_matrices(item: "DimensionDiagnosis", screen: "Console") -> None:
    for title, matrix in (("φ of answers", item.phi), ("r of P(yes)", item.probability)):
        if matrix is None or not _has_pairs(matrix):
            continue
        screen.print()
        if len(matrix.questions) > _MOST_IN_MATRIX:
            print_line(screen, f"{title}: {len(matrix.questions)} questions are too many to show; see --json")
        else:
            screen.print(_matrix_table(title, matrix))


def _has_pairs(matrix: "PhiMatrix") -> bool:
    return any(value is not None for i, row in enumerate(matrix.values) for value in row[:i])


def _matrix_table(title: str, matrix: "PhiMatrix") -> "Table":
    """Each pair once, below the diagonal."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(title, overflow="fold")
    for place in range(1, len(matrix.questions)):
        table.add_column(str(place), justify="right", no_wrap=True)
    for place, (key, row) in enumerate(zip(matrix.questions, matrix.values, strict=True), 1):
        table.add_row(f"{place} {plain(key)}", *(number(value, digits=2) for value in row[: place - 1]))
    return table


def _legend(diagnosis: "Diagnosis", of: str) -> Iterator[str]:
    yield "95 % intervals in brackets; yes: mean value over examples; alone: failures that no other"
    yield "question of the dimension catches; rest: Pearson's r with the mean of the others of its dimension;"
    yield f"people: Spearman's rho with their ratings, over all examples; both of {of}"
    yield "weak: |φ| < 0.3; coverage: share of a pair's failures that only one of the two catches, mean of pairs"
    if any(item.n_open for item in diagnosis.questions):
        yield "open: failures of which another question is unanswered, so that it is not known who else catches them"
    if any(item.human_bias.n for item in diagnosis.questions):
        yield "bias: share of yes less that of people"
    yield from missing_parts(
        (f"{item.question_id} {words}", estimate)
        for item in diagnosis.questions
        for words, estimate in (
            ("yes", item.yes_rate),
            ("rest", item.rest_probability or item.rest),
            ("people", item.human_probability or item.human),
        )
    )


def _losses_table(pruning: "Pruning") -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("without", overflow="fold")
    for title in ("", "alike", "change", "people", "failures"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for dimension in pruning.dimensions:
        dropped = {drop.question_id for drop in dimension.drops}
        if not dimension.alone:
            table.add_row(plain(dimension.kept[0]), "the only one", "–", "–", "–", "–")
        for key, loss in dimension.alone.items():
            table.add_row(plain(key), "goes" if key in dropped else "stays", *_loss_cells(loss))
        if dimension.total is not None:
            title = f"{plain(dimension.dimension)}, all that goes"
            table.add_row(f"[bold]{title}[/bold]", str(len(dropped)), *_loss_cells(dimension.total))
    return table


def _loss_cells(loss: "ScoreLoss") -> list[str]:
    return [
        _cell(loss.likeness),
        number(loss.change.value, digits=2),
        _cell(loss.human_change),
        f"{len(loss.lost)} of {loss.n_failed}",
    ]


def _why(drop: "Drop") -> str:
    parts = [f"scores alike at {number(drop.likeness)}" if drop.likeness is not None else "the scores are constant"]
    if drop.human_change is not None:
        parts.append(f"rho with people changed by {drop.human_change:+.3f}")
    parts.append(f"{drop.n_lost} of {drop.n_failed} failures lost")
    return f"{', '.join(parts)}, with all before it"


def _loss_estimates(pruning: "Pruning") -> "Iterator[tuple[str, Estimate]]":
    for dimension in pruning.dimensions:
        for name, loss in [*dimension.alone.items(), (dimension.dimension, dimension.total)]:
            if loss is not None:
                yield f"{name} alike", loss.likeness
                yield f"{name} people", loss.human_change


def _alone(item: "QuestionDiagnosis") -> str:
    is_open = f", {item.n_open} open" if item.n_open else ""
    return f"{len(item.alone)} of {item.n_failed}{is_open}"


def _cell(estimate: "Estimate") -> str:
    return estimate_cell(estimate, digits=2)


def _share(estimate: "Estimate") -> str:
    return "–" if estimate.value is None else f"{estimate.value:.0%}"
