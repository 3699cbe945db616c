"""Judge models that give probabilities, without any model: P(yes) by a function, as log probabilities or decisions."""

import json
import math
from collections.abc import Callable, Mapping

from bineval.models.scripted import Scripted
from bineval.types import Reply, Request, TokenLogprob


def word(masses: Mapping[str, float]) -> Reply:
    """A reply of one token, the most probable one, with the probabilities of several."""
    ranked = sorted(((token, math.log(p)) for token, p in masses.items() if p > 0), key=lambda pair: -pair[1])
    token, logprob = ranked[0]
    return Reply(
        text=token,
        logprobs=(TokenLogprob(token=token, logprob=logprob, top=tuple(ranked)),),
        finish_reason="length",
    )


def token(value: float | str) -> Reply:
    """The reply of a model with this P(yes), or of one that begins with this text."""
    return word({value: 1.0}) if isinstance(value, str) else word({"Yes": value, "No": 1 - value})


def weighing(decide: Callable[[str, str], float | str], name: str = "scripted/cheap") -> Scripted:
    """A model whose P(yes) is `decide(output, question's text)`.

    A logprob judge gets it as log probabilities, a decision judge as it is. A text in its place is the reply's first
    token, or what a decision model says. What `decide` raises is raised.
    """

    def reply(request: Request) -> Reply:
        if request.predicates:
            output = json.loads(request.messages[0].content)["output"]
            texts = {item.id: item.instructions.removeprefix("About `output`: ") for item in request.predicates}
            return Reply(text=json.dumps({key: decide(output, text) for key, text in texts.items()}))
        text = request.messages[1].content
        output = text.split("<<<BEGIN OUTPUT>>>\n")[1].split("\n<<<END OUTPUT>>>")[0]
        return token(decide(output, text.split("\nQuestion: ")[1].splitlines()[0]))

    return Scripted.from_function(reply, name)
