"""`bineval bench`: several methods on a benchmark suite with human labels, beside what was published."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.judge_options import judge_options
from bineval.cli.method_options import method_settings_options
from bineval.cli.options import (
    SectionedCommand,
    call_options,
    json_option,
    model_options_of,
    policy_of,
    section,
    store_option,
    store_place,
)
from bineval.cli.output import console, counted, emit_json, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bineval.judging.job import Job
    from bineval.judging.runs import Run
    from bineval.models.base import Model
    from bineval.models.budget import Ledger
    from bineval.models.stack import CallPolicy
    from bineval.store.database import Store
    from bineval.suites.base import Suite
    from bineval.suites.report import BenchReport
    from bineval.types import Checklist, Example

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_USUAL_METHODS = ("binary", "boolean", "geval", "holistic", "rouge", "bleu")

_option = section("Options")


@click.command(cls=SectionedCommand)
@click.argument("name", metavar="SUITE")
@click.option(
    "--data", type=_FILE, help="File with the suite's rows.  [default: the Hugging Face hub, where it is there]"
)
@click.option(
    "--references", type=_FILE, help="File of rows id (a group) and references (a list of texts), for metrics."
)
@click.option(
    "--checklist", type=_FILE, help="Questions by dimension.  [default: those that bineval brings for the suite]"
)
@click.option("--generate", metavar="MODEL", help="Let this model make the questions from the suite's task instead.")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help=f"A method, as in bineval run; give several.  [default: {', '.join(_USUAL_METHODS)}]",
)
@judge_options
@method_settings_options
@_option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Ask so many times and average (the papers average two runs); at temperature 0 one says it all.",
)
@_option("--limit", type=click.IntRange(min=1), metavar="N", help="Draw so many documents, each with all its outputs.")
@_option(
    "--draw-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of that draw and the intervals."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the results as JSON.")
@store_option
@json_option
@call_options
def bench(name: str, output: Path | None, store: str | None, as_json: bool, **values: Any) -> None:
    """Run methods on SUITE (summeval, topical-chat, qags-cnn, qags-xsum, hanna) and compare them with people.

    Every method asks the same judge. The same command resumes; nothing is paid twice. Rows that were published are
    printed beside and marked; whether decomposing into questions helped is said by a paired interval.
    """
    from bineval.cli.progress import RunProgress
    from bineval.models.budget import Ledger
    from bineval.store.database import Store
    from bineval.suites.catalog import find_suite
    from bineval.suites.loading import load_suite
    from bineval.suites.report import bench_report
    from bineval.suites.running import run_methods

    suite = find_suite(name)
    examples = load_suite(
        suite,
        values["data"],
        references=values["references"],
        limit=values["limit"],
        seed=values["draw_seed"],
        warn=lambda text: say(f"warning: {text}"),
    )
    with Store(store_place(store)) as database:
        with RunProgress() as progress:
            policy = policy_of(values, notice=progress.notice)
            ledger = Ledger(policy.budget)
            jobs = _jobs(suite, examples, values, policy, database, ledger)
            runs = run_methods(jobs, database, progress, ledger=ledger)
        judged = next((job.plan.name for job in jobs.values() if job.plan.models()), None)
        report = bench_report(suite, runs, judge=judged, seed=values["draw_seed"])
        _show(report, runs, output, as_json=as_json)


def _jobs(
    suite: "Suite",
    examples: "Sequence[Example]",
    values: dict[str, Any],
    policy: "CallPolicy",
    database: "Store",
    ledger: "Ledger",
) -> "dict[str, Job]":
    from bineval.cli.judge_options import plan_of
    from bineval.cli.method_options import method_options_of
    from bineval.judging.job import RunOptions
    from bineval.methods.catalog import MODEL_METHODS
    from bineval.methods.evaluate import job_for
    from bineval.models.stack import stack
    from bineval.store.replies import StoredReplies

    methods = values["methods"] or _USUAL_METHODS
    options = method_options_of({**values, "against": values["against"] or suite.against})
    asks_a_model = any(method in MODEL_METHODS for method in methods)
    if asks_a_model and not values["judges"]:
        raise click.UsageError("these methods need a --judge")
    plan = plan_of(values) if asks_a_model else None
    replies = StoredReplies(database)
    checklist = _checklist(suite, values, lambda model: stack(model, policy, replies=replies, ledger=ledger))
    return {
        method: job_for(
            examples,
            checklist,
            replies,
            source=suite.name,
            plan=plan,
            method=method,
            method_options=options,
            options=RunOptions(repeats=values["repeats"], policy=policy),
            ledger=ledger,
        )
        for method in dict.fromkeys(methods)
    }


def _checklist(suite: "Suite", values: dict[str, Any], wrap: "Callable[[Model], Model]") -> "Checklist":
    """The questions: of a file, made by a model, or those that bineval brings."""
    from bineval.generation.decompose import decompose
    from bineval.generation.drafting import GenerateSettings
    from bineval.io.checklists import load_checklist
    from bineval.models.catalog import open_model

    if values["checklist"] is not None and values["generate"] is not None:
        raise click.UsageError("--checklist and --generate exclude each other")
    if values["checklist"] is not None:
        return load_checklist(values["checklist"])
    own = suite.checklist()
    if values["generate"] is None:
        return own
    writer = wrap(open_model(values["generate"], model_options_of(values)))
    settings = GenerateSettings(on_step=say)
    return decompose(own.task or suite.title, writer, name=own.name, dimensions=own.dimensions, settings=settings)


def _show(report: "BenchReport", runs: "dict[str, Run]", output: Path | None, *, as_json: bool) -> None:
    from bineval.cli.bench_tables import print_bench
    from bineval.io.json_files import write_json_file

    if output is not None:
        write_json_file(output, report.to_json())
    if as_json:
        emit_json(report.to_json())
    print_bench(report, console(stderr=as_json))
    n_unanswered = {method: run.status().n_unanswered for method, run in runs.items()}
    for method, n in n_unanswered.items():
        if n:
            say(f"{method}: {counted(n, 'verdict')} without an answer; see bineval show {runs[method].name}")
    if output is not None:
        say(f"wrote {output}")
