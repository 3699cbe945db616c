import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from bineval.figures.labels import short_label, short_labels


def test_a_long_name_keeps_both_ends() -> None:
    # 10 characters: 5 of the beginning, the mark, 4 of the end.
    assert short_label("provider/model-70b", most=10) == "provi…-70b"
    assert short_label("ten-chars!", most=10) == "ten-chars!"


def test_what_cannot_be_seen_is_escaped() -> None:
    assert short_label("a\x1b[31m\u202eb\ud800\ufffe", most=60) == "a\\u001b[31m\\u202eb\\ud800\\ufffe"
    assert short_label("two\nlines\tand  more", most=60) == "two lines and more"
    assert short_label(" \n", most=60) == "(empty)"


def test_scripts_keep_their_joiners() -> None:
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert short_label(persian, most=60) == persian


def test_names_that_would_look_alike_are_numbered() -> None:
    labels = short_labels(["model-a-of-2024", "model-b-of-2024", "model-a-of-2024", "x"], most=9)
    assert labels == {"model-a-of-2024": "mode…2024", "model-b-of-2024": "mode…2024 (2)", "x": "x"}


@given(st.lists(st.text(max_size=30), max_size=6))
def test_any_text_becomes_a_label_that_xml_can_hold_and_tells_it_from_the_others(names: list[str]) -> None:
    labels = short_labels(names, most=12)
    assert len(set(labels.values())) == len(set(names))
    for label in labels.values():
        assert label
        label.encode()
        assert not any(unicodedata.category(character) in ("Cc", "Cs", "Cn") for character in label)
