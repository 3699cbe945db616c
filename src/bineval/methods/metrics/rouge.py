"""ROUGE (Lin 2004), by the package rouge-score: how many words, word pairs or words in order two texts share."""

from collections.abc import Mapping, Sequence

from bineval.errors import MissingDependencyError, ModelRequestError
from bineval.hashing import Json
from bineval.methods.metrics.base import versions

_VARIANTS = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}


class Rouge:
    """F1 of words (ROUGE-1), of neighboring words (ROUGE-2), or of the longest common subsequence (ROUGE-L).

    Words are lower-cased and cut to their stem by Porter's stemmer, as with `ROUGE-1.5.5 -m`. Only the letters a to z
    and digits count, as in the package; a text with letters, but none of these, is an error, not 0. In [0, 1]; of
    several references the one with the best F1 counts; an empty output has 0 in common with anything.

    Args:
        name: "rouge-1", "rouge-2" or "rouge-l".

    Raises:
        MissingDependencyError: rouge-score is not installed.
    """

    def __init__(self, name: str) -> None:
        try:
            from rouge_score.rouge_scorer import RougeScorer
            from rouge_score.tokenizers import DefaultTokenizer
        except ImportError as error:
            raise MissingDependencyError("rouge-score", "metrics", "ROUGE") from error
        self.name, self._variant = name, _VARIANTS[name]
        self._tokenizer = DefaultTokenizer(use_stemmer=True)
        self._scorer = RougeScorer([self._variant], tokenizer=self._tokenizer)

    @property
    def settings(self) -> Mapping[str, Json]:
        """Packages, and that words are stemmed."""
        return {"library": versions("rouge-score", "nltk"), "stemmer": "porter"}

    def compare(self, output: str, texts: Sequence[str]) -> float:
        """F1 with the nearest text; see `Comparison.compare`."""
        for text in (output, *texts):
            if any(letter.isalpha() for letter in text) and not self._tokenizer.tokenize(text):
                raise ModelRequestError(
                    "it knows only the letters a to z and digits, and a text has none of them", model=self.name
                )
        return float(self._scorer.score_multi(list(texts), output)[self._variant].fmeasure)
