"""`bineval bench`: several methods on a benchmark suite with human labels, beside what was published; or IFBench."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bineval.cli.judge_options import judge_options, open_writer
from bineval.cli.method_options import method_settings_options
from bineval.cli.options import (
    Number,
    SectionedCommand,
    call_options,
    json_option,
    policy_of,
    section,
    store_option,
    store_place,
)
from bineval.cli.output import console, counted, emit_json, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from bineval.judging.runs import Run
    from bineval.models.base import Model
    from bineval.suites.base import Suite
    from bineval.suites.report import BenchReport
    from bineval.types import Checklist

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
@click.option("--generate-url", metavar="URL", help="Root of that model's server.")
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
@_option(
    "--max-unanswered",
    type=Number(0, 1),
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="Largest share of unanswered questions of a method that still exits with 0.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the results as JSON.")
@store_option
@json_option
@call_options
def bench(name: str, output: Path | None, store: str | None, as_json: bool, **values: Any) -> None:
    """Run methods on SUITE (summeval, topical-chat, qags-cnn, qags-xsum, hanna) and compare them with people.

    Every method asks the same judge. The same command resumes; nothing is paid twice. Rows that were published are
    printed beside and marked; whether decomposing into questions helped is said by a paired interval.

    SUITE ifbench has no human labels: a program verifies the outputs of --data, and a --judge, where one is given, is
    asked whether they satisfy their prompts' constraints, and compared with the program. No --method is needed.
    """
    from bineval.suites.catalog import IFBENCH

    if name == IFBENCH:
        from bineval.cli.bench_ifbench import bench_ifbench

        bench_ifbench(output, store, as_json, values)
    else:
        _bench_methods(name, output, store, as_json, values)


def _bench_methods(name: str, output: Path | None, store: str | None, as_json: bool, values: dict[str, Any]) -> None:
    from bineval.cli.method_options import method_plans
    from bineval.cli.progress import RunProgress
    from bineval.cli.run import exit_if_unanswered
    from bineval.judging.job import RunOptions
    from bineval.models.budget import Ledger
    from bineval.store.database import Store
    from bineval.store.replies import StoredReplies
    from bineval.suites.catalog import find_suite
    from bineval.suites.jobs import SuiteJobs
    from bineval.suites.loading import load_suite
    from bineval.suites.report import bench_report
    from bineval.suites.running import run_methods

    if values["checklist"] is not None and values["generate"] is not None:
        raise click.UsageError("--checklist and --generate exclude each other")
    suite, methods = find_suite(name), list(dict.fromkeys(values["methods"] or _USUAL_METHODS))
    plans = method_plans(values, methods, usual_against=suite.against)
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
            jobs = SuiteJobs(
                suite=suite,
                examples=examples,
                plans=plans,
                options=RunOptions(repeats=values["repeats"], policy=policy),
                replies=StoredReplies(database),
                ledger=Ledger(policy.budget),
            )
            jobs.check(_given_checklist(suite, values))  # before anything is paid for
            checklist = _checklist(suite, values, jobs.wrap)
            runs = run_methods(jobs.ready(checklist), database, progress, ledger=jobs.ledger)
        judged = next((plan.name for plan, _ in plans.values() if plan is not None), None)
        report = bench_report(suite, runs, judge=judged, seed=values["draw_seed"])
        _show(report, runs, output, as_json=as_json)
        share = max(run.status().unanswered_share for run in runs.values())
    exit_if_unanswered(share, values["max_unanswered"])


def _given_checklist(suite: "Suite", values: dict[str, Any]) -> "Checklist":
    """The questions of a file, or those that bineval brings for the suite."""
    from bineval.io.checklists import load_checklist

    return suite.checklist() if values["checklist"] is None else load_checklist(values["checklist"])


def _checklist(suite: "Suite", values: dict[str, Any], wrap: "Callable[[Model], Model]") -> "Checklist":
    """The questions: given, or made by a model."""
    from bineval.generation.decompose import decompose
    from bineval.generation.drafting import GenerateSettings

    if values["generate"] is None:
        return _given_checklist(suite, values)
    own = suite.checklist()
    writer, settings = wrap(open_writer(values)), GenerateSettings(on_step=say)
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
