"""Improving a generation prompt by what a judge, or a program, says of the outputs (BinEval, section 3.4)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from bineval.errors import ConfigError
from bineval.generation.drafting import GenerateSettings
from bineval.hashing import Json, tagged_hash
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgePlan
from bineval.judging.runner import ProgressCallback
from bineval.models.base import Model
from bineval.optimize.generator import Generator, WriteSettings, check_inputs, generation_prompt
from bineval.optimize.loop import Loop, LoopSettings
from bineval.optimize.objectives import MeanScore
from bineval.optimize.record import LoopRecord
from bineval.optimize.session import LoopSession
from bineval.store.database import Store
from bineval.types import Checklist, Example


@dataclass(frozen=True, kw_only=True, slots=True)
class Improvement:
    """A generation prompt that is to be improved.

    Attributes:
        examples: Inputs; an output that they have is not looked at. Split by group into train, dev and test.
        checklist: The questions that outputs should satisfy.
        instructions: The prompt, sent as the system message.
        generator: Writes outputs.
        judge: Answers the questions about them: a model's judge, the generator's own or another, or a program's.
        note_taker: Writes lessons and edits.
        n_train: Inputs that lessons are drawn from, at least.
        n_dev: Inputs that choices are made on, at least; the rest is test.
        settings: How to look for better instructions.
        writing: How outputs are written.
        write: How the note-taker is asked.
        options: Repeats and call options of all models.
    """

    examples: Sequence[Example]
    checklist: Checklist
    instructions: str
    generator: Model
    judge: JudgePlan
    note_taker: Model
    n_train: int = 60
    n_dev: int = 60
    settings: LoopSettings = field(default_factory=LoopSettings)
    writing: WriteSettings = field(default_factory=WriteSettings)
    write: GenerateSettings = field(default_factory=GenerateSettings)
    options: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        if self.options.limit is not None:
            raise ConfigError("a loop has no limit: give fewer examples")
        for model in (self.generator, self.note_taker):
            if not model.capabilities.generates:
                raise ConfigError(f"{model.name} writes no text: name a model that does")

    def identity(self) -> dict[str, Json]:
        """What a resumed loop must share."""
        judge = self.judge.build(lambda model: model, checklist=self.checklist)
        return {
            "data": tagged_hash("loop-data/1", [example.to_json() for example in self.examples]),
            "checklist": self.checklist.fingerprint(),
            "generator": dict(self.generator.identity),
            "judge": dict(judge.settings),
            "prompt": generation_prompt(self.instructions).hash,
            "parameters": {
                **asdict(self.settings),
                "writing": asdict(self.writing),
                "n_train": self.n_train,
                "n_dev": self.n_dev,
                "repeats": self.options.repeats,
            },
        }


def improve(
    improvement: Improvement,
    store: Store,
    name: str,
    *,
    source: str = "data",
    say: Callable[[str], None] = lambda _: None,
    on_progress: ProgressCallback | None = None,
) -> LoopRecord:
    """Improves the instructions of a generator; under the same name it resumes, and pays for no call twice.

    Args:
        improvement: The prompt, and what outputs should be like.
        store: Keeps prompts, lessons, outputs, runs and replies.
        name: Name of the loop; its runs stand under it.
        source: Name of the data, for errors.
        say: Told what comes next.
        on_progress: Told after every batch of verdicts.

    Raises:
        DataError: An example has no input.
        ConfigError: Something does not fit, or another loop has this name; nothing was paid for.
        ModelError: A model cannot be used; what is finished is kept.
        BudgetExceeded: A cap was reached; what is finished is kept.
    """
    check_inputs(improvement.examples, source)
    with LoopSession(improvement, store, name, say=say, on_progress=on_progress) as session:
        if session.finished is not None:
            return session.finished
        generator = Generator(
            model=session.wrapped(improvement.generator),
            judge=improvement.judge,
            start=generation_prompt(improvement.instructions),
            settings=improvement.writing,
            evaluator=session.evaluator,
            n_threads=improvement.options.policy.limits.concurrency,
        )
        loop = Loop(
            subject=generator,
            objective=MeanScore(),
            drafter=session.drafter,
            settings=improvement.settings,
            keep=session.keep,
        )
        return loop.run()
