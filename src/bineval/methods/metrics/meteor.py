"""METEOR (Banerjee & Lavie 2005; parameters of Lavie & Agarwal 2007), by NLTK."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from bineval.errors import ConfigError, MissingDependencyError
from bineval.hashing import Json
from bineval.methods.metrics.base import versions


class Meteor:
    """Matches words as written, then by stem, then by WordNet's synonyms; a penalty for matches out of order.

    In [0, 1); of several references the best counts; an empty output matches nothing and has 0. Words are split at
    white space and punctuation, for the tokenizer that METEOR is often used with needs more data.

    Raises:
        MissingDependencyError: NLTK is not installed.
        ConfigError: The WordNet data is not on this machine.
    """

    name = "meteor"

    def __init__(self) -> None:
        try:
            from nltk.tokenize import wordpunct_tokenize
            from nltk.translate.meteor_score import meteor_score
        except ImportError as error:
            raise MissingDependencyError("nltk", "metrics", "METEOR") from error
        self._words, self._meteor, self._wordnet = wordpunct_tokenize, meteor_score, _load_wordnet()

    @property
    def settings(self) -> Mapping[str, Json]:
        """Package, version of WordNet, and how words are split."""
        wordnet = f"WordNet {self._wordnet.get_version()}"
        return {"library": versions("nltk"), "synonyms": wordnet, "stemmer": "porter", "tokenizer": "wordpunct"}

    def compare(self, output: str, texts: Sequence[str]) -> float:
        """METEOR with the nearest text; see `Comparison.compare`."""
        references = [self._words(text) for text in texts]
        return float(self._meteor(references, self._words(output), wordnet=self._wordnet))


def _load_wordnet() -> Any:  # noqa: ANN401 - a class of NLTK, which is not imported here
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    class InMemory(WordNetCorpusReader):  # type: ignore[misc]
        """WordNet without open files: NLTK's own are never closed, which a strict Python reports."""

        def open(self, file: str) -> StringIO:
            """The text of a file; all of WordNet's are ASCII, so that offsets in bytes are offsets in it."""
            with super().open(file) as stream:
                return StringIO(stream.read())

    # Other languages' data is named, so that NLTK does not warn of its absence, but never read.
    wordnet = LazyCorpusLoader("wordnet", InMemory, LazyCorpusLoader("omw-1.4", CorpusReader))
    try:
        wordnet.ensure_loaded()
    except LookupError as error:
        raise ConfigError(
            "meteor needs NLTK's WordNet data, which is not on this machine: run 'python -m nltk.downloader wordnet', "
            "or see docs/metrics.md for a machine that cannot reach NLTK's server"
        ) from error
    return wordnet
