"""Rules about what "yes" means: it must be the good answer, and plain to see as such."""

import re

from bineval.generation.phrases import AUXILIARY, BE, DO, FLAWED, plain
from bineval.generation.similarity import NEGATION, content_words

_NEGATION = re.compile(
    r"""\b(?:not|no|never|without|none|nothing|neither|free\s(?:of|from)|avoid\w*|refrain\w*|instead\sof|rather\sthan|
    prevent\w*|exclude\w*)\b | n't\b""",
    re.VERBOSE,
)
# What stands behind these words is talked about by the output, not done by it.
_TOLD = re.compile(
    r"""\b(?:that|when|if|what|which|who|whose|how|where|why|whether|because|says?|states?|explain\w*|mention\w*|report\w*|
    point\w*\sout|names?|lists?|flag\w*|warn\w*|correct(?:s|ed)?|fix\w*|handle\w*|acknowledge\w*|admit\w*|describe\w*|
    identif\w*|marked|labeled|address\w*|catch\w*|raise\w*|return\w*)\b""",
    re.VERBOSE,
)
_FAULT = r"""(?:
    (?:error|mistake|typo|contradiction|hallucination|fabrication|misspelling|omission|falsehood|misstatement|insult|slur)s?
    | (?:inaccurac|redundanc|inconsistenc|profanit)(?:y|ies)
)(?!\s(?:code|message|handling|rate|log|bar)s?\b)"""
_MISDEED = r"""(?:
    fail|lack|omit|contradict|invent|hallucinate|fabricate|exceed|violate|ignore|misstate|misspell|misrepresent|distort|
    mislead|misattribute|deviate|overlook|leaves?\sout
)(?:e?s|e?d)?"""
_MAKES = r"(?:contain|include|have|make|introduce|add|use|give|present|show|commit|made|used)"
# "the false claim in the prompt" is spoken of as known; "any false claim" is not.
_KNOWN = r"(?<!\bthe)(?<!\ball)(?<!\bevery)(?<!\beach)(?<!\ba)(?<!\ban)"

_YES_IS_BAD = tuple(
    re.compile(pattern, re.VERBOSE)
    for pattern in (
        rf"^{BE}\sthere\b.*?\b(?P<bad>{_FAULT}|{FLAWED})\b",
        rf"^(?:{DO}|has|have)\b.*?\b{_MAKES}\s(?:\w+\s){{0,4}}?(?P<bad>{_FAULT}|{FLAWED})\b",
        rf"^{BE}\b.*?{_KNOWN}\s(?P<bad>{FLAWED})\b",
        rf"^{AUXILIARY}\b.*?\b(?P<bad>{_MISDEED})\b",
    )
)

_MOST_OF_IT = 0.75

_NO_NEGATION = re.compile(
    r"\bno (?:more|longer|later|less|fewer|earlier) than\b|\bnot (?:only|just|necessarily)\b|\b(?:whether )?or not\b"
)
_DOUBLE_NEGATION = re.compile(
    rf"""(?:\b(?:not|never)|n't)\s(?:\w+ly\s)?{FLAWED}\b
    | (?:\b(?:not|never|no|without|nothing|avoid(?:s|ing)?|refrains?\sfrom)|n't)\s(?:\w+ly\s)?
      (?:fail\w*|lack\w*|missing|omit\w*|without|avoid\w*|refrain\w*|not|never|free\s(?:of|from))\b
    | ^(?:{DO}|{BE})(?:n't|\sthe\s\w+\snot)\s[^,]*?\b(?:fail|lack|omit|avoid|refrain|not)\b""",
    re.VERBOSE,
)


def no_is_good(text: str) -> str | None:
    """Signs: "Is there …" or "Does … contain/make …" with a flaw, "Is … unsupported", "Does … fail to".

    A negation before the flaw ("free of", "avoid", "without", "no") makes "yes" good again, and so does a word that
    makes the flaw the subject ("Does the review mention the errors", "what is missing").
    """
    question = plain(text)
    for pattern in _YES_IS_BAD:
        found = pattern.search(question)
        if found and not _NEGATION.search(found.group()) and not _TOLD.search(found.group()):
            return f'"yes" would be the bad answer ("{found["bad"]}"); turn it around'
    return None


def asks_for_what_is_forbidden(text: str, requirement: str) -> str | None:
    """Sign: the requirement has a negation, and the question has most of its content words but no negation."""
    forbidden = content_words(requirement)
    asked = content_words(text)
    if NEGATION not in forbidden or NEGATION in asked or len(forbidden) == 1:
        return None
    rest = forbidden - {NEGATION}
    if len(rest & asked) / len(rest) < _MOST_OF_IT:
        return None
    return f'"yes" would be the bad answer (the requirement is: {requirement}); turn it around'


def double_negation(text: str) -> str | None:
    """Signs: two negations side by side ("not missing", "avoid omitting"), or "Does the … not … avoid".

    "avoid claims that are not in the source" is no sign: each negation has a thing of its own.
    """
    found = _DOUBLE_NEGATION.search(_NO_NEGATION.sub("", plain(text)))
    return f'has a double negation ("{found.group()}"); say it positively' if found else None
