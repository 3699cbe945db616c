"""BinEval's decomposition (arXiv 2606.27226, section 3.1): from a task prompt to requirements to yes/no questions."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bineval.errors import ConfigError, ModelError
from bineval.generation.drafting import Drafter, GenerateSettings
from bineval.generation.lint import lint
from bineval.generation.questions import QuestionWriter
from bineval.generation.requirements import Plan, find_requirements
from bineval.hashing import Json, tagged_hash
from bineval.models.base import Model
from bineval.models.catalog import open_model
from bineval.models.stack import stack
from bineval.types import OVERALL, Checklist, Dimension, Question, Scale
from bineval.version import __version__


def decompose(
    task: str,
    model: str | Model,
    *,
    name: str = "checklist",
    dimensions: Mapping[str, Dimension] | Iterable[str] = (),
    scale: Scale | None = None,
    settings: GenerateSettings | None = None,
) -> Checklist:
    """Makes a checklist for outputs of the task prompt `task`.

    The model first lists the task's requirements, then writes questions for one dimension after the other. What `lint`
    holds against a list is sent back to the model a bounded number of times. What is left then stays in the
    checklist and is named under `findings` in its provenance: it is a draft for a person to read.

    Args:
        task: The instruction under which the outputs are written.
        model: Writes requirements and questions; `provider/model`, or a model.
        name: Name of the checklist.
        dimensions: Sides of quality to ask about, by name or as names alone; without any, the model chooses.
        scale: Interval for the overall score and for every dimension that has none of its own.
        settings: How the model is asked.

    Raises:
        ConfigError: The task is empty, or a dimension has a name that it cannot have.
        ModelError: A call failed, the model refused, its reply was cut off, or no question could be read from it.
        BudgetExceeded: A cap of the model's budget is reached.
    """
    if not task.strip():
        raise ConfigError("the task prompt is empty")
    opened = stack(open_model(model)) if isinstance(model, str) else model
    drafter = Drafter(opened, settings or GenerateSettings())
    drafter.say("listing the requirements of the task")
    plan = find_requirements(task, _given(dimensions), drafter)
    questions, n_rounds = _write_all(task, plan, drafter)
    if not questions:
        raise ModelError("no yes/no question could be read from its replies; try a stronger model", model=opened.name)
    checklist = Checklist(
        name=name,
        questions=tuple(questions),
        dimensions={key: replace(value, scale=value.scale or scale) for key, value in plan.dimensions.items()},
        task=task,
        scale=scale,
        provenance={
            "method": "decompose",
            "bineval": __version__,
            "task": tagged_hash("task/1", task),
            **drafter.provenance(),
            "rounds": {"requirements": plan.n_rounds, "questions": n_rounds},
            "requirements": [requirement.to_json() for requirement in plan.requirements],
        },
    )
    findings: Json = [finding.to_json() for finding in lint(checklist)]
    return replace(checklist, provenance={**checklist.provenance, "findings": findings})


def _write_all(task: str, plan: Plan, drafter: Drafter) -> tuple[list[Question], dict[str, Json]]:
    writer = QuestionWriter(task, plan, drafter)
    questions: list[Question] = []
    n_rounds: dict[str, Json] = {}
    for number, dimension in enumerate(plan.dimensions, 1):
        requirements = plan.of(dimension)
        if not requirements:
            continue
        place = f"{dimension} ({number} of {len(plan.dimensions)})"
        drafter.say(f"writing questions for {place}, {len(requirements)} requirements")
        written, n_rounds[dimension] = writer.write(dimension, questions)
        questions += written
    return questions, n_rounds


def _given(dimensions: Mapping[str, Dimension] | Iterable[str]) -> dict[str, Dimension]:
    given = dict(dimensions) if isinstance(dimensions, Mapping) else {name: Dimension() for name in dimensions}
    for name in given:
        if not name.strip() or name.casefold() == OVERALL:
            raise ConfigError(f"a dimension cannot be called {name!r}: {OVERALL!r} is the score over all questions")
    return given
