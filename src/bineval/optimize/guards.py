"""What keeps a changed prompt from being kept, and what of it must be told."""

from bineval.judging.runs import Run
from bineval.optimize.objectives import Objective, yes_rates
from bineval.stats.intervals import mean_interval, resampling_group
from bineval.types import Estimate

# A change that costs answers makes a judge look good on those that are left.
_MOST_LOST = 0.02


def refusals(run: Run, best: Run, objective: Objective) -> list[str]:
    """Returns why new rules are not kept, whatever they gain on the whole; empty when nothing speaks against them.

    Args:
        run: The judge with them, on dev.
        best: The judge with the best rules so far, on the same examples.
        objective: What the two are compared by.
    """
    found = [
        f"{name} loses beyond noise: {interval_words(gain)}"
        for name, gain in objective.dimension_gains(run, best).items()
        if gain.direction == "below"
    ]
    lost = run.status().unanswered_share - best.status().unanswered_share
    if lost > _MOST_LOST:
        found.append(f"{lost:.1%} more of the questions have no answer")
    return found


def severity_drift(run: Run, start: Run, objective: Objective) -> str | None:
    """Returns what to say when a judge has become too strict about everything; None when it has not.

    That is so when the share of yes fell for every question that had some, on the mean over examples beyond noise, and
    below what the objective asks for: a judge that was too lenient has to say yes less often.
    """
    if not objective.too_strict(run):
        return None
    now, before = yes_rates(run), yes_rates(start)
    shared = [name for name in before if name in now and before[name] > 0]
    if not shared or any(now[name] >= before[name] for name in shared):
        return None
    own, earlier = _yes_shares(run), _yes_shares(start)
    groups = {example.id: resampling_group(example) for example in run.examples()}
    fall = mean_interval((groups[name], own[name] - earlier[name]) for name in own if name in earlier)
    if fall.direction != "below":
        return None
    return (
        f"severity drift: the judge says yes less often to each of the {len(shared)} questions, {interval_words(fall)}"
    )


def _yes_shares(run: Run) -> dict[str, float]:
    """Share of yes among the answers about each example."""
    counts: dict[str, list[bool]] = {}
    for row in run.verdicts():
        if row.verdict.answer is not None:
            counts.setdefault(row.example_id, []).append(row.verdict.answer == "yes")
    return {name: sum(answers) / len(answers) for name, answers in counts.items()}


def interval_words(estimate: Estimate) -> str:
    """A gain with its interval, such as "+0.120 [+0.080, +0.170]"."""
    value = f"{estimate.value:+.3f}" if estimate.value is not None else "undefined"
    return value if estimate.low is None else f"{value} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
