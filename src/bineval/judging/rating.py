"""Judges that rate by one number without an explanation: weighted by its probability, or as the mean of samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bineval.errors import ConfigError, ModelBusyError, ModelError
from bineval.hashing import Json
from bineval.judging.base import ModelJudge
from bineval.judging.one_token import LogprobCheck, one_token_verdicts
from bineval.judging.probability import answer_mass
from bineval.judging.rating_form import number_in
from bineval.judging.rating_scale import RatingScale
from bineval.judging.rendering import example_text, question_text
from bineval.judging.talk import Talk, refusal_in, replies_together
from bineval.models.base import Model
from bineval.templates import PromptSource, load_prompt
from bineval.types import Example, Question, Reason, Reply, Request, Verdict

_PROMPT = "rate_token"
RATE_PROMPTS = (_PROMPT,)
_VARIABLES = frozenset({"example", "rating", "low", "high"})
_REQUIRED = frozenset({"example", "rating"})
_TOP_LOGPROBS = 20
_SAMPLE_TOKENS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class RateSettings:
    """How a number is asked for.

    Attributes:
        min_mass: Least probability, in [0, 1], of the numbers of the scale together; below it the model was about to
            say something else, and the verdict is unparsed.
        n_samples: How many numbers are drawn where there are no probabilities.
        temperature: Of the samples.
        seed: Of the samples, sent to models that take one; the sample's number is added to it.
        max_tokens: Cap of a sample; models that reason before they answer need more than a number takes.
        prompts: Files that take the place of built-in prompts, by name.
    """

    min_mass: float = 0.5
    n_samples: int = 20
    temperature: float = 1.0
    seed: int | None = None
    max_tokens: int = _SAMPLE_TOKENS
    prompts: Mapping[str, PromptSource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.min_mass <= 1:  # false for NaN too
            raise ConfigError(f"min_mass must lie in [0, 1], not at {self.min_mass}")
        if self.n_samples < 1:
            raise ConfigError(f"n_samples must be at least 1, not {self.n_samples}")
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if unknown := sorted(self.prompts.keys() - set(RATE_PROMPTS)):
            raise ConfigError(f"this method has no prompt {unknown[0]!r}; it has {', '.join(RATE_PROMPTS)}")


class _RatingJudge(ModelJudge):
    """What the two judges share: what is asked, and of which questions together."""

    gives_probability = False

    def __init__(
        self, model: Model, *, task: str | None, scales: Mapping[str, RatingScale], settings: RateSettings | None = None
    ) -> None:
        if not model.capabilities.generates:
            raise ConfigError(f"{model.name} writes no text: it cannot give a rating")
        super().__init__(model, task=task)
        self.scales, self.rate = scales, settings or RateSettings()
        self._prompt = load_prompt(
            _PROMPT, given=self.rate.prompts.get(_PROMPT), variables=_VARIABLES, required=_REQUIRED
        )

    def batches(self, questions: Sequence[Question]) -> list[list[Question]]:
        """All questions together for a model that then reads the example once, else each alone."""
        if self.model.capabilities.shares_prefix:
            return [list(questions)]
        return [[question] for question in questions]

    def _request(self, shown: str, question: Question) -> Request:
        scale = self.scales[question.dimension]
        values = {
            "example": shown,
            "rating": question_text(question),
            "low": str(scale.low),
            "high": str(scale.high),
        }
        return Request(messages=self._prompt.fill(values), max_tokens=1)


class WeightedRatingJudge(_RatingJudge):
    """Rates by Σ p(s)·s over the scale, from the probabilities of the first token (G-Eval, arXiv 2303.16634).

    The probabilities are renormalized over the numbers of the scale.

    Raises:
        ConfigError: The model reports no log probabilities, or a scale has numbers of two digits.
    """

    def __init__(
        self, model: Model, *, task: str | None, scales: Mapping[str, RatingScale], settings: RateSettings | None = None
    ) -> None:
        if model.capabilities.top_logprobs == 0:
            raise ConfigError(f"{model.name} reports no log probabilities: ratings must be sampled")
        for name, scale in scales.items():
            if scale.low < 0 or scale.high > 9:
                raise ConfigError(
                    f"dimension {name}: probabilities are read of one digit, and its scale is "
                    f"{scale.low} to {scale.high}: use a scale within 0 to 9, or --samples 20"
                )
        super().__init__(model, task=task, scales=scales, settings=settings)
        self._check = LogprobCheck(model.name, ": give --samples 20 to sample ratings")

    @property
    def settings(self) -> Mapping[str, Json]:
        """Model, floor, scales and the hash of the prompt."""
        return {
            "kind": "weighted_rating",
            "model": dict(self.model.identity),
            "min_mass": self.rate.min_mass,
            "scales": _scales_json(self.scales),
            "prompts": {_PROMPT: self._prompt.hash},
        }

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """One request for each question."""
        return [(self.model, request) for request in self._requests(example, questions, repeat)]

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Rates `example`; see `Judge.ask`."""
        return one_token_verdicts(self.model, questions, self._requests(example, questions, repeat), self._read)

    def _requests(self, example: Example, questions: Sequence[Question], repeat: int) -> list[Request]:
        shown, n_top = example_text(example, self.task), min(_TOP_LOGPROBS, self.model.capabilities.top_logprobs)
        return [replace(self._request(shown, question), top_logprobs=n_top, repeat=repeat) for question in questions]

    def _read(self, question: Question, reply: Reply) -> Verdict:
        if (problem := self._check.problem_of(reply)) is not None:
            return problem
        scale = self.scales[question.dimension]
        mass = answer_mass(reply.logprobs or (), [str(number) for number in scale.numbers()])
        total = sum(mass.masses.values()) if mass else 0.0
        if mass is None or total == 0 or total < self.rate.min_mass:
            said = f"the numbers of the scale have probability {total:.3f} only: the reply began with {reply.text!r}"
            outside = mass.outside if mass else None
            return Verdict(answer=None, reason="unparsed", explanation=said, outside_mass=outside)
        shares = {int(word): share / total for word, share in mass.masses.items()}
        return Verdict(
            answer=None,
            rating=scale.unit(sum(number * share for number, share in shares.items())),
            explanation="probabilities: " + ", ".join(f"{number} {share:.3f}" for number, share in shares.items()),
            outside_mass=mass.outside,
        )


