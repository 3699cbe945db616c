"""BLEU of one output (Papineni et al. 2002), by the package sacrebleu (Post 2018)."""

from collections.abc import Mapping, Sequence

from bineval.errors import MissingDependencyError
from bineval.hashing import Json
from bineval.methods.metrics.base import versions

_PERCENT = 100.0


class Bleu:
    """Sentence BLEU: up to four neighboring words, exponential smoothing, effective order, tokenizer 13a.

    "Effective order" leaves out the lengths that an output is too short for. In [0, 1], a hundredth of what sacrebleu
    prints; several references count together, as BLEU defines it; an empty output has 0.

    Raises:
        MissingDependencyError: sacrebleu is not installed.
    """

    name = "bleu"

    def __init__(self) -> None:
        try:
            from sacrebleu.metrics import BLEU
        except ImportError as error:
            raise MissingDependencyError("sacrebleu", "metrics", "BLEU") from error
        self._bleu = BLEU(effective_order=True)

    @property
    def settings(self) -> Mapping[str, Json]:
        """Package and variant."""
        return {"library": versions("sacrebleu"), "tokenizer": "13a", "smoothing": "exp", "effective_order": True}

    def compare(self, output: str, texts: Sequence[str]) -> float:
        """BLEU with all texts; see `Comparison.compare`."""
        # A perfect match comes out a little above 100, by rounding.
        return min(float(self._bleu.sentence_score(output, list(texts)).score) / _PERCENT, 1.0)
