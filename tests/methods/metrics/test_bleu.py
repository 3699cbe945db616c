import math

import pytest

from bineval.methods.metrics.bleu import Bleu


def test_the_geometric_mean_of_four_precisions() -> None:
    # 4 of 5 words, 3 of 4 pairs, 2 of 3 triples, 1 of 2 fours; of the same length: (4/5 · 3/4 · 2/3 · 1/2) ** (1/4).
    assert Bleu().compare("a b c d e", ["a b c d f"]) == pytest.approx(0.2**0.25)


def test_a_short_output_is_penalized() -> None:
    # All of its words are in the reference, but 4 against 5: exp(1 - 5/4).
    assert Bleu().compare("a b c d", ["a b c d e"]) == pytest.approx(math.exp(-1 / 4))


def test_an_output_shorter_than_four_words_can_be_perfect() -> None:
    assert Bleu().compare("a b", ["a b"]) == pytest.approx(1)


def test_the_same_text_has_exactly_1_at_most() -> None:
    text = "the mayor opened the bridge in the rain"
    assert 1 - 1e-9 < Bleu().compare(text, [text]) <= 1


def test_several_references_count_together() -> None:
    # Both pairs of neighbors occur, each in another reference; the triple does not: 3/3, 2/2, and 1/2 of a 1 for it.
    both = Bleu().compare("a b c", ["a b x", "x b c"])
    assert both == pytest.approx((1 * 1 * 0.5) ** (1 / 3))
    assert both > Bleu().compare("a b c", ["a b x"])


def test_an_empty_output_has_0() -> None:
    assert Bleu().compare("", ["a b"]) == 0


def test_the_settings_name_the_package_and_the_variant() -> None:
    settings = Bleu().settings
    assert str(settings["library"]).startswith("sacrebleu 2.")
    assert settings["tokenizer"] == "13a"
