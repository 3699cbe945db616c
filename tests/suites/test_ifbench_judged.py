from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, ModelAuthError
from bineval.judging.job import Job, RunOptions
from bineval.judging.plans import SingleJudge
from bineval.judging.runner import Progress, ProgressCallback
from bineval.judging.runs import Run
from bineval.store.database import Store
from bineval.suites.ifbench.accuracy import Verified, verify
from bineval.suites.ifbench.judged import (
    AskedProgress,
    ConstraintPlan,
    JudgedRow,
    constraint_checklist,
    judged_rows,
    n_asked,
    with_verdict,
)
from bineval.suites.ifbench.verifiers import Verifiers
from bineval.types import Example
from support.asking import deciding

pytest.importorskip("if_verifiable", reason="the extra `ifbench` is not installed")

NUMBERS, SOLID, ODD = "count:numbers", "format:no_whitespace", "format:quote_unquote"


def example(id_: str, output: str, *constraints: tuple[str, dict[str, Any]]) -> Example:
    ids, arguments = [name for name, _ in constraints], [given for _, given in constraints]
    return Example(id=id_, output=output, metadata={"instruction_id_list": ids, "kwargs": arguments})


def verified(*examples: Example) -> tuple[Verified, ...]:
    try:
        return verify(examples, Verifiers(), source="rows").verified
    except ConfigError as error:
        pytest.skip(str(error))


def judged(
    items: Sequence[Verified], decide: Callable[[str, str], object], place: Path, tell: ProgressCallback | None = None
) -> dict[str | None, JudgedRow]:
    """The rows of a judge by category."""
    compared = with_verdict(items)
    job = Job(
        source="ifbench",
        examples=[item.example for item in compared],
        checklist=constraint_checklist(compared),
        plan=ConstraintPlan(judge=SingleJudge(model=deciding(decide))),
        options=RunOptions(),
    )
    with Store(place / "store.db") as store:
        rows = judged_rows(Run(job.execute(store, None, tell)), items)
    return {row.category: row for row in rows}


def test_what_has_no_strict_verdict_is_neither_asked_about_nor_counted(tmp_path: Path) -> None:
    one = (NUMBERS, {"N": 1})
    items = verified(example("a", "1", one), example("b", "2024.", (ODD, {})), example("c", "2024.", one, (ODD, {})))
    compared = with_verdict(items)
    assert [item.example.id for item in compared] == ["a", "c"]
    assert n_asked([item.example for item in compared], constraint_checklist(compared)) == 3
    rows = judged(items, lambda *_: "yes", tmp_path)
    assert rows.keys() == {None, "count"}
    assert (rows[None].figures.n, rows[None].figures.raw.value) == (2, 1)


def test_constraints_of_one_type_in_one_prompt_are_judged_together(tmp_path: Path) -> None:
    items = verified(
        example("a", "1", (NUMBERS, {"N": 1}), (NUMBERS, {"N": 2})),  # passes the first alone
        example("b", "1", (NUMBERS, {"N": 1}), (NUMBERS, {"N": 1})),
    )
    rows = judged(items, lambda *_: "yes", tmp_path)
    assert (rows[None].figures.n, rows[None].figures.raw.value) == (2, 0.5)
    assert (rows[None].judge_yes.value, rows[None].verifiers_yes.value) == (1, 0.5)


def test_constraints_that_the_judge_does_not_answer_are_counted_and_in_no_figure(tmp_path: Path) -> None:
    items = verified(*(example(f"e{i}", "1", (NUMBERS, {"N": 1}), (SOLID, {})) for i in range(3)))
    rows = judged(items, lambda _, question: "yes" if "numbers" in question else "perhaps", tmp_path)
    assert (rows[None].n_unanswered, rows[None].figures.n) == (3, 3)
    form = rows["format"]
    assert (form.n_unanswered, form.figures.n, form.figures.raw.value, form.judge_yes.value) == (3, 0, None, None)
    assert form.figures.raw.method.startswith("undefined: ")
    # All ratings are yes: kappa is undefined, not 0 and not 1.
    assert (rows["count"].figures.kappa.value, rows["count"].figures.raw.value) == (None, 1)
    assert rows["count"].figures.kappa.method == "undefined: all ratings are yes"
    assert rows["count"].figures.tnr.method == "undefined: no label is no"


def test_the_progress_is_of_what_the_judge_is_asked_over_all_sittings(tmp_path: Path) -> None:
    one, solid = (NUMBERS, {"N": 1}), (SOLID, {})
    items = verified(example("a", "1", one), example("b", "2", solid), example("c", "3", one))
    told: list[Progress] = []

    def locked_at_first(output: str, _: str) -> object:
        if output == "3":
            raise ModelAuthError("no", model="scripted/judge")
        return "yes"

    # Of 6 verdicts, on 2 types of constraints about 3 outputs, 3 are asked for.
    with pytest.raises(ModelAuthError):
        judged(items, locked_at_first, tmp_path, AskedProgress(3, told.append))
    assert (told[0].n_planned, told[0].n_done, told[0].n_fresh) == (3, 0, 0)
    told.clear()
    judged(items, lambda *_: "yes", tmp_path, AskedProgress(3, told.append))
    first, last = told[0], told[-1]
    assert (last.n_planned, last.n_done, last.n_fresh) == (3, 3, 3 - first.n_done)
    assert all(0 <= item.n_fresh <= item.n_done <= 3 for item in told)
