"""What a person should know before a run is paid for: examples that cannot fit, and judges that judge their family."""

from collections.abc import Sequence

from bineval.errors import ModelRequestError
from bineval.judging.base import Judge
from bineval.judging.families import self_preference, self_preference_warning
from bineval.judging.units import Units
from bineval.models.base import Model
from bineval.types import Example, Question

_MOST_NAMED = 5


def cautions(judge: Judge, models: Sequence[Model], units: Units, examples: Sequence[Example]) -> list[str]:
    """Returns a sentence for each thing; makes no call.

    Args:
        judge: The judge.
        models: Its models.
        units: What it will be asked.
        examples: What it will judge.
    """
    found = [_too_long(judge, units, examples)]
    pairs = self_preference([model.name for model in models], [example.system for example in examples])
    found.append(self_preference_warning(pairs))
    return [text for text in found if text is not None]


def _too_long(judge: Judge, units: Units, examples: Sequence[Example]) -> str | None:
    """Names the examples whose first question cannot fit, with those in its request, where models can count that."""
    problems: dict[str, str] = {}
    together = bool(examples) and _ask_together(judge, units, examples[0])
    for example in examples:
        can_count = False
        first = _first_batch(judge, units, example)
        # Of requests for one question each, one stands for all: they differ by a few words.
        for model, request in judge.first_requests(example, first if together else first[:1]):
            try:
                can_count = model.count_tokens(request) is not None or can_count
            except ModelRequestError as error:
                can_count = True
                problems.setdefault(example.id, str(error))
        if not can_count:
            break
    if not problems:
        return None
    named = ", ".join(list(problems)[:_MOST_NAMED]) + (", …" if len(problems) > _MOST_NAMED else "")
    return (
        f"{len(problems)} of {len(examples)} examples are too long and will stay unanswered ({named}): "
        f"{next(iter(problems.values()))}"
    )


def _ask_together(judge: Judge, units: Units, example: Example) -> bool:
    """Whether two questions go into one request."""
    two = _first_batch(judge, units, example)[:2]
    return len(two) == 2 and len(judge.first_requests(example, two)) == len(judge.first_requests(example, two[:1]))


def _first_batch(judge: Judge, units: Units, example: Example) -> list[Question]:
    return judge.batches([asked.question for asked in units.of(example)])[0]
