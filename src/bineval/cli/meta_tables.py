"""A meta-evaluation as tables for people."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from bineval.cli.correlation_words import COEFFICIENT_TITLES, LEVEL_WORDS
from bineval.cli.estimate_cells import estimate_cell, missing_parts
from bineval.cli.output import number, p_words, plain, visible
from bineval.metaeval.series import AVERAGE, line_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bineval.metaeval.differences import MetaDifference
    from bineval.metaeval.rows import MetaRow, RaterAgreement
    from bineval.methods.meta import MetaReport
    from bineval.stats.distributions import SystemOrder
    from bineval.stats.paired_accuracy import PairedAccuracy
    from bineval.stats.paired_differences import Difference
    from bineval.types import Estimate

_AGREEMENT = {
    "raw": "raw",
    "kappa": "Cohen's kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "tpr": "TPR",
    "tnr": "TNR",
}
_HUMAN_MEANS = {
    "prediction_powered": "prediction-powered",
    "labels_alone": "labels alone",
    "all_labels": "all labels",
}
_SURE = 0.05
_KINDS = ("people", "repeats")


def print_meta(report: "MetaReport", screen: "Console") -> None:
    """Prints every part that the report has, and what must be known to read it."""
    printer = _Printer(report, screen)
    printer.correlations()
    printer.differences()
    printer.human_means()
    printer.agreement()
    printer.distributions()
    printer.systems()
    printer.notes()


class _Printer:
    def __init__(self, report: "MetaReport", screen: "Console") -> None:
        self._report, self._screen = report, screen
        self._several = len({_line(row) for row in report.rows}) > 1

    def correlations(self) -> None:
        level, constant = self._report.options.level, self._report.options.constant
        self._title("Correlation with people", f"level {level}: {LEVEL_WORDS[level]}")
        for name, rows in self._lines():
            table = _table(
                name if self._several else "dimension",
                *COEFFICIENT_TITLES.values(),
                "n",
                *([f"{level}s"] if level != "pooled" else []),
            )
            for row in rows:
                found = row.correlations
                cells = [estimate_cell(getattr(found, coefficient)) for coefficient in COEFFICIENT_TITLES]
                used = {
                    "pooled": [],
                    "group": [f"{found.groups_used} of {found.groups_used + found.groups_skipped}"],
                    "system": [str(found.groups_used)],
                }[level]
                table.add_row(plain(row.dimension), *cells, str(found.n), *used)
            self._screen.print(table)
        drawn = "systems" if level == "system" else "whole groups"
        self._legend(f"95 % intervals in brackets, where there are enough groups, from resampling {drawn}")
        if level == "group":
            words = "are skipped" if constant == "skip" else "count as 0"
            self._legend(f"groups whose ratings or scores are all equal {words}")

    def differences(self) -> None:
        for (name, first), items in groupby(self._report.differences, key=_compared):
            self._title(f"{name} less {first}", "difference of the correlations on the same outputs")
            self._screen.print(_difference_table(list(items)))
        tested = [item.difference for item in self._report.differences if item.difference.p_value is not None]
        if tested:
            n = len([item for item in tested if item.coefficient == tested[0].coefficient])
            self._legend(
                f"p (Holm) is adjusted for all {n} differences of the same coefficient; higher, lower: p (Holm) below "
                f"{_SURE:g}"
            )

    def human_means(self) -> None:
        rows = [row for row in self._report.rows if row.human_mean is not None]
        if not rows:
            return
        share = self._report.options.labeled_share
        self._title("Mean rating of people", f"from the ratings of {100 * (share or 0):g} % of the groups")
        table = _table(*self._row_titles(), "labeled", *_HUMAN_MEANS.values())
        for row in rows:
            mean = row.human_mean
            if mean is not None:
                cells = [estimate_cell(getattr(mean, field)) for field in _HUMAN_MEANS]
                table.add_row(*self._row_names(row), f"{mean.n_labeled} of {mean.n_labeled + mean.n_unlabeled}", *cells)
        self._screen.print(table)
        self._legend(
            "prediction-powered: from the labeled outputs and the scores of all; its interval holds for people"
        )

    def agreement(self) -> None:
        rows = [row for row in self._report.rows if row.agreement]
        if not rows:
            return
        raters = list(dict.fromkeys(_rater(item) for row in rows for item in row.agreement))
        self._title("Agreement of the answers yes and no", "with each rater named above its column")
        table = _table(*self._row_titles(), "", *raters)
        for row in rows:
            by_rater = {_rater(item): item.figures for item in row.agreement}
            names = self._row_names(row)
            empty = [""] * len(names)
            n = [str(by_rater[rater].n) if rater in by_rater else "" for rater in raters]
            table.add_row(*names, "n", *n)
            for field, words in _AGREEMENT.items():
                found = [getattr(by_rater[rater], field) if rater in by_rater else None for rater in raters]
                if any(estimate is not None and estimate.value is not None for estimate in found):
                    table.add_row(*empty, words, *("" if item is None else estimate_cell(item) for item in found))
        self._screen.print(table)
        self._legend(
            "kappa, alpha, AC1: agreement beyond chance, 1 is perfect; TPR, TNR: share right of people's yes, no"
        )
        for row in rows:
            for item in row.agreement:
                if item.right is not None:
                    self._legend(
                        f"{_place(row)}: right alone {item.right.first_only} times, {_rater(item)} "
                        f"{item.right.second_only} times; difference of the shares right "
                        f"{estimate_cell(item.right.difference)}{_tested(item.right)}"
                    )
                if item.figures.caution:
                    self._legend(f"{_place(row)}, {_rater(item)}: {item.figures.caution}")

    def distributions(self) -> None:
        rows = [row for row in self._report.rows if row.shapes is not None and row.shapes.distance.value is not None]
        if not rows:
            return
        self._title("Distributions", "scores and ratings of the same outputs, mapped to [0, 1]")
        table = _table(*self._row_titles(), "", "mean", "sd", "at the ceiling", "Wasserstein")
        for row in rows:
            if row.shapes is not None:
                names = self._row_names(row)
                for who, shape in (("scores", row.shapes.scores), ("people", row.shapes.humans)):
                    first = who == "scores"
                    table.add_row(
                        *(names if first else [""] * len(names)),
                        who,
                        estimate_cell(shape.mean),
                        number(shape.sd.value),
                        estimate_cell(shape.ceiling_share),
                        number(row.shapes.distance.value) if first else "",
                    )
        self._screen.print(table)
        self._legend("Wasserstein: how far scores must be moved on the mean to be distributed as people's ratings")

    def systems(self) -> None:
        for name, rows in self._lines():
            with_systems = [row for row in rows if row.systems is not None and len(row.systems.means) > 1]
            if with_systems:
                self._title("Systems", f"mean rating of people / mean score{f', {name}' if self._several else ''}")
                self._screen.print(_system_table(with_systems))
                self._legend(
                    "alike: pairs of systems that people tell apart and that the scores put in the same order; tied: "
                    "pairs to which they give the same mean"
                )

    def notes(self) -> None:
        self._screen.print()
        estimates: list[tuple[str, Estimate]] = [
            (f"{_place(row)} {words}", getattr(row.correlations, field))
            for row in self._report.rows
            for field, words in COEFFICIENT_TITLES.items()
        ]
        estimates += [
            (f"{_place(row)} distribution", row.shapes.distance)
            for row in self._report.rows
            if row.shapes is not None and row.shapes.distance.value is None
        ]
        estimates += [
            (f"{_place(row)} {words}", getattr(row.human_mean, field))
            for row in self._report.rows
            if row.human_mean is not None
            for field, words in _HUMAN_MEANS.items()
        ]
        notes = (*self._report.notes, *self._report.difference_notes)
        for line in (*counts_in_words(self._report.rows), *notes, *missing_parts(estimates)):
            self._screen.print(visible(line), markup=False, soft_wrap=True)

    def _lines(self) -> "Iterator[tuple[str, list[MetaRow]]]":
        """The rows of each run and kind of score, with its name."""
        for name, rows in groupby(self._report.rows, key=_line):
            yield name, list(rows)

    def _row_titles(self) -> list[str]:
        return ["run", "dimension"] if self._several else ["dimension"]

    def _row_names(self, row: "MetaRow") -> list[str]:
        return [plain(name) for name in ([_line(row)] if self._several else []) + [row.dimension]]

    def _title(self, title: str, words: str) -> None:
        self._screen.print()
        self._screen.print(f"[bold]{plain(title)}[/bold] · {plain(words)}", soft_wrap=True)

    def _legend(self, text: str) -> None:
        self._screen.print(visible(text), markup=False, style="dim")


def counts_in_words(rows: "Iterable[MetaRow]") -> list[str]:
    """A line for each row in which outputs are missing, such as "coherence: n = 356 of 360: 4 without a score"."""
    lines = []
    for row in rows:
        if row.dimension == AVERAGE:
            continue
        parts = ((row.n_without_human, "without a rating"), (row.n_without_score, "without a score"))
        if missing := ", ".join(f"{n} {words}" for n, words in parts if n):
            lines.append(f"{_place(row)}: n = {row.correlations.n} of {row.n_examples}: {missing}")
    return list(dict.fromkeys(lines))


def _difference_table(items: "Sequence[MetaDifference]") -> "Table":
    table = _table("dimension", "", "difference", "p", "p (Holm)", "", "n")
    for dimension, found in groupby(items, key=lambda item: item.dimension):
        for place, item in enumerate(found):
            difference = item.difference
            table.add_row(
                "" if place else plain(dimension),
                COEFFICIENT_TITLES[difference.coefficient],
                estimate_cell(difference.estimate),
                _p(difference.p_value),
                _p(difference.p_adjusted),
                _effect(difference),
                str(difference.estimate.n),
            )
    return table


def _p(p_value: float | None) -> str:
    """None is so small that it is 0."""
    return "<0.001" if p_value is not None and p_value < 0.001 else number(p_value)


def _effect(item: "Difference") -> str:
    if item.p_adjusted is None or item.estimate.value is None or item.p_adjusted >= _SURE:
        return "unclear"
    return "higher" if item.estimate.value > 0 else "lower"


def _system_table(rows: "Sequence[MetaRow]") -> "Table":
    """Systems by the mean of their human means, lowest first."""
    cells: dict[str, dict[str, str]] = {}
    humans: dict[str, list[float]] = {}
    for row in rows:
        for item in row.systems.means if row.systems is not None else ():
            cells.setdefault(item.system, {})[row.dimension] = (
                f"{number(item.human.value, digits=2)} / {number(item.score.value, digits=2)}"
            )
            humans.setdefault(item.system, []).append(item.human.value or 0.0)
    table = _table("system", *(row.dimension for row in rows))
    for system in sorted(cells, key=lambda name: sum(humans[name]) / len(humans[name])):
        table.add_row(plain(system), *(cells[system].get(row.dimension, "–") for row in rows))
    table.add_row("")
    table.add_row("alike", *(_alike(row.systems) for row in rows if row.systems is not None))
    return table


def _alike(order: "SystemOrder") -> str:
    tied = f", {order.n_tied} tied" if order.n_tied else ""
    return f"{order.n_alike} of {order.n_pairs}{tied}"


def _table(*titles: str) -> "Table":
    """The first column and those without a title hold words, the others numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for place, title in enumerate(titles):
        words = place == 0 or title in ("", "dimension")
        table.add_column(plain(title), justify="left" if words else "right")
    return table


def _compared(item: "MetaDifference") -> tuple[str, str]:
    return line_name(item.run, item.score), line_name(item.against_run, item.against_score)


def _tested(right: "PairedAccuracy") -> str:
    return "" if right.p_adjusted is None else f", {p_words(right.p_adjusted)} (Holm, {right.test})"


def _rater(item: "RaterAgreement") -> str:
    """A run may have the name that people or repeats have here."""
    return f"run {item.rater}" if item.kind == "run" and item.rater in _KINDS else item.rater


def _line(row: "MetaRow") -> str:
    return line_name(row.run, row.score)


def _place(row: "MetaRow") -> str:
    return f"{_line(row)}, {row.dimension}"
