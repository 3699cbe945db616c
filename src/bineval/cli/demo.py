"""`bineval demo`: the main job on bundled examples, and how many of their planted flaws the judge finds."""

from typing import TYPE_CHECKING, Any

import click

from bineval.cli.options import call_options, model_options, model_options_of, policy_of, store_option, store_place
from bineval.cli.output import console, say, visible

if TYPE_CHECKING:
    from rich.console import Console

    from bineval.demo.planted import PlantedCounts
    from bineval.demo.tasks import DemoTask
    from bineval.judging.runs import Run
    from bineval.models.base import Model
    from bineval.store.database import Store

DEFAULT_JUDGE = "llamacpp/qwen2.5-coder-1.5b"
_GROUPS_OF_A_PART = 1
_MOST_FAILURES = 3


@click.command()
@click.option("--judge", metavar="MODEL", default=DEFAULT_JUDGE, show_default=True, help="Who answers the questions.")
@click.option("--all", "everything", is_flag=True, help="Judge all bundled outputs, not just the first part.")
@store_option
@call_options
@model_options
def demo(judge: str, everything: bool, store: str | None, **values: Any) -> None:
    """Judge bundled outputs that have planted flaws.

    Three tasks: support replies, summaries, extraction. At the end stands how many flaws the judge found. The local
    model is downloaded when it is not there yet.
    """
    from bineval.demo.planted import PlantedCounts
    from bineval.demo.tasks import demo_tasks, part
    from bineval.models.catalog import open_model
    from bineval.store.database import Store

    _pull_if_missing(judge)
    model = open_model(judge, model_options_of(values))
    tasks = demo_tasks()
    shown = tasks if everything else part(tasks, _GROUPS_OF_A_PART)
    n_outputs = sum(len(task.examples) for task in shown)
    say(f"{judge} answers yes/no questions about {n_outputs} outputs of {len(tasks)} tasks.")
    with Store(store_place(store)) as database:
        screen = console()
        total = PlantedCounts()
        for task, piece in zip(tasks, shown, strict=True):
            run = _judge(task, len(piece.examples), model, database, values)
            total += _show(task.name, piece, run, screen)
        _conclude(total, judge, everything, screen)


def _pull_if_missing(judge: str) -> None:
    """Downloads the judge's model file if it is a local one by name."""
    from bineval.cli.models import download_progress
    from bineval.models.catalog import split_name
    from bineval.models.download import pull
    from bineval.models.registry import MODELS

    provider, name = split_name(judge)
    model = next((item for item in MODELS if item.name == name), None)
    if provider != "llamacpp" or model is None:
        return
    with download_progress(model.name) as progress:
        pull(model, progress=progress)


def _judge(task: "DemoTask", n_examples: int, model: "Model", database: "Store", values: dict[str, Any]) -> "Run":
    from bineval.cli.run import execute_with_progress
    from bineval.judging.job import Job, RunOptions
    from bineval.judging.plans import SingleJudge

    say(f"\n{task.name}: {n_examples} outputs x {len(task.checklist.questions)} questions")
    # All examples with a limit, so that the whole set goes on from the part.
    options = RunOptions(limit=n_examples, policy=policy_of(values))
    plan = SingleJudge(model=model)
    job = Job(source="demo", examples=task.examples, checklist=task.checklist, plan=plan, options=options)
    return execute_with_progress(job, database, name=None)


def _show(name: str, piece: "DemoTask", run: "Run", screen: "Console") -> "PlantedCounts":
    """Prints the scores of a task and its failed questions; returns what was found of what was planted."""
    from bineval.cli.run_tables import print_scores
    from bineval.demo.planted import count_planted
    from bineval.judging.summary import summarize

    ids = {example.id for example in piece.examples}
    rows = [row for row in run.verdicts() if row.example_id in ids]
    screen.print(f"\n[bold]{name}[/bold] (run {run.name})")
    # With few outputs a system, its means say nothing: they wait for bineval show.
    print_scores([row for row in summarize(run) if row.system is None], screen)
    texts = {question.id: question.text for question in run.checklist.questions}
    failed = [row for row in rows if row.verdict.answer == "no"]
    screen.print(f"\n{len(failed)} failed questions" + (", the first ones:" if len(failed) > _MOST_FAILURES else ":"))
    for row in failed[:_MOST_FAILURES]:
        screen.print(f"- {row.example_id}: {texts[row.question_id]} no", markup=False)
        screen.print(f"  {visible(row.verdict.explanation or '(no explanation)')}", markup=False, style="dim")
    return count_planted(piece.examples, rows)


def _conclude(total: "PlantedCounts", judge: str, everything: bool, screen: "Console") -> None:
    screen.print("\n[bold]Against the flaws that were planted in the outputs[/bold]")
    screen.print(f"found {total.n_found} of {total.n_planted} planted flaws ({total.n_planted_unanswered} unanswered)")
    screen.print(
        f"called {total.n_false_alarms} of {total.n_sound} sound points flawed ({total.n_sound_unanswered} unanswered)"
    )
    if judge == DEFAULT_JUDGE:
        words = "A small local judge misses much; a stronger one is one option away: bineval demo --judge openai/NAME"
        screen.print(words, soft_wrap=True)
    screen.print("Open a run: bineval show" + ("" if everything else " · judge all outputs: bineval demo --all"))
