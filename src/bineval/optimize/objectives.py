"""What a judge's answers should be like: those of a better judge, or people's ratings."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Protocol

from bineval.io.verdict_labels import VerdictKey
from bineval.judging.runs import Run
from bineval.methods.human_labels import Ratings
from bineval.optimize.cases import Answered, Case, answers_of, disagreements, failures, judged_words, shown
from bineval.scoring import from_scale, scales_of
from bineval.stats.correlation import correlation_average
from bineval.stats.intervals import mean_interval, proportion_interval, resampling_group
from bineval.stats.levels import Rated
from bineval.stats.paired_differences import paired_differences
from bineval.types import OVERALL, Estimate

# An epsilon of 0 asks for no difference at all.
_NEARLY_NOTHING = 1e-9


class Objective(Protocol):
    """What runs of a judge on the same examples are compared by; greater is better."""

    @property
    def words(self) -> str:
        """What its value is, in a few words."""
        ...

    def value(self, run: Run) -> Estimate:
        """How good the run is."""
        ...

    def gain(self, run: Run, other: Run) -> Estimate:
        """How much better it is than another one, paired."""
        ...

    def dimension_gains(self, run: Run, other: Run) -> Mapping[str, Estimate]:
        """The same by dimension."""
        ...

    def by_question(self, run: Run) -> Mapping[str, float]:
        """How good the answers to each question are, in [0, 1]; those of which nothing is known are left out."""
        ...

    def cases(self, run: Run) -> list[Case]:
        """What the run has wrong, in the order of its data."""
        ...

    def reached(self, run: Run, epsilon: float) -> bool:
        """Whether there is nothing left to gain, by less than `epsilon`."""
        ...

    def too_strict(self, run: Run) -> bool:
        """Whether it says yes less often than it should."""
        ...


class AgreementWithSource:
    """Share of answers that are those of a source judge (BinEval, arXiv 2606.27226, section 3.3, cross-model).

    Args:
        source: Name of the source.
        right: Its answers to all questions about all examples.
    """

    def __init__(self, source: str, right: Mapping[VerdictKey, Answered]) -> None:
        self.words = f"agreement with {source}"
        self._right = right

    def value(self, run: Run) -> Estimate:
        """Share of the answers that both have in which they agree, with an interval over groups."""
        return proportion_interval((group, agrees) for _, group, agrees in self._agreements(run))

    def gain(self, run: Run, other: Run) -> Estimate:
        """Difference of the shares on the answers that all three have."""
        return mean_interval((group, change) for _, group, change in self._changes(run, other))

    def dimension_gains(self, run: Run, other: Run) -> Mapping[str, Estimate]:
        """The same by dimension."""
        dimension_of = {question.id: question.dimension for question in run.checklist.questions}
        found: dict[str, list[tuple[Hashable, float]]] = {name: [] for name in run.checklist.dimensions}
        for key, group, change in self._changes(run, other):
            found[dimension_of[key.question_id]].append((group, change))
        return {name: mean_interval(items) for name, items in found.items()}

    def by_question(self, run: Run) -> Mapping[str, float]:
        """Share in which they agree, by question."""
        return self._shares(run, lambda key: key.question_id)

    def cases(self, run: Run) -> list[Case]:
        """The answers in which they differ."""
        return list(disagreements(run, self._right))

    def reached(self, run: Run, epsilon: float) -> bool:
        """Whether less than `epsilon` of the answers differ in every dimension; equal shares of yes would not do."""
        dimension_of = {question.id: question.dimension for question in run.checklist.questions}
        shares = self._shares(run, lambda key: dimension_of[key.question_id])
        # A dimension of which nothing is known is not reached.
        return all(
            name in shares and 1 - shares[name] < max(epsilon, _NEARLY_NOTHING) for name in dimension_of.values()
        )

    def too_strict(self, run: Run) -> bool:
        """Whether it says yes less often than the source."""
        return sum(int(own) - int(right) for _, own, right in self._both(run)) < 0

    def _shares(self, run: Run, part_of: Callable[[VerdictKey], str]) -> dict[str, float]:
        """Share in which they agree, by part of the questions."""
        found: dict[str, list[bool]] = defaultdict(list)
        for key, own, right in self._both(run):
            found[part_of(key)].append(own == right)
        return {name: sum(items) / len(items) for name, items in found.items()}

    def _agreements(self, run: Run) -> Iterator[tuple[VerdictKey, Hashable, bool]]:
        groups = {example.id: resampling_group(example) for example in run.examples()}
        for key, own, right in self._both(run):
            yield key, groups[key.example_id], own == right

    def _both(self, run: Run) -> Iterator[tuple[VerdictKey, bool, bool]]:
        """Whether the run's answer is yes, and whether the source's is, where both have one."""
        for key, own in answers_of(run).items():
            right = self._right.get(key)
            if right is not None and right.yes is not None and own.yes is not None:
                yield key, own.yes, right.yes

    def _changes(self, run: Run, other: Run) -> Iterator[tuple[VerdictKey, Hashable, float]]:
        before = {key: agrees for key, _, agrees in self._agreements(other)}
        for key, group, agrees in self._agreements(run):
            if key in before:
                yield key, group, float(agrees) - float(before[key])


class CorrelationWithPeople:
    """Spearman's correlation with people's ratings, on the average over the dimensions that they rated (self-update).

    Args:
        ratings: Of people, in their own units.
        gap: How far score and rating, both in [0, 1], lie apart in a case to learn from.
    """

    words = "Spearman's correlation with people"

    def __init__(self, ratings: Ratings, *, gap: float) -> None:
        self._ratings, self._gap = ratings, gap

    def value(self, run: Run) -> Estimate:
        """The correlation over all outputs, with an interval over groups."""
        return correlation_average(self._rated(run), level="pooled").spearman

    def gain(self, run: Run, other: Run) -> Estimate:
        """Difference of the correlations on the outputs that both have."""
        return self._difference(self._rated(run), self._rated(other))

    def dimension_gains(self, run: Run, other: Run) -> Mapping[str, Estimate]:
        """The same by dimension."""
        own, before = self._rated(run), self._rated(other)
        return {name: self._difference({name: own[name]}, {name: before[name]}) for name in own}

    def by_question(self, run: Run) -> Mapping[str, float]:
        """Nothing: people rate dimensions."""
        return {}

    def cases(self, run: Run) -> list[Case]:
        """The outputs whose score and rating lie further apart than the gap."""
        texts = {question.id: question.text for question in run.checklist.questions}
        answers: dict[tuple[str, str], list[str]] = defaultdict(list)
        for row in run.verdicts():
            answers[row.example_id, row.dimension].append(
                f"{row.verdict.answer or 'unknown'} to {texts[row.question_id]!r}"
            )
        found = []
        for example, scores in run.scores():
            for dimension, rating in self._unit_ratings(run, example.id).items():
                value = scores[dimension].value
                if value is not None and abs(value - rating) > self._gap:
                    found.append(
                        Case(
                            example_id=example.id,
                            dimension=dimension,
                            question_id=None,
                            shown=shown(example),
                            told=judged_words(
                                f"{dimension}, by yes/no questions; its score is the share of yes",
                                said=f"score {value:.2f}: {'; '.join(answers[example.id, dimension])}",
                                right=f"people's rating is {rating:.2f} of 1",
                            ),
                        )
                    )
        return found

    def reached(self, run: Run, epsilon: float) -> bool:
        """Whether no score lies further from people's rating than the gap; `epsilon` is not looked at."""
        return not self.cases(run)

    def too_strict(self, run: Run) -> bool:
        """Whether its scores are lower than people's ratings on the mean."""
        changes = [
            value - rating
            for example, scores in run.scores()
            for dimension, rating in self._unit_ratings(run, example.id).items()
            if (value := scores[dimension].value) is not None
        ]
        return sum(changes) < 0

    def _rated(self, run: Run) -> dict[str, list[Rated]]:
        found: dict[str, list[Rated]] = defaultdict(list)
        for example, scores in run.scores():
            for dimension, rating in self._ratings.get(example.id, {}).items():
                if dimension in run.checklist.dimensions and (value := scores[dimension].value) is not None:
                    found[dimension].append(
                        Rated(
                            example_id=example.id,
                            group=resampling_group(example),
                            system=example.system,
                            human=rating,
                            value=value,
                        )
                    )
        # Where people's ratings never vary there is nothing to follow.
        return {name: items for name, items in found.items() if len({item.human for item in items}) > 1}

    def _unit_ratings(self, run: Run, example_id: str) -> dict[str, float]:
        scales = scales_of(run.checklist)
        return {
            dimension: mapped
            for dimension, rating in self._ratings.get(example_id, {}).items()
            if dimension in run.checklist.dimensions and (mapped := from_scale(rating, scales[dimension])) is not None
        }

    def _difference(self, own: Mapping[str, Sequence[Rated]], before: Mapping[str, Sequence[Rated]]) -> Estimate:
        shared = own.keys() & before.keys()
        [found] = paired_differences(
            {name: own[name] for name in own if name in shared},
            {name: before[name] for name in own if name in shared},
            level="pooled",
            wanted=["spearman"],
        )
        return found.estimate


