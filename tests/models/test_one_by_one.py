from bineval.models.base import Capabilities
from bineval.models.catalog import ModelOptions
from bineval.models.one_by_one import OneByOne
from bineval.models.scripted import Scripted
from bineval.types import Message, Request


class Local(Scripted):
    capabilities = Capabilities(shares_prefix=True, top_logprobs=7)


def test_it_is_the_same_model_that_makes_no_use_of_batches() -> None:
    model = Local("x", ModelOptions(), script=lambda request: request.messages[0].content)
    single = OneByOne(model)
    assert (single.name, single.identity) == (model.name, model.identity)
    assert single.capabilities == Capabilities(shares_prefix=False, top_logprobs=7)
    requests = [Request(messages=(Message(role="user", content=text),), max_tokens=1) for text in "ab"]
    assert [reply.text for reply in single.complete_many(requests)] == ["a", "b"]
