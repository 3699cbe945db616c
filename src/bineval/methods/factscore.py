"""FActScore (Min et al. 2023, arXiv 2305.14251): the share of an output's atomic facts that its sources support.

It knows nothing about how a fact is checked: that is a yes/no question to any judge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.base import Judge, JudgeWrapper
from bineval.judging.chat import ChatJudge, ChatSettings
from bineval.judging.members import asked, largest_concurrency, paid_together, prefixed, requests_for
from bineval.judging.plans import JudgePlan, Wrap
from bineval.methods.atomic_facts import FactsForm, text_alone
from bineval.models.base import Model
from bineval.templates import PromptSource
from bineval.types import Checklist, Example, Question, Request, Verdict

FACTSCORE_PROMPTS = tuple(FactsForm.variables)

_SUPPORTED = "Is what the text states supported by the material that is given with it?"
_UNSUPPORTED = "The material says otherwise, or does not mention it."


@dataclass(frozen=True, kw_only=True, slots=True)
class FactscoreSettings:
    """How facts are listed and counted.

    Attributes:
        gamma: Fewest facts without a penalty, at least 0; an output with n < gamma facts is multiplied by
            exp(1 - gamma / n). 0 for no penalty.
        temperature: Of the call that lists the facts; None leaves it to the provider.
        seed: Sent to providers that take one; the repeat index is added to it.
        max_tokens: Cap of the list; raised fourfold once when it is cut off.
        prompts: Files that take the place of built-in prompts, by name.
    """

    gamma: float = 10.0
    temperature: float | None = 0.0
    seed: int | None = None
    max_tokens: int = 2_000
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.gamma < inf:  # false for NaN too
            raise ConfigError(f"gamma must be at least 0 and finite, not {self.gamma}")


class Factscore(JudgeWrapper):
    """Rates an output by its facts; see `bineval.judging.base.Judge`.

    A model lists the facts of the output, which alone it is shown. The judge is asked about each of them as if it were
    the output, so that it sees the material and the fact, and nothing else of the output. The rating is the share of
    the answered facts that are supported, times the penalty for few facts; `under` holds the verdict on each fact.

    Facts without an answer are left out of the share, and the explanation counts them; when none has an answer, the
    reason is that of the first. An output without facts, such as an empty one or one that declines to answer, is not
    applicable: FActScore is the mean over the outputs that respond. Without input, context and reference there is
    nothing to check against, which is an error found before any call.

    Args:
        model: The language model that lists the facts.
        judge: The judge that checks them; built without the outputs' task, which a fact was not written for.
        settings: How facts are listed and counted.

    Raises:
        ConfigError: The model writes no text, or a setting is not what is said there.
    """

    def __init__(self, model: Model, judge: Judge, *, settings: FactscoreSettings | None = None) -> None:
        super().__init__(judge)
        self.factscore = settings or FactscoreSettings()
        self._lister = ChatJudge(
            model,
            form=FactsForm(),
            settings=ChatSettings(
                temperature=self.factscore.temperature,
                seed=self.factscore.seed,
                max_tokens=self.factscore.max_tokens,
                prompts=self.factscore.prompts,
            ),
        )

    @property
    def name(self) -> str:
        """Names of the model and the judge, the same one once."""
        return factscore_name(self._lister.name, self.judge.name)

    @property
    def max_concurrency(self) -> int | None:
        """The larger limit of model and judge; None when one has none."""
        return largest_concurrency([self._lister, self.judge])

    @property
    def gives_probability(self) -> bool:
        """It does not: a rating is no probability."""
        return False

    @property
    def settings(self) -> Mapping[str, Json]:
        """How facts are listed, those of the judge, what it is asked, and the penalty."""
        return {
            "kind": "factscore",
            "facts": dict(self._lister.settings),
            "judge": {"name": self.judge.name, **self.judge.settings},
            "question": [_SUPPORTED, _UNSUPPORTED],
            "gamma": self.factscore.gamma,
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """Each question alone.

        Raises:
            ConfigError: A question asks for yes or no, or is asked of each sentence.
        """
        for question in questions:
            _check(question)
        return [[question] for question in questions]

    def parameters_changed(self) -> Mapping[str, str]:
        """Those of the judge, and the listing model's after its name."""
        return {**self.judge.parameters_changed(), **prefixed({self._lister.name: self._lister.parameters_changed()})}

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """The one for the facts, and those about a single fact, in whose place the output stands.

        How many facts there will be is known only then, so an estimate from these is too low.
        """
        if _lack(example) is not None:
            return []
        requests = []
        for question in questions:
            requests += self._lister.first_requests(text_alone(example), [question], repeat=repeat)
            requests += requests_for(self.judge, example, [_about_fact(question, 1)], repeat=repeat)
        return requests

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Rates `example` for each of `questions`; see `Judge.ask`."""
        return [self._rate(example, question, repeat) for question in questions]

    def _rate(self, example: Example, question: Question, repeat: int) -> Verdict:
        if (lack := _lack(example)) is not None:
            return replace(lack, judge=self.name)
        (listed,) = self._lister.ask(text_alone(example), [question], repeat=repeat)
        if listed.answer is None:
            problem = f"the facts could not be listed: {listed.explanation}"
            return replace(listed, explanation=problem, judge=self.name)
        facts = [item.quote for item in listed.evidence]
        checked = [self._check_fact(example, question, i, fact, repeat) for i, fact in enumerate(facts, start=1)]
        verdict = replace(self._settle(checked), judge=self.name, under=tuple(checked))
        return paid_together(verdict, [listed, *checked])

    def _check_fact(self, example: Example, question: Question, number: int, fact: str, repeat: int) -> Verdict:
        """The judge's verdict on one fact, with the fact before its words."""
        about = _about_fact(question, number)
        ((_, verdict),) = asked(self.judge, replace(example, output=fact), [about], repeat=repeat)
        words = f" {verdict.explanation}" if verdict.explanation else ""
        return replace(verdict, judge=f"fact {number}, {verdict.judge}", explanation=f"“{fact}”{words}")

    def _settle(self, checked: Sequence[Verdict]) -> Verdict:
        """The rating that the verdicts on all facts come to."""
        if not checked:
            return Verdict(answer=None, reason="not_applicable", explanation="the output states no fact")
        answered = [verdict for verdict in checked if verdict.answer is not None]
        if not answered:
            first = checked[0]
            problem = f"none of its {len(checked)} facts has an answer; the first: {first.explanation}"
            return Verdict(answer=None, reason=first.reason, explanation=problem)
        n_supported = sum(verdict.answer == "yes" for verdict in answered)
        penalty = length_penalty(len(checked), self.factscore.gamma)
        said = f"{n_supported} of {len(answered)} facts are supported"
        if len(answered) < len(checked):
            said += f"; not counted, for want of an answer: {len(checked) - len(answered)}"
        if penalty < 1:
            said += f"; × {penalty:.3g} for fewer than {self.factscore.gamma:g} facts"
        return Verdict(answer=None, rating=n_supported / len(answered) * penalty, explanation=said)