class MeanScore:
    """Mean overall score of the outputs that a generator writes, by the judge's answers or by verifiers."""

    words = "mean overall score"

    def value(self, run: Run) -> Estimate:
        """The mean over outputs with an interval over groups; those without any answer are left out."""
        return mean_interval((group, value) for group, value in self._scores(run, OVERALL).values())

    def gain(self, run: Run, other: Run) -> Estimate:
        """Difference of the means, paired by input."""
        return self._difference(run, other, OVERALL)

    def dimension_gains(self, run: Run, other: Run) -> Mapping[str, Estimate]:
        """The same by dimension."""
        return {name: self._difference(run, other, name) for name in run.checklist.dimensions}

    def by_question(self, run: Run) -> Mapping[str, float]:
        """Share of yes."""
        return yes_rates(run)

    def cases(self, run: Run) -> list[Case]:
        """The questions that outputs fail."""
        return list(failures(run))

    def reached(self, run: Run, epsilon: float) -> bool:
        """Whether the mean is within `epsilon` of 1."""
        value = self.value(run).value
        return value is not None and value > 1 - epsilon

    def too_strict(self, run: Run) -> bool:
        """Never: the judge stays as it is, and fewer yes are worse outputs."""
        return False

    def _scores(self, run: Run, dimension: str) -> dict[str, tuple[Hashable, float]]:
        return {
            example.id: (resampling_group(example), value)
            for example, scores in run.scores()
            if (value := scores[dimension].value) is not None
        }

    def _difference(self, run: Run, other: Run, dimension: str) -> Estimate:
        before = self._scores(other, dimension)
        own = self._scores(run, dimension)
        return mean_interval((group, value - before[name][1]) for name, (group, value) in own.items() if name in before)


def yes_rates(run: Run) -> Mapping[str, float]:
    """Share of yes among the answers to each question that has some."""
    return {
        facts.question_id: facts.n_yes / (facts.n_yes + facts.n_no)
        for facts in run.question_facts()
        if facts.n_yes + facts.n_no
    }
