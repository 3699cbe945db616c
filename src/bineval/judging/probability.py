"""P(yes) from the log probabilities of a reply's first token, and the answer that follows from P(yes)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp

from bineval.types import USUAL_THRESHOLD, Question, TokenLogprob, Verdict

# What tokenizers put before a word, and models around it.
_AROUND = " \t\r\n\"'`*_.,:;!()[]▁Ġ"
# A single letter begins too many words.
_FEWEST_LETTERS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerMass:
    """Probability of each answer at the first token that says anything, all spellings summed; each in [0, 1].

    Attributes:
        masses: By answer word; 0 for one that is not among the reported tokens.
        token: The token that was written there.
    """

    masses: Mapping[str, float]
    token: str

    @property
    def outside(self) -> float:
        """Probability of everything else."""
        return max(0.0, 1.0 - sum(self.masses.values()))


def answer_mass(logprobs: Sequence[TokenLogprob], words: Sequence[str]) -> AnswerMass | None:
    """Reads the probabilities of answer words.

    Args:
        logprobs: Those of a reply, in order.
        words: The words, in lower case.

    Returns:
        The masses at the first token that is not blank; None when there is no such token.
    """
    place = next((item for item in logprobs if item.token.strip(_AROUND)), None)
    if place is None:
        return None
    masses = dict.fromkeys(words, 0.0)
    # Different tokens may have one text.
    alternatives = set(place.top)
    # Some servers leave the token that was written out of its alternatives.
    if place.token not in {token for token, _ in alternatives}:
        alternatives.add((place.token, place.logprob))
    for token, logprob in sorted(alternatives):
        word = _word(token.strip(_AROUND).casefold(), words)
        if word is not None:
            masses[word] += exp(min(logprob, 0.0))
    return AnswerMass(masses=masses, token=place.token)


def _word(text: str, words: Sequence[str]) -> str | None:
    """The word that `text` is, or begins: small vocabularies split a word such as "Skip" in two."""
    if text in words:
        return text
    return next((word for word in words if len(text) >= _FEWEST_LETTERS and word.startswith(text)), None)


def verdict_at(probability: float, question: Question) -> Verdict:
    """The verdict that follows from P(yes): yes above the question's threshold, else no.

    Exactly at the threshold the judge is unsure, and "yes" would be a guess.
    """
    threshold = USUAL_THRESHOLD if question.threshold is None else question.threshold
    return Verdict(
        answer="yes" if probability > threshold else "no", probability=float(probability), threshold=threshold
    )


def decided(verdict: Verdict, probability: float, question: Question) -> Verdict:
    """`verdict` with the answer that follows from another P(yes)."""
    new = verdict_at(probability, question)
    return replace(verdict, answer=new.answer, probability=new.probability, threshold=new.threshold)
