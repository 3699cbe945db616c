from collections.abc import Sequence

import pytest

from bineval.errors import ModelRequestError
from bineval.judging.base import Judge
from bineval.judging.cautions import cautions
from bineval.judging.chat import ChatJudge, ChatSettings, Mode
from bineval.judging.decision import DecisionJudge
from bineval.judging.logprob import LogprobJudge
from bineval.judging.panel import Panel
from bineval.judging.units import Units
from bineval.models.catalog import ModelOptions
from bineval.models.scripted import Scripted
from bineval.types import Example, Request
from support.asking import CHECKLIST

EXAMPLES = [Example(id=f"e{i}", output="word " * n) for i, n in enumerate((1, 5000, 1, 5000))]


class Counting(Scripted):
    """Has a context of so many tokens of four characters, reply included; None for one that nobody knows."""

    def __init__(self, room: int | None, name: str) -> None:
        super().__init__(name, ModelOptions(), script=lambda request: "yes")
        self.room, self.n_counted = room, 0

    def count_tokens(self, request: Request) -> int | None:  # type: ignore[override]
        self.n_counted += 1
        if self.room is None:
            return None
        n = super().count_tokens(request) + request.max_tokens
        if n > self.room:
            raise ModelRequestError(f"{n} do not fit", model=self.name)
        return n


def told(judge: Judge, models: Sequence[Scripted], examples: Sequence[Example] = EXAMPLES) -> list[str]:
    return cautions(judge, models, Units(CHECKLIST), examples)


def test_examples_that_cannot_fit_are_named_before_anything_is_paid_for() -> None:
    model = Counting(3_000, "local")
    (caution,) = told(LogprobJudge(model), [model])
    assert caution.startswith("2 of 4 examples are too long and will stay unanswered (e1, e3): scripted/local: ")


def test_where_nothing_can_be_counted_the_first_example_is_enough() -> None:
    model = Counting(None, "remote")
    for judge in (ChatJudge(model), LogprobJudge(model), DecisionJudge(model)):
        model.n_counted = 0
        assert told(judge, [model]) == []
        assert model.n_counted == 1


def test_a_member_that_cannot_count_hides_no_other() -> None:
    remote, local = Counting(None, "remote"), Counting(3_000, "local")
    for members in ([remote, local], [local, remote]):
        panel = Panel([LogprobJudge(member) for member in members])
        assert "e1, e3" in told(panel, members)[0]


@pytest.mark.parametrize(("mode", "is_told"), [("independent", False), ("dimension", True), ("all", True)])
def test_questions_that_share_a_request_are_counted_with_the_whole_reply(mode: Mode, is_told: bool) -> None:
    # The prompt has some 450 tokens, and each answer may have 400: one fits 1000 tokens, two or three do not.
    model = Counting(1_000, "local")
    judge = ChatJudge(model, settings=ChatSettings(mode=mode))
    found = told(judge, [model], EXAMPLES[:1])
    assert [text.split(" examples")[0] for text in found] == (["1 of 1"] if is_told else [])
