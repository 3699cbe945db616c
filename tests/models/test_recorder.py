from bineval.models.recorder import AnsweringModels, Recorded
from bineval.models.scripted import Scripted
from bineval.types import Message, Reply, Request


def request(text: str) -> Request:
    return Request(messages=(Message(role="user", content=text),), max_tokens=5)


def answering(text: str) -> Scripted:
    return Scripted.from_function(lambda asked: Reply(text="yes", model=asked.messages[0].content), text)


def test_a_name_that_moves_to_another_model_is_noticed_once() -> None:
    notices: list[str] = []
    seen = AnsweringModels(notice=notices.append)
    model = Recorded(answering("scripted/latest"), seen)
    for version in ("v1", "v1", "v2", "v2"):
        assert model.complete(request(version)).text == "yes"
    model.complete_many([request("v1"), request("v2")])
    assert seen.by_name() == {"scripted/latest": ["v1", "v2"]}
    assert len(notices) == 1
    assert "scripted/latest was answered by v2, and before by v1" in notices[0]


def test_earlier_sittings_count() -> None:
    notices: list[str] = []
    seen = AnsweringModels({"scripted/latest": ["v1"]}, notice=notices.append)
    Recorded(answering("scripted/latest"), seen).complete(request("v2"))
    assert len(notices) == 1
    assert seen.by_name() == {"scripted/latest": ["v1", "v2"]}


def test_each_name_has_its_own_models() -> None:
    notices: list[str] = []
    seen = AnsweringModels(notice=notices.append)
    for name, version in (("scripted/a", "v1"), ("scripted/b", "v2")):
        Recorded(answering(name), seen).complete(request(version))
    assert (seen.by_name(), notices) == ({"scripted/a": ["v1"], "scripted/b": ["v2"]}, [])
