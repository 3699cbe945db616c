"""A judge without any model whose probabilities are known, examples that say their chance, and labels drawn by it."""

import math
import random
from collections.abc import Callable

from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions
from bineval.models.scripted import Scripted
from bineval.types import Checklist, Dimension, Example, Question
from support.weighing import weighing

OPTIONS = RunOptions(judge=JudgeOptions(kind="logprob"))

CHECKLIST = Checklist(
    name="facts",
    dimensions={"truth": Dimension(), "tone": Dimension()},
    questions=(
        Question(id="tru-1", text="Is it true?", dimension="truth"),
        Question(id="ton-1", text="Is it kind?", dimension="tone"),
        Question(id="ton-2", text="Is it calm?", dimension="tone"),
    ),
)


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def chance(number: int) -> float:
    """The chance that the output of an example says: twenty different ones in turn."""
    return (number % 20 + 0.5) / 20


def probable(p_yes: Callable[[float, str], float | None], name: str = "scripted/probable") -> Scripted:
    """A model whose P(yes) is `p_yes(chance in the output, question's text)`; None is a reply without an answer."""

    def decide(output: str, question: str) -> float | str:
        probability = p_yes(float(output.removeprefix("chance ")), question)
        return "Hm" if probability is None else probability

    return weighing(decide, name)


def overconfident(chance: float, _: str) -> float:
    """Log-odds three times too large, and one too high."""
    return logistic(3 * logit(chance) + 1)


def examples(n: int) -> list[Example]:
    """Outputs that say with which chance the answer to a question about them is yes."""
    return [Example(id=f"e{i}", output=f"chance {chance(i)}") for i in range(n)]


def drawn_labels(n: int, question_ids: tuple[str, ...], seed: int = 0) -> list[dict[str, str]]:
    """Rows of labels that are yes with the chance of their example."""
    generator = random.Random(seed)
    return [
        {"example_id": f"e{i}", "question_id": question, "answer": "yes" if generator.random() < chance(i) else "no"}
        for i in range(n)
        for question in question_ids
    ]
