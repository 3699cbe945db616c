"""What the rules about wording share: the plain form of a question, and word lists as patterns."""

import re

QUESTION_MARKS = "?\uff1f\u061f"
"""Latin, full-width and Arabic."""

BE = r"(?:is|are|was|were)"
DO = r"(?:does|do|did)"
AUXILIARY = rf"(?:{BE}|{DO}|has|have|had|can|could|will|would|should|must|may|might)"

FLAWED = r"""(?:
    unsupported|incorrect|inaccurate|wrong|false|misleading|fabricated|invented|made[- ]up|hallucinated|irrelevant|
    unnecessary|redundant|contradictory|inconsistent|ambiguous|ungrammatical|misspelled|offensive|harmful|toxic|biased|
    unrelated|missing|off[- ]topic|incomplete|unclear|unsafe|unreadable|repetitive|incoherent
)"""
"""Words for what is bad, for patterns with `re.VERBOSE`."""

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`|(?<!\w)'[^']*'(?!\w)")


def plain(text: str) -> str:
    """Returns the text in lower case on one line, with everything quoted cut out."""
    return " ".join(_QUOTED.sub('""', text.replace("’", "'")).casefold().split())


def one_of(words: str) -> str:
    """Returns the pattern that matches any of the words in `words`, which are separated by white space."""
    return f"(?:{'|'.join(words.split())})"


def verb(stems: str) -> str:
    """Returns the pattern that matches any of the verbs in its base form or third person."""
    return f"{one_of(stems)}(?:e?s)?"
