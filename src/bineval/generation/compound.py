"""The rule that a question asks one thing only."""

import re

from bineval.generation.phrases import AUXILIARY, BE, DO, QUESTION_MARKS, one_of, plain, verb

# After "and" these are verbs, never nouns.
_VERB = verb("""
    mention include explain avoid contain describe provide identify address remain cite refer keep omit begin follow
    give suggest recommend maintain specify introduce summarize ask
""")
# These may be nouns ("question and answer"), and are verbs when an object follows.
_VERB_OR_NOUN = verb(
    "answer list name use end start state show offer match cover stay present greet thank close have be"
)
_OBJECT = one_of("the a an all every each any its their his her no only at exactly to how why what whether that it")
_QUALITY = one_of("""
    clear short brief concise polite friendly neutral formal informal complete correct accurate relevant consistent
    coherent readable fluent factual specific helpful useful natural engaging original simple plain easy precise
    objective respectful professional informative interesting logical understandable truthful honest grammatical valid
    positive warm calm empathetic persuasive vivid
""")

_SIGNS = tuple(
    (re.compile(pattern, re.VERBOSE), name)
    for pattern, name in (
        (r";", "a semicolon"),
        (r"\bas\swell\sas\b(?!\spossible)", '"as well as"'),
        (rf"\b(?P<joint>and|or|but)\s(?:also\s)?(?:(?:it|they)\s)?{AUXILIARY}\b", "a second question after"),
        (rf"\b(?P<joint>and|but)\s(?:also\s|then\s|\w+ly\s)?{_VERB}\b", "a second verb after"),
        (rf"^{DO}\b.*\b(?P<joint>and|but)\s(?:also\s)?{_VERB_OR_NOUN}\s{_OBJECT}\b", "a second verb after"),
        (rf"^{BE}\b.*\b{_QUALITY},?\s(?P<joint>and|but)\s(?:also\s|\w+ly\s)?{_QUALITY}\b", "two qualities with"),
        (rf"^{BE}\b.*\b(?P<joint>and)\s(?:also\s)?(?:free\s(?:of|from)|without|written)\b", "two qualities with"),
        (r"\b\w+ly\s(?P<joint>and)\s(?!only\b)\w+ly\b", "two manners with"),
    )
)


def not_one_thing(text: str) -> str | None:
    """Signs: several question marks, a semicolon, "as well as", or "and", "or", "but" that joins more than nouns.

    It joins more than nouns before an auxiliary ("and does it"), before a verb ("and explain"), and between two
    qualities or manners ("clear and concise"). Joined nouns ("names and dates", "black and white") are no sign.
    """
    question = plain(text)
    if sum(map(question.count, QUESTION_MARKS)) > 1:
        return "asks more than one thing (several question marks); split it"
    for pattern, name in _SIGNS:
        if found := pattern.search(question):
            joint = found.groupdict().get("joint")
            sign = f'{name} "{joint}"' if joint else name
            return f"asks more than one thing ({sign}); split it"
    return None
