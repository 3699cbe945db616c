"""Models that answer with one word and its probabilities, without any real model."""

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


def believing(p_yes: Callable[[str, str], float], name: str = "scripted/believer") -> Scripted:
    """A model that says yes to a question about an output with the probability `p_yes(output, question's text)`."""

    def reply(request: Request) -> Reply:
        text = request.messages[1].content
        output = text.split("<<<BEGIN OUTPUT>>>\n")[1].split("\n<<<END OUTPUT>>>")[0]
        question = text.split("\nQuestion: ")[1].splitlines()[0]
        p = p_yes(output, question)
        return word({"Yes": p, "No": 1 - p})

    return Scripted.from_function(reply, name)
