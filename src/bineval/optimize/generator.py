"""A model that writes outputs by a generation prompt, which a loop improves by what a judge says of the outputs."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from bineval.errors import DataError, ModelError
from bineval.judging.json_text import without_reasoning
from bineval.judging.plans import JudgePlan
from bineval.judging.runs import Run
from bineval.models.base import Model
from bineval.optimize.evaluator import Evaluator, version_of
from bineval.optimize.subjects import WRITER
from bineval.templates import Prompt, prompt_of_rules
from bineval.types import Example, Reply, Request

_PROMPT = "generation"
_USER = "$input"


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteSettings:
    """How outputs are written.

    Attributes:
        max_tokens: Cap of an output; one that is cut off counts as it is.
        temperature: 0 for the likeliest words; None leaves it to the provider.
        seed: Sent to providers that take one.
    """

    max_tokens: int = 1_000
    temperature: float | None = 0.0
    seed: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Generator:
    """A generator as the subject of a loop; see `bineval.optimize.subjects.Subject`.

    Attributes:
        model: Writes, with its cache and budget around it.
        judge: Judges what it writes.
        start: Its prompt, of `generation_prompt`.
        settings: How it writes.
        evaluator: Makes the judge's runs, of the inputs of its examples.
        n_threads: Calls at once.
    """

    model: Model
    judge: JudgePlan
    start: Prompt
    settings: WriteSettings
    evaluator: Evaluator
    n_threads: int
    role = WRITER

    @property
    def name(self) -> str:
        """Name of its model."""
        return self.model.name

    @property
    def n_examples(self) -> dict[str, int]:
        """Inputs by split."""
        return self.evaluator.n_examples

    def run(self, prompt: Prompt, split: str) -> Run:
        """The judge's run on what is written for one split with a version of the prompt."""
        inputs = self.evaluator.parts[split]
        self.evaluator.say(f"{self.name} writes for {split} ({len(inputs)} inputs, {version_of(prompt)})")
        requests = [self._request(prompt, example) for example in inputs]
        n_threads = min(self.n_threads, self.model.max_concurrency or self.n_threads)
        with ThreadPoolExecutor(n_threads, thread_name_prefix="bineval-write") as pool:
            replies = list(pool.map(self.model.complete, requests))
        written = [replace(example, output=self._output(reply)) for example, reply in zip(inputs, replies, strict=True)]
        return self.evaluator.run(self.judge, split, version_of(prompt), examples=written)

    def _request(self, prompt: Prompt, example: Example) -> Request:
        given = "\n\n".join(part for part in (example.context, example.input) if part)
        return Request(
            messages=prompt.fill({"input": given}),
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
            seed=self.settings.seed,
        )

    def _output(self, reply: Reply) -> str:
        if reply.refusal is not None or reply.finish_reason == "refused":
            # What it says in place of an output is judged: a prompt that makes it refuse is a worse prompt.
            return reply.refusal or reply.text
        output = without_reasoning(reply.text).strip()
        if not output and reply.finish_reason == "length":
            problem = f"nothing but hidden reasoning came within {self.settings.max_tokens} tokens: raise the cap"
            raise ModelError(problem, model=self.name)
        return output


def generation_prompt(instructions: str) -> Prompt:
    """The prompt whose system message is the instructions, and whose user message is the input.

    Raises:
        TemplateError: The instructions are empty or hold a title such as "## system".
    """
    return prompt_of_rules(_PROMPT, instructions, user=_USER, source="the user's own")


def check_inputs(examples: Sequence[Example], source: str) -> None:
    """Makes sure that there is an input to write for in each example.

    Raises:
        DataError: One has none.
    """
    for example in examples:
        if not (example.input or example.context):
            raise DataError(f"example {example.id!r} has no input to write for", file=source, field="input")
