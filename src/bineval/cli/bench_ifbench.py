"""`bineval bench ifbench`: outputs verified by program, and a judge compared with the verifiers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bineval.cli.options import policy_of, store_place
from bineval.cli.output import console, emit_json, say

if TYPE_CHECKING:
    from bineval.judging.plans import JudgePlan
    from bineval.judging.runner import ProgressCallback
    from bineval.judging.runs import Run
    from bineval.models.stack import CallPolicy
    from bineval.store.database import Store
    from bineval.suites.ifbench.accuracy import AccuracyReport, Verified

# What only other suites heed.
_OTHERS = ("references", "checklist", "methods", "n_samples", "gamma", "against", "metric_model")
_JUDGES = (
    "generate", "generate_url", "kind", "prompts", "mode", "evidence", "temperature", "seed", "max_reply_tokens",
    "min_mass", "max_questions", "calibration", "contrast", "explain", "explainer", "explainer_url", "strong", "band",
    "audit", "rule", "weights", "quorum",
)  # fmt: skip


def bench_ifbench(output: Path | None, store: str | None, as_json: bool, values: dict[str, Any]) -> None:
    """Verifies the outputs of a file and prints the accuracies, and a judge's agreement where one is named."""
    from bineval.cli.bench_ifbench_tables import print_accuracy, print_agreement
    from bineval.cli.judge_options import plan_of, refuse
    from bineval.cli.run import exit_if_unanswered
    from bineval.io.json_files import write_json_file
    from bineval.suites.ifbench.judged import judged_rows

    refuse(values, _OTHERS, "another suite")
    if not values["judges"]:
        refuse(values, _JUDGES, "a --judge")
    plan = plan_of(values) if values["judges"] else None  # before anything else, so that a typo is said at once
    report = _verified(values)
    run = None if plan is None else _judged(report, plan, store, values)
    rows = () if run is None else judged_rows(run, report.verified, seed=values["draw_seed"])
    result = {
        **report.to_json(),
        "judge": run.judge if run else None,
        "run": run.name if run else None,
        "agreement": [row.to_json() for row in rows],
    }
    if output is not None:
        write_json_file(output, result)
    if as_json:
        emit_json(result)
    screen = console(stderr=as_json)
    print_accuracy(report, screen)
    if run is not None:
        print_agreement(run, rows, screen)
    if output is not None:
        say(f"wrote {output}")
    if run is not None:
        exit_if_unanswered(run.status().unanswered_share, values["max_unanswered"])


def _verified(values: dict[str, Any]) -> "AccuracyReport":
    from bineval.errors import DataError
    from bineval.suites.ifbench.accuracy import verify
    from bineval.suites.ifbench.rows import load_ifbench
    from bineval.suites.ifbench.verifiers import Verifiers
    from bineval.suites.loading import draw_groups

    source, seed = str(values["data"]), values["draw_seed"]
    examples, prompts = load_ifbench(values["data"], warn=lambda text: say(f"warning: {text}"))
    if not examples:
        raise DataError("no row has an output to verify", file=source, field="output")
    if values["limit"] is not None:
        examples = draw_groups(examples, values["limit"], seed=seed)
    return verify(examples, Verifiers(), n_without_output=len(prompts), source=source, seed=seed)


def _judged(report: "AccuracyReport", plan: "JudgePlan", store: str | None, values: dict[str, Any]) -> "Run":
    """The judge's run on the outputs that it can be compared on."""
    from bineval.cli.progress import RunProgress
    from bineval.store.database import Store
    from bineval.suites.ifbench.judged import with_verdict

    with Store(store_place(store)) as database, RunProgress() as progress:
        policy = policy_of(values, notice=progress.notice)
        return _run(with_verdict(report.verified), plan, policy, database, progress, values)


def _run(
    verified: "Sequence[Verified]",
    plan: "JudgePlan",
    policy: "CallPolicy",
    database: "Store",
    progress: "ProgressCallback",
    values: dict[str, Any],
) -> "Run":
    from dataclasses import replace

    from bineval.cli.judge_options import open_writer
    from bineval.generation.drafting import GenerateSettings
    from bineval.judging.job import Job, RunOptions
    from bineval.judging.runs import Run
    from bineval.models.budget import Ledger
    from bineval.models.stack import stack
    from bineval.store.replies import StoredReplies
    from bineval.suites.ifbench.judged import (
        AskedProgress,
        ConstraintPlan,
        constraint_checklist,
        generated_checklist,
        n_asked,
    )

    ledger = Ledger(policy.budget)
    job = Job(
        source="ifbench",
        examples=[item.example for item in verified],
        checklist=constraint_checklist(verified),
        plan=ConstraintPlan(judge=plan),
        options=RunOptions(repeats=values["repeats"], policy=policy),
    )
    if values["generate"] is not None:
        job.check()  # before anything is paid for
        writer = stack(open_writer(values), policy, replies=StoredReplies(database), ledger=ledger)
        job = replace(job, checklist=generated_checklist(verified, writer, GenerateSettings(on_step=say)))
    told = AskedProgress(n_asked(job.examples, job.checklist) * values["repeats"], progress)
    return Run(job.execute(database, None, told, ledger=ledger))
