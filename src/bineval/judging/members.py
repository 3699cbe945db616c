"""Judges inside a judge: told apart by name, asked by their own batches, paid for together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bineval.errors import ConfigError
from bineval.judging.base import Judge
from bineval.models.base import Model
from bineval.types import Example, Question, Request, Usage, Verdict


def distinct_names(judges: Sequence[Judge]) -> list[str]:
    """Names that tell the judges apart: those of one model have their kind too, as in "openai/x (logprob)".

    Raises:
        ConfigError: Two judges have the same name and kind.
    """
    n_of_name = Counter(judge.name for judge in judges)
    names = [
        judge.name if n_of_name[judge.name] == 1 else f"{judge.name} ({judge.settings.get('kind')})" for judge in judges
    ]
    for name, n in Counter(names).items():
        if n > 1:
            raise ConfigError(f"{name} is there {n} times: judges that judge together must differ in model or kind")
    return names


def asked(
    judge: Judge, example: Example, questions: Sequence[Question], *, repeat: int
) -> Iterator[tuple[Question, Verdict]]:
    """Asks by the judge's own batches, and yields each question with its verdict; raises as `Judge.ask`."""
    for batch in judge.batches(questions) if questions else ():
        yield from zip(batch, judge.ask(example, batch, repeat=repeat), strict=True)


def requests_for(
    judge: Judge, example: Example, questions: Sequence[Question], *, repeat: int
) -> list[tuple[Model, Request]]:
    """The first requests of `asked`."""
    return [
        request for batch in judge.batches(questions) for request in judge.first_requests(example, batch, repeat=repeat)
    ]


def paid_together(verdict: Verdict, parts: Sequence[Verdict]) -> Verdict:
    """Returns `verdict` with what all its parts took."""
    return replace(
        verdict,
        usage=sum((part.usage for part in parts), Usage()),
        cached=all(part.cached for part in parts),
        replies=tuple(key for part in parts for key in part.replies),
    )


def largest_concurrency(parts: Sequence[Judge | Model]) -> int | None:
    """The largest limit of the parts; None when one has no limit."""
    limits = [part.max_concurrency for part in parts]
    known = [limit for limit in limits if limit is not None]
    return max(known) if len(known) == len(limits) else None


def prefixed(changes: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The changed parameters of several judges or models, by name, as one mapping."""
    return {f"{name}: {parameter}": what for name, items in changes.items() for parameter, what in items.items()}
