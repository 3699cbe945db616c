"""A generator that follows its instructions, a judge that looks words up, and a note-taker: without any model."""

import json

from bineval.models.scripted import Scripted
from bineval.types import Checklist, Dimension, Example, Question, Request

CHECKLIST = Checklist(
    name="letters",
    dimensions={"manner": Dimension(), "content": Dimension()},
    questions=(
        Question(id="greeting", text="Does it greet?", dimension="manner"),
        Question(id="thanks", text="Does it thank?", dimension="manner"),
        Question(id="topic", text="Does it name the topic?", dimension="content"),
    ),
)
START = "Write a letter."
WORDS = {"greeting": "Hello", "thanks": "Thank you"}
LESSONS = {name: f"Say {word}." for name, word in WORDS.items()}


def inputs(n: int = 60) -> list[Example]:
    """Topics to write letters about, two in a group."""
    return [Example(id=f"e{i}", group=f"g{i // 2}", input=f"topic{i}", output="") for i in range(n)]


def write(request: Request) -> str:
    """Follows its instructions; when they speak of brevity it leaves out the topic."""
    rules, topic = (message.content for message in request.messages)
    parts = [word for word in WORDS.values() if f"Say {word}." in rules]
    return " ".join([*parts, *([] if "Be brief." in rules else [topic])]) or "Well."


def judge(request: Request) -> str:
    """Answers by the words of the output."""
    said = request.messages[-1].content
    output = said.split("<<<BEGIN OUTPUT>>>\n")[1].split("\n<<<END OUTPUT>>>")[0]
    question = next(item for item in CHECKLIST.questions if f"Question: {item.text}" in said)
    yes = WORDS.get(question.id, "topic") in output
    return json.dumps(
        {"explanation": f"I looked for {WORDS.get(question.id, 'topic')}.", "answer": "yes" if yes else "no"}
    )


def notes(added: dict[str, str]) -> Scripted:
    """A note-taker whose lesson on a question is the line that it adds."""

    def reply(request: Request) -> str:
        system, said = (message.content for message in request.messages[:2])
        if "demand that it does not meet" in system:
            found = [item.id for item in CHECKLIST.questions if f"The demand: {item.text}" in said]
            return json.dumps({"lessons": [{"lesson": added[name], "cases": [1]} for name in found if name in added]})
        if "numbered list of lessons" in system:
            lesson = said.split("The new lesson: ")[1].split("\n")[0]
            kept = [line.split(". ", 1)[1] for line in said.split("The list:\n")[1].split("\n\n")[0].splitlines()]
            return json.dumps(
                {"place": [{"lesson": lesson, "same_as": kept.index(lesson) + 1 if lesson in kept else None}]}
            )
        assert "the instructions by which a model writes texts" in system
        lesson = said.split("The lesson: ")[1].split("\n")[0]
        return json.dumps({"edit": [{"find": START, "replace": f"{START}\n{lesson}"}]})

    return Scripted.from_function(reply)
