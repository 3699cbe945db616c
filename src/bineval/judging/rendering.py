"""Shows examples and questions to a model: what the outputs share first, then the output, each inside its fence."""

from bineval.judging.fencing import fence
from bineval.types import Example, Question


def example_text(example: Example, task: str | None) -> str:
    """Returns task, material and output; parts that the example does not have are left out."""
    parts = [
        ("TASK", "The text was written for this task:", task),
        ("INPUT", "The input:", example.input),
        ("CONTEXT", "Further context:", example.context),
        ("REFERENCE", "A known good answer, to compare with:", example.reference),
    ]
    shown = [f"{title}\n{fence(label, text)}" for label, title, text in parts if text is not None]
    title = "The text to check:" if example.output.strip() else "The text to check (it is empty):"
    return "\n\n".join([*shown, f"{title}\n{fence('OUTPUT', example.output)}"])


def question_text(question: Question) -> str:
    """Returns the question, with the sentence that it is about where it is asked of one."""
    if question.sentence is None:
        return question.text
    return f"{question.text}\nAsk this of one sentence of the text alone:\n{fence('SENTENCE', question.sentence)}"
