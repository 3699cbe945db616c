"""A judge with three wrong rules, one that is right, and a note-taker that finds out: real arithmetic, no model."""

import json
import random
import re
from collections.abc import Callable

from bineval.judging.plans import SingleJudge
from bineval.models.scripted import Scripted
from bineval.types import Checklist, Dimension, Example, Question, Request

CHECKLIST = Checklist(
    name="notes",
    dimensions={"manner": Dimension(), "form": Dimension()},
    questions=(
        Question(id="polite", text="Is it polite?", dimension="manner"),
        Question(id="short", text="Is it short?", dimension="form"),
        Question(id="number", text="Does it name a number?", dimension="form"),
    ),
)

WRONG = {
    "polite": "- Only a title such as Sir makes a text polite.",
    "short": "- A short text has at most two words.",
    "number": "- A number is one that is written in letters.",
}
RIGHT = {
    "polite": "- The word please makes a text polite.",
    "short": "- A short text has at most five words.",
    "number": "- A number is one that is written in digits.",
}
LESSONS = {
    "polite": "Politeness needs no title.",
    "short": "More than two words can be short.",
    "number": "Digits make a number.",
}
RULES = "\n".join(["- Read the whole text.", *WRONG.values(), "- Say yes or no."])

PROMPT = f"""+++
source = "a test"
reply = "json"
+++
## rules
{RULES}
## system
$rules
## user
$example
Question: $question
"""

_TRUTH: dict[str, Callable[[list[str]], bool]] = {
    "polite": lambda words: "please" in words,
    "short": lambda words: len(words) <= 5,
    "number": lambda words: any(word.isdigit() for word in words),
}
_BELIEF: dict[str, Callable[[list[str]], bool]] = {
    "polite": lambda words: "sir" in words,
    "short": lambda words: len(words) <= 2,
    "number": lambda words: "seven" in words,
}


def examples(n: int) -> list[Example]:
    """Outputs of two to eight words, two in a group."""
    rng = random.Random(8)
    words = ("please", "sir", "7", "seven", "lamp", "come", "here", "now", "again", "soon")
    return [
        Example(id=f"e{i}", group=f"g{i // 2}", output=" ".join(rng.sample(words, rng.randint(2, 8)))) for i in range(n)
    ]


def target(more: Callable[[str, str, list[str]], bool | None] = lambda *_: None) -> SingleJudge:
    """A judge that believes what its rules say; `more` of rules, question and words may answer first."""

    def answer(rules: str, question: str, words: list[str]) -> bool:
        found = more(rules, question, words)
        if found is not None:
            return found
        return (_BELIEF if WRONG[question] in rules else _TRUTH)[question](words)

    return SingleJudge(model=Scripted.from_function(_judging(answer), "scripted/target"))


def source() -> SingleJudge:
    """A judge that is always right."""
    return SingleJudge(
        model=Scripted.from_function(_judging(lambda _, question, words: _TRUTH[question](words)), "scripted/source")
    )


def truth(question: str, output: str) -> bool:
    """The right answer."""
    return _TRUTH[question](output.split())


def note_taker(
    *,
    lessons: dict[str, str] = LESSONS,
    edits: Callable[[str, str], tuple[str, str]] | None = None,
    place: Callable[[str, list[str]], dict[str, object]] | None = None,
    rewritten: str = "",
) -> Scripted:
    """A model that knows the lesson of each question, and the rule that it changes.

    Args:
        lessons: Lesson by question.
        edits: From rules and lesson to what is found and what replaces it.
        place: From a lesson and those that are kept to its place.
        rewritten: The rules as it writes them anew.
    """

    def reply(request: Request) -> str:
        # A question that is asked again comes after the first one.
        system, said = (message.content for message in request.messages[:2])
        if "cases in which the judge was wrong" in system:
            return _lessons(said, lessons)
        if "You rewrite the rules" in system:
            return json.dumps({"rewritten": [{"rules": rewritten}]})
        if "numbered list of lessons" in system:
            lesson = said.split("The new lesson: ")[1].split("\n")[0]
            kept = re.findall(r"^\d+\. (.*)$", said, re.MULTILINE)
            found = place(lesson, kept) if place else {"same_as": kept.index(lesson) + 1 if lesson in kept else None}
            return json.dumps({"place": [{"lesson": lesson, **found}]})
        rules = said.split("The rules:\n")[1].split("\n\nThe lesson: ")[0]
        lesson = said.split("The lesson: ")[1].split("\n")[0]
        find, replace = edits(rules, lesson) if edits else _edit(lesson)
        return json.dumps({"edit": [{"find": find, "replace": replace}]})

    return Scripted.from_function(reply)


def _edit(lesson: str) -> tuple[str, str]:
    question = next(name for name, text in LESSONS.items() if text == lesson)
    return WRONG[question], RIGHT[question]


def _lessons(said: str, lessons: dict[str, str]) -> str:
    found: dict[str, list[int]] = {}
    for number, text in re.findall(
        r"^Case (\d+)\n(.*?)(?=^Case |\nReply in this form)", said, re.MULTILINE | re.DOTALL
    ):
        # People rate dimensions; what is asked about them is the first question's.
        asked = next((item for item in CHECKLIST.questions if f"Asked: {item.text}" in text), CHECKLIST.questions[0])
        found.setdefault(lessons[asked.id], []).append(int(number))
    return json.dumps({"lessons": [{"lesson": lesson, "cases": numbers} for lesson, numbers in found.items()]})


def _judging(answer: Callable[[str, str, list[str]], bool]) -> Callable[[Request], str]:
    def reply(request: Request) -> str:
        rules, said = request.messages[0].content, request.messages[-1].content
        question = next(item.id for item in CHECKLIST.questions if f"Question: {item.text}" in said)
        output = said.split("<<<BEGIN OUTPUT>>>")[1].split("<<<END OUTPUT>>>")[0]
        yes = answer(rules, question, output.split())
        return json.dumps({"explanation": "So it is.", "answer": "yes" if yes else "no"})

    return reply
