import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ModelRequestError
from bineval.methods.metrics.rouge import Rouge

OUTPUT, REFERENCE = "The cat sat on the mat.", "The cat lay on a mat."


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Shared words, each as often as in both: the, cat, on, mat, so 4 of 6 in each.
        ("rouge-1", 4 / 6),
        # Shared pairs: "the cat", so 1 of 5 in each.
        ("rouge-2", 1 / 5),
        # Longest common subsequence: the cat on mat, so 4 of 6 in each.
        ("rouge-l", 4 / 6),
    ],
)
def test_the_variants_count_words_pairs_and_the_longest_common_subsequence(name: str, expected: float) -> None:
    assert Rouge(name).compare(OUTPUT, [REFERENCE]) == pytest.approx(expected)


def test_rouge_l_respects_the_order_and_rouge_1_does_not() -> None:
    assert Rouge("rouge-1").compare("mat the on", ["on the mat"]) == 1
    # Any one word is a common subsequence: 1 of 3 in each.
    assert Rouge("rouge-l").compare("mat the on", ["on the mat"]) == pytest.approx(1 / 3)


def test_the_best_reference_counts() -> None:
    assert Rouge("rouge-l").compare(OUTPUT, ["Dogs ran.", REFERENCE]) == pytest.approx(4 / 6)


def test_words_are_compared_by_their_stem() -> None:
    assert Rouge("rouge-1").compare("Bridges opened", ["bridge opens"]) == 1


def test_an_empty_output_shares_nothing() -> None:
    assert Rouge("rouge-l").compare("", [REFERENCE]) == 0


@given(st.text(alphabet="abc d", min_size=1).filter(str.strip), st.text(alphabet="abc d"))
def test_it_lies_between_0_and_1_and_is_1_for_the_same_text(text: str, other: str) -> None:
    rouge = Rouge("rouge-l")
    assert rouge.compare(text, [text]) == 1
    assert 0 <= rouge.compare(other, [text]) <= 1


def test_a_text_in_other_letters_has_no_rouge() -> None:
    with pytest.raises(ModelRequestError, match="knows only the letters a to z"):
        Rouge("rouge-l").compare("Мэр открыл мост.", [REFERENCE])
    with pytest.raises(ModelRequestError, match="rouge-l"):
        Rouge("rouge-l").compare(OUTPUT, ["市长开了桥。"])


def test_the_settings_name_the_package_and_its_version() -> None:
    assert str(Rouge("rouge-l").settings["library"]).startswith("rouge-score 0.")