def length_penalty(n_facts: int, gamma: float) -> float:
    """exp(1 - gamma / n) for 0 < n < gamma facts, else 1: few facts are easily right (the paper's gamma is 10)."""
    return exp(1 - gamma / n_facts) if n_facts < gamma else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FactscorePlan:
    """A plan for FActScore.

    Attributes:
        model: The language model that lists the facts.
        judge: The judge that checks them.
        settings: How facts are listed and counted.
    """

    model: Model
    judge: JudgePlan
    settings: FactscoreSettings = field(default_factory=FactscoreSettings)

    @property
    def name(self) -> str:
        """Names of the model and the judge, the same one once."""
        return factscore_name(self.model.name, self.judge.name)

    def models(self) -> tuple[Model, ...]:
        """The one that lists the facts, and those of the judge."""
        return (self.model, *self.judge.models())

    def build(self, wrap: Wrap, *, checklist: Checklist) -> Judge:
        """Builds the judge, without the outputs' task, and what is around it; see `JudgePlan.build`."""
        judge = self.judge.build(wrap, checklist=replace(checklist, task=None))
        return Factscore(wrap(self.model), judge, settings=self.settings)


def factscore_name(model: str, judge: str) -> str:
    """Name of FActScore with a model that lists facts and a judge that checks them."""
    return f"factscore({judge})" if model == judge else f"factscore({model}, {judge})"


def _check(question: Question) -> None:
    if question.asks != "rating" or question.per != "output":
        raise ConfigError(
            f"question {question.id!r}: FActScore answers questions that ask for a rating of the whole output"
        )


def _lack(example: Example) -> Verdict | None:
    """The verdict on an example that nothing needs to be asked about; None for every other."""
    if not example.output.strip():
        return Verdict(answer=None, reason="not_applicable", explanation="the output is empty, so it states no fact")
    if example.input is None and example.context is None and example.reference is None:
        problem = "the example has no input, context or reference to check facts against"
        return Verdict(answer=None, reason="error", explanation=problem)
    return None


def _about_fact(question: Question, number: int) -> Question:
    """The question whether one fact, which stands in the output's place, is supported."""
    return Question(
        id=f"{question.id}/{number}",
        text=_SUPPORTED,
        dimension=question.dimension,
        violation=_UNSUPPORTED,
        threshold=question.threshold,
    )
