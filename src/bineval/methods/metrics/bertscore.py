"""BERTScore (Zhang et al. 2020): each token is matched with the one most like it in the other text, in context."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from bineval.errors import ConfigError
from bineval.hashing import Json
from bineval.methods.metrics.hub import HubModel

if TYPE_CHECKING:
    import torch

USUAL_MODEL = "FacebookAI/roberta-large"

# The layer whose vectors agree best with people on WMT16, as published with the metric's own package.
_LAYERS = {
    "roberta-large": 17,
    "roberta-base": 10,
    "roberta-large-mnli": 19,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "bert-base-chinese": 8,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "deberta-large-mnli": 18,
    "deberta-xlarge-mnli": 40,
}


class BertScore:
    """F1 of the greedy matching, without weights by rarity and without rescaling.

    Written over transformers: the package bert-score (0.3.13, 2023) fails on an empty text with transformers 5, and
    leaves out the space before the first word that RoBERTa's numbers were published with.

    Cosines lie in [-1, 1]; with the usual model most F1 lie between 0.8 and 1. Of several references the best counts.
    An output without a token has 0, as in the package.

    Args:
        model: A model that only encodes (BERT, RoBERTa, DeBERTa, …), as a name on the hub or a folder; `MODEL@9` says
            that layer 9 is compared. None for `USUAL_MODEL`.
        device: Device of torch.

    Raises:
        ConfigError: Nobody says which layer is compared.
    """

    name = "bertscore"

    def __init__(self, *, model: str | None = None, device: str | None = None) -> None:
        name, self._layer = _split_layer(model or USUAL_MODEL)
        self._model = HubModel(
            name, kind="AutoModel", metric=self.name, device=device, tokenizer={"add_prefix_space": True}
        )

    @property
    def settings(self) -> Mapping[str, Json]:
        """Packages, model and layer."""
        return {**self._model.settings, "layer": self._layer}

    def compare(self, output: str, texts: Sequence[str]) -> float:
        """F1 with the nearest text; see `Comparison.compare`."""
        vectors, counts = self._vectors(output)
        return max(_f1(vectors, counts, *self._vectors(text)) for text in texts)

    def _vectors(self, text: str) -> "tuple[torch.Tensor, torch.Tensor]":
        """Unit vectors of the tokens, shape (n, d), and which of them count in the mean, shape (n,)."""
        import torch

        network = self._model.network
        if network.config.is_encoder_decoder or not 0 < self._layer <= network.config.num_hidden_layers:
            raise ConfigError(f"{self.name}: model {self._model.name} is no encoder with a layer {self._layer}")
        ids = self._model.token_ids(self._model.plain(text.strip()), most=self._model.most_tokens)
        tokens = torch.tensor([ids], device=self._model.device)
        with torch.inference_mode():
            layers = network(tokens, attention_mask=torch.ones_like(tokens), output_hidden_states=True).hidden_states
        # The marks around a text can be matched with, but have no weight of their own.
        marks = torch.tensor(
            [self._model.tokenizer.cls_token_id, self._model.tokenizer.sep_token_id], device=self._model.device
        )
        return torch.nn.functional.normalize(layers[self._layer][0], dim=-1), ~torch.isin(tokens[0], marks)


def _f1(
    output: "torch.Tensor", output_counts: "torch.Tensor", text: "torch.Tensor", text_counts: "torch.Tensor"
) -> float:
    if not output_counts.any() or not text_counts.any():
        return 0.0
    cosines = output @ text.T
    precision = float(cosines.amax(dim=1)[output_counts].mean())
    recall = float(cosines.amax(dim=0)[text_counts].mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _split_layer(model: str) -> tuple[str, int]:
    name, separator, layer = model.rpartition("@")
    if separator and layer.isdecimal():
        return name, int(layer)
    usual = _LAYERS.get(PurePath(model).name)
    if usual is None:
        raise ConfigError(
            f"{BertScore.name}: no layer is known to be best for model {model!r}: name one, as in {model}@9 (models "
            f"with a known layer: {', '.join(_LAYERS)})"
        )
    return model, usual
