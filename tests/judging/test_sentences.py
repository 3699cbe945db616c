import sys

import pytest

from bineval.errors import ConfigError, MissingDependencyError
from bineval.judging.sentences import LANGUAGES, SentenceSplitter


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "en",
            "Dr. Lee left at 5 p.m. on Monday. It cost 3.5 dollars! Why?",
            ["Dr. Lee left at 5 p.m. on Monday.", "It cost 3.5 dollars!", "Why?"],
        ),
        ("en", "A title\n\n  First line. \n\tSecond line.  \n", ["A title", "First line.", "Second line."]),
        ("en", "no full stop", ["no full stop"]),
        ("de", "Am 3. Mai kam z.B. Dr. Meier. Er ging.", ["Am 3. Mai kam z.B. Dr. Meier.", "Er ging."]),
        ("ja", "これは一つ。これは二つ。", ["これは一つ。", "これは二つ。"]),
        ("hi", "यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
    ],
)
def test_a_text_is_split_into_its_sentences_without_white_space(language: str, text: str, sentences: list[str]) -> None:
    splitter = SentenceSplitter(language)
    assert splitter.split(text) == sentences
    assert splitter.split(text) == sentences


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n"])
def test_an_empty_text_is_one_empty_sentence(text: str) -> None:
    assert SentenceSplitter("en").split(text) == [""]


def test_nothing_but_white_space_is_lost_of_a_long_text() -> None:
    text = "One thing is here. Another is there.\n\n" * 2000  # 78 KB: beyond what is split at once
    sentences = SentenceSplitter("en").split(text)
    assert len(sentences) == 4000
    assert " ".join(sentences) == " ".join(text.split())


def test_a_lone_surrogate_or_nul_is_no_reason_to_fail() -> None:
    assert SentenceSplitter("en").split("Half \ud83d. Nul \0.") == ["Half \ufffd.", "Nul \ufffd."]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stated_language_splits(language: str) -> None:
    assert SentenceSplitter(language).split("Wort wort! Wort wort?") == ["Wort wort!", "Wort wort?"]


@pytest.mark.parametrize("language", ["xx", "english", "EN", "sv", ""])
def test_a_language_without_rules_is_refused_with_those_that_have_some(language: str) -> None:
    with pytest.raises(ConfigError, match=f"language '{language}'.* nearest of am, ar, .*en, .*uk"):
        SentenceSplitter(language)


def test_the_package_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(MissingDependencyError, match=r"each sentence needs .* pip install 'bineval\[sentences\]'"):
        SentenceSplitter("en")


def test_the_version_names_the_package() -> None:
    name, number = SentenceSplitter("en").version.split()
    assert name == "sentencex"
    assert number.startswith("1.")
