"""The steps by which a rater comes to a score, written once per dimension by a model (G-Eval, arXiv 2303.16634)."""

import re

from bineval.errors import ModelError
from bineval.generation.drafting import STEPS_VARIABLES, Drafter, GenerateSettings
from bineval.generation.replies import steps_form
from bineval.generation.requirements import describe_dimension
from bineval.judging.fencing import fence
from bineval.judging.rating_scale import rating_scale
from bineval.models.base import Model
from bineval.types import Dimension

_MARK = re.compile(r"^(?:step\s*)?\(?\d+[.):](?!\d)\s*", re.IGNORECASE)
_NO_TASK = "(not stated)"


def evaluation_steps(
    name: str, dimension: Dimension, model: Model, *, task: str | None, settings: GenerateSettings | None = None
) -> tuple[str, ...]:
    """Writes the steps for one dimension.

    Args:
        name: Name of the dimension.
        dimension: Its description and scale.
        model: Writes them.
        task: What the outputs were written for.
        settings: How the model is asked.

    Raises:
        ModelError: The call failed, or no reply held a step.
    """
    drafter = Drafter(model, settings or GenerateSettings(), STEPS_VARIABLES)
    drafter.say(f"writing the evaluation steps of {name}")
    scale = rating_scale(dimension.scale)
    values = {
        "task": fence("TASK", task) if task else _NO_TASK,
        "dimension": describe_dimension(name, dimension),
        "low": str(scale.low),
        "high": str(scale.high),
    }
    draft = drafter.draft("evaluation_steps", values, steps_form(), lambda entries: [])
    steps = [_MARK.sub("", entry.step) for entry in draft.entries]
    # A number alone is no step.
    if not (steps := [step for step in steps if step]):
        raise ModelError(f"no evaluation step could be read for dimension {name}", model=model.name)
    return tuple(steps)
