"""The logprob judge: asks a language model for one word and reads P(yes) from the probabilities of its first token.

One token is written for each question, so nearly all the work is reading; a model that reads what questions share only
once answers all questions of an example for about the price of one (`Capabilities.shares_prefix`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.judging.base import ModelJudge
from bineval.judging.one_token import LogprobCheck, one_token_verdicts
from bineval.judging.probability import AnswerMass, answer_mass, verdict_at
from bineval.judging.rendering import example_text, question_text
from bineval.models.base import Model
from bineval.templates import PromptSource, load_prompt
from bineval.types import Example, Question, Reply, Request, Verdict

_PROMPT = "judge_token"
TOKEN_VARIABLES = frozenset({"example", "question", "details"})
"""What can be filled in the prompt."""
_REQUIRED = frozenset({"example", "question"})
LOGPROB_PROMPTS = (_PROMPT,)

_YES, _NO, _SKIP = "yes", "no", "skip"
_TOP_LOGPROBS = 20
_MAY_NOT_APPLY = "If the question does not apply to this text at all, reply Skip instead.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogprobSettings:
    """How the logprob judge reads probabilities.

    Attributes:
        min_mass: Least P(yes) + P(no), in [0, 1]; below it the model was about to say something else, and the verdict
            is unparsed.
        prompts: Files that take the place of built-in prompts, by name.
    """

    min_mass: float = 0.5
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.min_mass <= 1:  # false for NaN too
            raise ConfigError(f"min_mass must lie in [0, 1], not at {self.min_mass}")
        if unknown := sorted(self.prompts.keys() - set(LOGPROB_PROMPTS)):
            raise ConfigError(f"the logprob judge has no prompt {unknown[0]!r}; it has {', '.join(LOGPROB_PROMPTS)}")


class LogprobJudge(ModelJudge):
    """Asks for one word; see `bineval.judging.base.Judge`.

    P(yes) is renormalized over yes and no, all spellings of each summed; the probability of everything else is kept as
    `outside_mass`.

    Raises:
        ConfigError: The model reports no log probabilities.
    """

    gives_probability = True

    def __init__(self, model: Model, *, task: str | None = None, settings: LogprobSettings | None = None) -> None:
        if model.capabilities.top_logprobs == 0:
            other = "chat" if model.capabilities.generates else "decision"
            raise ConfigError(f"{model.name} reports no log probabilities: use --kind {other}")
        super().__init__(model, task=task)
        self.logprob = settings or LogprobSettings()
        path = self.logprob.prompts.get(_PROMPT)
        self._prompt = load_prompt(_PROMPT, given=path, variables=TOKEN_VARIABLES, required=_REQUIRED)
        self._check = LogprobCheck(model.name, ", so there is no P(yes): use --kind chat")

    @property
    def settings(self) -> Mapping[str, Json]:
        """Model, floor and the hash of the prompt."""
        return {
            "kind": "logprob",
            "model": dict(self.model.identity),
            "min_mass": self.logprob.min_mass,
            "prompts": {_PROMPT: self._prompt.hash},
        }

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """All questions together for a model that then reads the example once, else each alone."""
        if self.model.capabilities.shares_prefix:
            return [list(questions)]
        return [[question] for question in questions]

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """One request for each question."""
        return [(self.model, request) for request in self._requests(example, questions, repeat)]

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Answers `questions` about `example`; see `Judge.ask`.

        Raises:
            ConfigError: The model gives no log probabilities, whatever it promised.
        """
        return one_token_verdicts(self.model, questions, self._requests(example, questions, repeat), self._verdict)

    def _requests(self, example: Example, questions: Sequence[Question], repeat: int) -> list[Request]:
        shown = example_text(example, self.task)
        return [
            Request(
                messages=self._prompt.fill(
                    {"example": shown, "question": question_text(question), "details": _details(question)}
                ),
                max_tokens=1,
                top_logprobs=min(_TOP_LOGPROBS, self.model.capabilities.top_logprobs),
                repeat=repeat,
            )
            for question in questions
        ]

    def _verdict(self, question: Question, reply: Reply) -> Verdict:
        if (problem := self._check.problem_of(reply)) is not None:
            return problem
        words = (_YES, _NO, _SKIP) if question.may_not_apply else (_YES, _NO)
        return self._read(question, reply, answer_mass(reply.logprobs or (), words))

    def _read(self, question: Question, reply: Reply, mass: AnswerMass | None) -> Verdict:
        if mass is None:
            problem = f"no token of the reply {reply.text!r} says anything"
            return Verdict(answer=None, reason="unparsed", explanation=problem)
        yes, no = mass.masses[_YES], mass.masses[_NO]
        skip = mass.masses.get(_SKIP, 0.0)
        if skip > max(yes, no) and yes + no + skip >= self.logprob.min_mass:
            return Verdict(answer=None, reason="not_applicable", outside_mass=mass.outside)
        if yes + no == 0 or yes + no < self.logprob.min_mass:
            problem = (
                f"P(yes) + P(no) is {yes + no:.3f}, below --min-mass {self.logprob.min_mass:g}: "
                f"the reply began with {mass.token!r}"
            )
            return Verdict(answer=None, reason="unparsed", explanation=problem, outside_mass=mass.outside)
        probability = yes / (yes + no)
        return replace(verdict_at(probability, question), outside_mass=mass.outside)


def _details(question: Question) -> str:
    violation = f'An example of "No": {question.violation}\n' if question.violation else ""
    return violation + (_MAY_NOT_APPLY if question.may_not_apply else "")
