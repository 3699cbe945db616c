"""`bineval run`: asks every question of a checklist about every example."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.judge_options import judge_options
from bineval.cli.method_options import checklist_option, method_options, method_plan
from bineval.cli.options import (
    Number,
    SectionedCommand,
    call_options,
    is_there,
    json_option,
    policy_of,
    section,
    store_option,
    store_place,
)
from bineval.cli.output import console, counted, emit_json, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from bineval.judging.forecast import Forecast
    from bineval.judging.job import Job
    from bineval.judging.runs import Run
    from bineval.models.budget import Ledger
    from bineval.store.database import Store

_EXIT_UNANSWERED = 4


_option = section("Options")


@click.command(cls=SectionedCommand)
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@checklist_option
@judge_options
@method_options
@click.option("--name", help="Name of the run.  [default: made from data, checklist and judge]")
@_option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Ask each question so many times and report how often the answer flips.",
)
@_option("--limit", type=click.IntRange(min=1), metavar="N", help="Judge only the first so many examples.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the data file.")
@click.option("--dry-run", is_flag=True, help="Say what the run would take, and make no call.")
@_option(
    "--max-unanswered",
    type=Number(0, 1),
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="Largest share of unanswered questions that still exits with 0.",
)
@store_option
@json_option
@call_options
def run(
    data: Path, checklist: Path | None, name: str | None, store: str | None, dry_run: bool, as_json: bool,
    **values: Any,
) -> None:  # fmt: skip
    """Ask every question of a checklist about every example of DATA.

    DATA is JSONL, JSON, CSV or Parquet. The same command resumes a run that was interrupted; nothing is paid twice.

    Exit codes: 0 finished, 1 error, 4 unanswered beyond --max-unanswered, 5 budget reached, 130 interrupted.
    """
    from bineval.methods.catalog import STEPS_FIRST
    from bineval.models.budget import Ledger
    from bineval.store.database import Store
    from bineval.store.replies import StoredReplies

    job_with = _job_maker(data, checklist, values)
    job = job_with(None)
    for caution in job.cautions():
        say(f"warning: {caution}")
    place = store_place(store)
    if dry_run:
        # Where there is no store yet, an empty one in memory: a dry run leaves no file behind.
        with Store(place if is_there(place) else "sqlite://") as database:
            if values["method"] in STEPS_FIRST:
                job = job_with(StoredReplies(database), only_kept=True)
            _show_forecast(job, database, name, values, as_json=as_json)
        return
    with Store(place) as database:
        ledger = Ledger(job.options.policy.budget)
        if values["method"] in STEPS_FIRST:
            job = job_with(StoredReplies(database), ledger=ledger)
        finished = execute_with_progress(job, database, name, ledger=ledger)
        _report(finished, as_json=as_json)
        say(f"\nTo open an example: {shlex.join(_show_command(finished.name, store))}")
        exit_if_unanswered(finished.status().unanswered_share, values["max_unanswered"])


def execute_with_progress(job: "Job", database: "Store", name: str | None, *, ledger: "Ledger | None" = None) -> "Run":
    """Runs a job and shows its progress on stderr."""
    from dataclasses import replace

    from bineval.cli.progress import RunProgress
    from bineval.judging.runs import Run

    with RunProgress() as progress:
        policy = replace(job.options.policy, notice=progress.notice)
        told = replace(job, options=replace(job.options, policy=policy))
        return Run(told.execute(database, name, progress, ledger=ledger))


def exit_if_unanswered(share: float, most: float) -> None:
    """Ends with the exit code for too many questions without an answer, if there are."""
    if share > most:
        say(f"{share:.1%} of the questions have no answer, more than --max-unanswered {most:g}")
        click.get_current_context().exit(_EXIT_UNANSWERED)


def _report(finished: "Run", *, as_json: bool) -> None:
    """Shows the scores of a run: words on stderr, JSON on stdout when asked for."""
    from bineval.cli.run_tables import print_run, summary_json
    from bineval.judging.summary import summarize

    rows, facts = summarize(finished), finished.question_facts()
    if as_json:
        emit_json(summary_json(finished, rows, facts))
    print_run(finished, rows, facts, console(stderr=True))


def _show_command(name: str, store: str | None) -> list[str]:
    return ["bineval", "show", name, *(["--store", store] if store else [])]


def _job_maker(data: Path, checklist: Path | None, values: dict[str, Any]) -> "Callable[..., Job]":
    """Reads and checks all that the values name; what it returns makes the run ready, without a call if given None."""
    from bineval.io.examples import read_examples
    from bineval.judging.job import RunOptions
    from bineval.methods.evaluate import job_for

    examples = read_examples(data, encoding=values["encoding"], warn=lambda text: say(f"warning: {text}"))
    plan, method_options = method_plan(values)
    options = RunOptions(repeats=values["repeats"], limit=values["limit"], policy=policy_of(values, notice=say))
    return partial(
        job_for,
        examples,
        checklist,
        source=str(data),
        plan=plan,
        method=values["method"],
        method_options=method_options,
        options=options,
    )


def _show_forecast(job: "Job", database: "Store", name: str | None, values: dict[str, Any], *, as_json: bool) -> None:
    """Says what the rest of a run will take, and what may come on top: of explanations, where they are asked for."""
    from dataclasses import asdict, replace

    from bineval.judging.composite_plans import CascadePlan
    from bineval.methods.catalog import STEPS_FIRST
    from bineval.methods.geval import has_steps

    forecast = job.forecast(database, name)
    strong = None
    if isinstance(job.plan, CascadePlan):
        strong = replace(job, plan=job.plan.strong).forecast(database, None)
    n_explained = forecast.n_verdicts if values["explain"] not in (None, "none") else 0
    if as_json:
        on_top = {"strong": None if strong is None else asdict(strong), "n_explanations": n_explained}
        emit_json({**asdict(forecast), "at_most_on_top": on_top})
    say(f"{counted(forecast.n_verdicts, 'verdict')} to make: {_forecast_words(forecast)}")
    if strong is not None:
        say(f"on top, if the strong judge is asked about all of them: {_forecast_words(strong)}")
    if n_explained:
        say(f"on top, explanations: at most {counted(n_explained, 'call')}")
    if values["method"] in STEPS_FIRST and not has_steps(job.checklist):
        say(f"before that, {counted(len(job.checklist.questions), 'call')} to write the evaluation steps")
    if forecast.cost_usd is None:
        say("to know the cost, give --price INPUT,OUTPUT in US dollars per million tokens")
    if forecast.n_too_long:
        say(f"too long for the model's context, would stay unanswered: {counted(forecast.n_too_long, 'call')}")
    say("Failed calls and replies that have to be asked again are not counted.\nNothing was sent.")


def _forecast_words(forecast: "Forecast") -> str:
    """Calls, tokens and cost on one line after the first."""
    cached = f" ({counted(forecast.n_cached, 'reply')} in the cache)" if forecast.n_cached else ""
    cost = "unknown" if forecast.cost_usd is None else _span(*(f"${usd:.4f}" for usd in forecast.cost_usd))
    return (
        f"{counted(forecast.n_calls, 'call')}{cached}\n"
        f"  about {counted(forecast.input_tokens, 'token')} to read,"
        f" {_span(*map(str, forecast.output_tokens))} to write, cost {cost}"
    )


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
