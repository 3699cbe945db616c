import json
import re
from collections import Counter
from itertools import groupby

import pytest

from bineval.demo.planted import planted_questions
from bineval.demo.tasks import DemoTask, demo_tasks, part
from bineval.types import Example

FIELDS = {"customer", "item", "quantity", "deliver_on", "phone"}
TASKS = {task.name: task for task in demo_tasks()}
EXAMPLES = [example for task in TASKS.values() for example in task.examples]


def given(example: Example) -> str:
    return " ".join(text for text in (example.input, example.context) if text)


def n_sentences(text: str) -> int:
    return len(re.findall(r"[.!?](?:\s|$)", text))


def parses(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False


def order_in(text: str) -> dict[str, object]:
    """The object in an output, without what makes it invalid."""
    order = json.loads(text[text.index("{") : text.rindex("}") + 1].replace(",}", "}"))
    assert isinstance(order, dict)
    return order


def fails(task: DemoTask, question_id: str) -> dict[str, bool]:
    return {example.id: question_id in planted_questions(example) for example in task.examples}


def test_the_demo_has_three_tasks_in_a_fixed_order() -> None:
    assert list(TASKS) == ["support", "summary", "extraction"]
    assert [task.checklist.name for task in TASKS.values()] == list(TASKS)


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_a_task_has_four_source_texts_with_three_or_four_outputs_each(task: DemoTask) -> None:
    groups = [list(rows) for _, rows in groupby(task.examples, key=lambda example: example.group)]
    assert [len(rows) for rows in groups] == [3, 4, 3, 4]
    for rows in groups:
        assert len({given(example) for example in rows}) == 1
        assert len({example.system for example in rows}) == len(rows)
        assert len({example.output for example in rows}) == len(rows)
    assert len({given(example) for example in task.examples}) == 4


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_a_checklist_has_five_questions_with_violations_on_a_scale_from_1_to_5(task: DemoTask) -> None:
    assert len(task.checklist.questions) == 5
    assert all(question.text.endswith("?") and question.violation for question in task.checklist.questions)
    assert all(dimension.scale == (1, 5) for dimension in task.checklist.dimensions.values())
    assert task.checklist.scale == (1, 5)
    assert task.checklist.task


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_half_of_the_outputs_are_flawed_and_every_question_fails_twice(task: DemoTask) -> None:
    planted = [planted_questions(example) for example in task.examples]
    assert sorted(map(len, planted)) == [0] * 7 + [1] * 4 + [2] * 3
    assert Counter(question_id for ids in planted for question_id in ids) == {
        question.id: 2 for question in task.checklist.questions
    }


def test_ids_are_unique_over_all_tasks() -> None:
    assert len({example.id for example in EXAMPLES}) == len(EXAMPLES) == 42


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.id for example in EXAMPLES])
def test_texts_are_short_and_name_their_system(example: Example) -> None:
    assert 50 <= len(given(example).split()) <= 120
    assert 8 <= len(example.output.split()) <= 100
    assert example.id == f"{example.group}-{example.system}"
    assert not example.human


def test_only_support_has_a_policy_as_context() -> None:
    assert {name for name, task in TASKS.items() for example in task.examples if example.context} == {"support"}
    assert all(example.context for example in TASKS["support"].examples)


def test_articles_have_90_to_160_words() -> None:
    assert all(90 <= len(given(example).split()) <= 160 for example in TASKS["summary"].examples)


def test_summaries_have_two_sentences_except_where_that_flaw_is_planted() -> None:
    task = TASKS["summary"]
    assert {example.id: n_sentences(example.output) != 2 for example in task.examples} == fails(task, "frm-two")


def test_numbers_of_summaries_are_in_the_text_except_where_a_wrong_one_is_planted() -> None:
    task = TASKS["summary"]
    wrong = {
        example.id: not set(re.findall(r"\d[\d,]*|\bfourteen\b|\bseven\b", example.output)) <= _numbers(given(example))
        for example in task.examples
    }
    assert wrong == fails(task, "acc-numbers")


def test_numbers_of_replies_are_given_except_where_a_wrong_one_is_planted() -> None:
    task = TASKS["support"]
    wrong = {
        example.id: not set(re.findall(r"\d+(?:\.\d+)?", example.output)) <= _numbers(given(example))
        for example in task.examples
    }
    assert wrong == fails(task, "acc-numbers")


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+|\d[\d,]*\d|\d|\bseven\b", text))


def test_replies_name_the_next_step_except_where_that_is_left_out() -> None:
    task = TASKS["support"]
    step = re.compile(r"\.example/|Account > Pause|Settings > Plan")
    assert {example.id: not step.search(example.output) for example in task.examples} == fails(task, "com-step")


@pytest.mark.parametrize(
    ("question_id", "is_wrong"),
    [
        ("fmt-json", lambda output: not parses(output)),
        ("fmt-fields", lambda output: set(order_in(output)) != FIELDS),
        ("fmt-date", lambda output: not re.fullmatch(r"\d{4}-\d\d-\d\d", str(order_in(output)["deliver_on"]))),
    ],
)
def test_format_flaws_are_where_they_are_planted_and_nowhere_else(question_id: str, is_wrong) -> None:  # noqa: ANN001
    task = TASKS["extraction"]
    assert {example.id: is_wrong(example.output) for example in task.examples} == fails(task, question_id)


@pytest.mark.parametrize(
    ("question_id", "field", "truth"),
    [
        (
            "val-customer",
            "customer",
            {
                "chairs": "Haldermoor Music School",
                "soap": "Kestrel Animal Clinic",
                "lamps": "Fennimore Hotel",
                "paper": "Solveig Printworks",
            },
        ),
        ("val-quantity", "quantity", {"chairs": 55, "soap": 24, "lamps": 17, "paper": 30}),
    ],
)
def test_value_flaws_are_where_they_are_planted_and_nowhere_else(
    question_id: str, field: str, truth: dict[str, object]
) -> None:
    task = TASKS["extraction"]
    wrong = {example.id: order_in(example.output)[field] != truth[str(example.group)] for example in task.examples}
    assert wrong == fails(task, question_id)


@pytest.mark.parametrize(("n_groups", "n_examples"), [(1, 3), (2, 7), (3, 10), (4, 14), (9, 14)])
def test_a_part_has_the_first_groups_of_each_task_whole(n_groups: int, n_examples: int) -> None:
    whole = demo_tasks()
    small = part(whole, n_groups)
    assert [task.examples for task in small] == [task.examples[:n_examples] for task in whole]
    assert [task.checklist for task in small] == [task.checklist for task in whole]


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_a_part_holds_sound_and_flawed_outputs_of_each_task(n_groups: int) -> None:
    for task in part(demo_tasks(), n_groups):
        n_flawed = sum(bool(planted_questions(example)) for example in task.examples)
        assert 0.4 <= n_flawed / len(task.examples) <= 0.7


def test_a_part_without_groups_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 group"):
        part(demo_tasks(), 0)
