import pytest

from bineval.errors import ConfigError, ModelError
from bineval.generation.drafting import GenerateSettings
from bineval.generation.evaluation_steps import evaluation_steps
from bineval.types import Dimension, Reply
from support.asking import Replies

DIMENSION = Dimension(scale=(1, 3), description="The text says what the sky looks like.")


def steps(replies: Replies, task: str | None = "Describe the sky.") -> tuple[str, ...]:
    return evaluation_steps("content", DIMENSION, replies.model, task=task)


def test_steps_are_asked_for_with_task_dimension_and_scale_and_lose_their_numbers() -> None:
    replies = Replies(
        '{"steps": [{"step": "1. Read."}, {"step": "Step 2: Compare."}, {"step": "3."}, {"step": "10.5 is too long."}]}'
    )
    assert steps(replies) == ("Read.", "Compare.", "10.5 is too long.")
    (asked,) = replies.users
    assert "<<<BEGIN TASK>>>\nDescribe the sky." in asked
    assert "The text says what the sky looks like" in asked
    assert "from 1 (worst) to 3 (best)" in asked


def test_a_reply_without_steps_is_asked_again_and_then_an_error() -> None:
    assert steps(Replies("I read it.", '{"steps": [{"step": "Read."}]}'), task=None) == ("Read.",)
    with pytest.raises(ModelError, match="no evaluation step could be read for dimension content"):
        steps(Replies(*["I read it."] * 3))
    with pytest.raises(ModelError, match="refused"):
        steps(Replies(Reply(text="", refusal="No.", finish_reason="refused")))


def test_a_prompt_that_writes_no_steps_is_refused() -> None:
    settings = GenerateSettings(prompts={"questions": "x.md"})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="no prompt 'questions'"):
        evaluation_steps("content", DIMENSION, Replies().model, task=None, settings=settings)
