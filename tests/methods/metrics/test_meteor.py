from pathlib import Path

import nltk
import pytest

from bineval.errors import ConfigError
from bineval.methods.metrics.meteor import Meteor


@pytest.fixture
def meteor(tiny_wordnet: Path, monkeypatch: pytest.MonkeyPatch) -> Meteor:
    monkeypatch.setattr(nltk.data, "path", [str(tiny_wordnet)])
    return Meteor()


def test_synonyms_match(meteor: Meteor) -> None:
    # All 3 words match, in one piece: 1 · (1 - 0.5 · (1/3)³).
    assert meteor.compare("The car stopped", ["The auto stopped"]) == pytest.approx(1 - 0.5 / 27)


def test_words_that_do_not_match_leave_pieces(meteor: Meteor) -> None:
    # 2 of 3 words match on each side, in two pieces: 2/3 · (1 - 0.5 · (2/2)³).
    assert meteor.compare("The dog stopped", ["The auto stopped"]) == pytest.approx(1 / 3)


def test_recall_weighs_nine_times_as_much_as_precision(meteor: Meteor) -> None:
    # Precision 1, recall 1/2: 10 · 1 · 1/2 / (1/2 + 9 · 1) = 10/19; two words in one piece: · (1 - 0.5 · (1/2)³).
    assert meteor.compare("the dog", ["the dog sat down"]) == pytest.approx(10 / 19 * (1 - 0.5 / 8))


def test_stems_match_and_the_best_reference_counts(meteor: Meteor) -> None:
    assert meteor.compare("bridges opened", ["it rained", "bridge opening"]) == pytest.approx(1 - 0.5 / 8)


def test_an_empty_output_matches_nothing(meteor: Meteor) -> None:
    assert meteor.compare("", ["The auto stopped"]) == 0


def test_the_settings_name_the_wordnet(meteor: Meteor) -> None:
    assert meteor.settings["synonyms"] == "WordNet 3.0"


def test_without_wordnet_it_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(ConfigError, match=r"python -m nltk\.downloader wordnet"):
        Meteor()


def test_the_example_of_nltk_has_its_published_value_with_the_real_wordnet() -> None:
    try:
        meteor = Meteor()
    except ConfigError as error:
        pytest.skip(str(error))
    # The first example in the documentation of nltk.translate.meteor_score, made of words alone.
    output = "It is a guide to action which ensures that the military always obeys the commands of the party"
    references = [
        "It is a guide to action that ensures that the military will forever heed Party commands",
        "It is the guiding principle which guarantees the military forces always being under the command of the Party",
        "It is the practical guide for the army always to heed the directions of the party",
    ]
    assert round(meteor.compare(output, references), 4) == 0.6944
