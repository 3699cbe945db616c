"""BARTScore (Yuan et al. 2021): how likely BART finds the output, given what it is compared with."""

from collections.abc import Mapping, Sequence

from bineval.hashing import Json
from bineval.methods.metrics.hub import HubModel

USUAL_MODEL = "facebook/bart-large-cnn"


class BartScore:
    """Mean log-probability of the output's tokens when the model is given the other text.

    The direction is always from the other text to the output: with the reference it is the paper's "precision", with
    the input its "faithfulness". No package of it is kept: this is its definition over transformers, with the marks
    around the output among the tokens, as in the authors' code. In natural logarithms, 0 or below; of several
    references the best counts. An empty output is the likelihood of writing nothing.

    Args:
        model: An encoder-decoder, as a name on the hub or a folder; None for `USUAL_MODEL`.
        device: Device of torch.
    """

    name = "bartscore"

    def __init__(self, *, model: str | None = None, device: str | None = None) -> None:
        self._model = HubModel(model or USUAL_MODEL, kind="AutoModelForSeq2SeqLM", metric=self.name, device=device)

    @property
    def settings(self) -> Mapping[str, Json]:
        """Packages, model and direction."""
        return {**self._model.settings, "direction": "to the output"}

    def compare(self, output: str, texts: Sequence[str]) -> float:
        """Log-likelihood given the best text; see `Comparison.compare`."""
        target = self._token_ids(output)
        return max(self._log_likelihood(self._token_ids(text), target) for text in texts)

    def _token_ids(self, text: str) -> list[int]:
        return self._model.token_ids(self._model.plain(text), most=self._model.most_tokens)

    def _log_likelihood(self, given: list[int], target: list[int]) -> float:
        import torch

        device = self._model.device
        source, labels = torch.tensor([given], device=device), torch.tensor([target], device=device)
        with torch.inference_mode():
            logits = self._model.network(source, attention_mask=torch.ones_like(source), labels=labels).logits[0]
        return float(torch.log_softmax(logits, dim=-1).gather(1, labels.T).mean())
