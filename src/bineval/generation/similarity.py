"""How much two short texts say the same, by their words alone: deterministic, with no model."""

import re
from collections.abc import Sequence
from itertools import combinations

NEAR_DUPLICATE = 0.7
"""Texts at least this similar are taken to say the same; set on the hand-written pairs in the tests."""

NEGATION = "not"
"""The content word that stands for every negation."""

_LIGHT_WEIGHT = 0.25
_CONTRAST = 0.5

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOPWORDS = _words("""
    a an the this that these those it its they them their he she his her there here is are was were be been being do
    does did has had have having can could will would shall should must may might of in on at to for from by with
    within into as than and or but if so such which each every all any some both also ones s
""")
# Words that shade a question without changing what it asks.
_LIGHT = _words("""
    clear full proper actual explicit entire whole way form manner use make give provide contain overall simply just
    real ever own specific part text output exact follow stay remain keep
""")
# One group a line: words that judging questions use for the same thing; the first stands for all.
_SAME = (
    "output response answer reply completion",
    "article source document passage",
    "correct accurate right true",
    "contain include comprise feature",
    "mention state say",
    "use employ",
    "short brief concise succinct",
    "plain simple easy",
    "mistake error fault",
    "support back ground confirm",
    "information fact detail",
    "claim statement assertion",
    "match agree align correspond consistent",
    "begin start open",
    "end finish close conclude",
    "user customer reader",
    "polite courteous civil",
    "invent fabricate hallucinate",
    f"{NEGATION} no free avoid without never refrain lack omit none nothing cannot",
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_IRREGULAR = {
    "written": "write",
    "kept": "keep",
    "said": "say",
    "given": "give",
    "made": "make",
    "spelt": "spell",
    **{word: str(number) for number, word in enumerate(_NUMBERS)},
}
# Limits are said in many ways, some of which hold a negation that is none; and "leave out" is one.
_PHRASES = (
    (re.compile(r"\b(?:at most|no (?:more|longer|later) than|up to|a maximum of|not exceed(?:ing)?)\b"), "atmost"),
    (re.compile(r"\b(?:at least|no (?:fewer|less|shorter|earlier) than|a minimum of)\b"), "atleast"),
    (re.compile(r"\bleav(?:e|es|ing) out\b"), "omit"),
    (re.compile(r"\b(atmost|atleast) (\w+ \w+) long\b"), r"\1 \2"),
)
_SUFFIXES = ("ations", "ation", "nesses", "ness", "ingly", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly")
_MIN_STEM = 3


def similarity(a: str, b: str) -> float:
    """Returns how much `a` and `b` say the same, in [0, 1]; 1 for the same words in any order.

    Words without content are dropped, the rest is stemmed lightly and common synonyms are merged; then it is the share
    of common words (Jaccard, words that only shade the meaning counting a quarter). It is halved when *each* text has
    a content word that the other lacks ("Are all names correct?" and "Are all dates correct?" ask different things,
    however long the rest), and when only one of them has a negation. The word lists are English; in other languages
    only equal words count.
    """
    return _overlap(content_words(a), content_words(b))


def near_duplicates(texts: Sequence[str], *, threshold: float = NEAR_DUPLICATE) -> list[tuple[int, int, float]]:
    """Returns `(i, j, similarity)` for each pair i < j that is at least `threshold` similar, in order."""
    words = [content_words(text) for text in texts]
    pairs = ((i, j, _overlap(words[i], words[j])) for i, j in combinations(range(len(texts)), 2))
    return [pair for pair in pairs if pair[2] >= threshold]


def content_words(text: str) -> frozenset[str]:
    """Returns the stems of the words that carry meaning; synonyms share one stem, and so do all negations.

    A text without such words is all its words.
    """
    text = text.casefold().replace("’", "'")
    for pattern, plain in _PHRASES:
        text = pattern.sub(plain, text)
    words = frozenset(_WORD.findall(text))
    stems = (_stem(_base(word)) for word in words - _STOPWORDS or words)
    meanings = frozenset(_STEMS.get(stem, stem) for stem in stems)
    # "free of errors" says the same as "correct".
    return meanings - _NO_MISTAKE | {_CORRECT} if meanings >= _NO_MISTAKE else meanings


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    if not a or not b:
        return float(a == b)
    score = _weight(a & b) / _weight(a | b)
    only_a, only_b = a - b - _LIGHT_STEMS, b - a - _LIGHT_STEMS
    differ = (only_a and only_b) or NEGATION in only_a | only_b
    return score * _CONTRAST if differ else score


def _base(word: str) -> str:
    if word.endswith("n't"):
        return NEGATION
    return word.removesuffix("'s")


def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    suffix = next((s for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) >= _MIN_STEM), "")
    if suffix == "s" and word.endswith(("ss", "us", "is")):
        suffix = ""
    stem = word.removesuffix(suffix)
    if suffix == "ies":
        stem += "y"
    if suffix in ("ed", "ing") and stem[-1] == stem[-2] and stem[-1] not in "ls":
        stem = stem[:-1]
    return stem.removesuffix("e") if len(stem) > _MIN_STEM else stem


def _weight(words: frozenset[str]) -> float:
    return sum(_LIGHT_WEIGHT if word in _LIGHT_STEMS else 1.0 for word in words)


_STEMS = {_stem(word): _stem(group.split()[0]) for group in _SAME for word in group.split()}
_LIGHT_STEMS = frozenset(_STEMS.get(_stem(word), _stem(word)) for word in _LIGHT)
_CORRECT = _STEMS[_stem("correct")]
_NO_MISTAKE = frozenset({NEGATION, _STEMS[_stem("mistake")]})
