"""Rules about the shape of a question: each takes its text and says what is wrong, or None.

They know English, and would rather miss a fault than blame a sound question. Quoted words are never looked at.
"""

import re

from bineval.generation.phrases import AUXILIARY, BE, QUESTION_MARKS, one_of, plain

MAX_WORDS = 40
_VAGUE_MAX_WORDS = 10

_OPEN_QUESTION = re.compile(
    r"""(?:(?:in|to|for|by|at|on|of|from|with|under|about)\s)?
    (?:what|which|who|whom|whose|how|why|where|when)\b
    | (?:rate|describe|list|explain|identify|count|name|tell|give|score|on\sa\sscale)\b""",
    re.VERBOSE,
)
_CONDITION = re.compile(rf"(?:when|where|whenever|wherever)\b[^?]*?,\s*{AUXILIARY}\b")

_VAGUE_WORD = rf"""(?:
    {
    one_of('''good great nice excellent appropriate suitable adequate proper acceptable satisfactory decent effective
    reasonable sensible helpful useful interesting fine perfect ideal clear''')
}
    | well[- ]written | well[- ]structured | (?:of\s|a\s)*(?:high|good|sufficient)[- ]quality
)"""
_VAGUE = re.compile(
    rf"""{BE}\b.*?\s(?:\w+ly\s|very\s|quite\s|an?\s)*
    (?P<word>{_VAGUE_WORD}) (?:(?:,\s|,?\sand\s|\sor\s){_VAGUE_WORD})*
    (?:\s(?:enough|overall|summary|response|answer|reply|output|text))?\s?\?
    | {AUXILIARY}\b.*?\s(?P<manner>well|properly|appropriately|adequately|effectively|nicely)\s?\?""",
    re.VERBOSE,
)
_OTHER_QUESTION = re.compile(
    r"""\bquestions?\s(?:no\.?\s?|number\s|\#)?\d+\b | \bq\d+\b
    | \b(?:the|in|to)\s(?:previous|preceding|above|next|following)\squestion\b(?!\s(?:of|from|by|asked|that)\b)""",
    re.VERBOSE,
)


def no_question_mark(text: str) -> str | None:
    """Sign: the last character is no question mark, but for quotation marks and brackets."""
    return None if text.rstrip("\"'”’)]* ").endswith(tuple(QUESTION_MARKS)) else "does not end in a question mark"


def not_yes_no(text: str) -> str | None:
    """Sign: it opens with a question word or a command; "When …, does …?" is a condition."""
    question = plain(text)
    opening = _OPEN_QUESTION.match(question)
    if opening is None or _CONDITION.match(question):
        return None
    return f'cannot be answered with yes or no: it begins with "{opening.group()}"; ask "Does ...?" or "Is ...?"'


def too_long(text: str) -> str | None:
    """Sign: more than 40 words."""
    n_words = len(text.split())
    return f"has {n_words} words; more than {MAX_WORDS} are hard to judge as one thing" if n_words > MAX_WORDS else None


def vague(text: str) -> str | None:
    """Sign: it is short and ends in a word that everyone reads differently ("appropriate?", "of high quality?")."""
    question = plain(text)
    found = _VAGUE.match(question)
    if found is None or len(question.split()) > _VAGUE_MAX_WORDS:
        return None
    word = found["word"] or found["manner"]
    return f'has no criterion but "{word.strip()}", which people read differently; say what counts'


def refers_to_other_question(text: str) -> str | None:
    """Sign: "question 2", "Q2", "the previous question" (but not "the previous question of the user")."""
    found = _OTHER_QUESTION.search(plain(text))
    return f'refers to another question ("{found.group()}"), which the judge may not see' if found else None