class SampledRatingJudge(_RatingJudge):
    """Rates by the mean of samples at temperature 1 (G-Eval, for models without log probabilities).

    Samples without a usable number are left out and counted in the explanation; they are never taken for a 0.
    """

    @property
    def settings(self) -> Mapping[str, Json]:
        """Model, samples, scales and the hash of the prompt."""
        return {
            "kind": "sampled_rating",
            "model": dict(self.model.identity),
            "n_samples": self.rate.n_samples,
            "temperature": self.rate.temperature,
            "seed": self.rate.seed,
            "max_tokens": self.rate.max_tokens,
            "scales": _scales_json(self.scales),
            "prompts": {_PROMPT: self._prompt.hash},
        }

    def first_requests(
        self, example: Example, questions: Sequence[Question], *, repeat: int = 0
    ) -> list[tuple[Model, Request]]:
        """The samples of each question."""
        shown = example_text(example, self.task)
        return [(self.model, request) for question in questions for request in self._samples(shown, question, repeat)]

    def ask(self, example: Example, questions: Sequence[Question], *, repeat: int = 0) -> list[Verdict]:
        """Rates `example`; see `Judge.ask`."""
        shown = example_text(example, self.task)
        return [self._rate(question, self._samples(shown, question, repeat)) for question in questions]

    def _samples(self, shown: str, question: Question, repeat: int) -> list[Request]:
        request = replace(
            self._request(shown, question), max_tokens=self.rate.max_tokens, temperature=self.rate.temperature
        )
        numbers = (repeat * self.rate.n_samples + i for i in range(self.rate.n_samples))
        seed = self.rate.seed
        return [replace(request, repeat=n, seed=None if seed is None else seed + n) for n in numbers]

    def _rate(self, question: Question, requests: Sequence[Request]) -> Verdict:
        talk, scale = Talk(self.model), self.scales[question.dimension]
        numbers: list[float] = []
        problems: list[tuple[Reason, str]] = []
        for request, reply in zip(requests, replies_together(self.model, requests), strict=True):
            try:
                reply = talk.book(reply) if reply else talk.send(request)
            except ModelError as error:
                if error.stops_run or isinstance(error, ModelBusyError):
                    raise
                problems.append(("error", str(error)))
                continue
            number = number_in(reply.text, scale)
            if number is not None:
                numbers.append(number)
            elif refusal := refusal_in(reply):
                problems.append(("refused", refusal))
            elif reply.finish_reason == "length":
                problems.append(("truncated", self._cut_off(reply)))
            else:
                problems.append(("unparsed", f"the reply {reply.text!r} is no number of the scale"))
        reason, problem = problems[0] if problems else ("unparsed", "")
        rating = scale.unit(sum(numbers) / len(numbers)) if numbers else None
        return Verdict(
            answer=None,
            rating=rating,
            reason=reason if rating is None else None,
            explanation=problem if rating is None else _account(numbers, len(requests)),
            judge=self.name,
            usage=talk.usage,
            cached=talk.all_cached,
            replies=tuple(talk.keys),
        )

    def _cut_off(self, reply: Reply) -> str:
        said = "spent on hidden reasoning" if reply.reasoning and not reply.text.strip() else repr(reply.text)
        return (
            f"the cap of {self.rate.max_tokens} tokens cut the reply off before a number of the scale ({said}): "
            "raise --max-reply-tokens"
        )


def _account(numbers: Sequence[float], n_samples: int) -> str:
    """How often each number was drawn, and how many samples are left out."""
    drawn = ", ".join(f"{number:g} ({numbers.count(number)})" for number in sorted(set(numbers)))
    left_out = n_samples - len(numbers)
    return f"samples: {drawn}" + (
        f"; {left_out} of {n_samples} without a usable number are left out" if left_out else ""
    )


def _scales_json(scales: Mapping[str, RatingScale]) -> dict[str, Json]:
    return {name: [scale.low, scale.high] for name, scale in scales.items()}
