"""A model of the Hugging Face hub, or of a folder, that runs in this process; loaded when it is first used."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from bineval.errors import ConfigError, MissingDependencyError, ModelRequestError
from bineval.hashing import Json, tagged_hash
from bineval.methods.metrics.base import versions
from bineval.models.file_hash import file_sha256

Kind = Literal["AutoModel", "AutoModelForSeq2SeqLM"]

# Of the files of a model, those that can change what it computes.
_MODEL_FILES = {".safetensors", ".bin", ".json", ".txt", ".model"}
# These count positions from the padding token on, and so have fewer of them than their configuration says.
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert"}


class HubModel:
    """Weights and tokenizer under one name, in evaluation mode and 32-bit floats.

    Args:
        name: Name on the hub ("owner/name"), or a folder with the files of one model.
        kind: The class of transformers that loads it.
        metric: Name of the metric that uses it, for messages.
        device: Device of torch; None for CUDA where there is one, else the processor.
        tokenizer: Options of the tokenizer.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
    """

    def __init__(
        self,
        name: str,
        *,
        kind: Kind,
        metric: str,
        device: str | None = None,
        tokenizer: Mapping[str, bool] | None = None,
    ) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingDependencyError("torch with transformers", "hub", metric) from error
        self.name, self.metric, self._kind = name, metric, kind
        self._transformers, self._options = transformers, dict(tokenizer or {})
        try:
            self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        except RuntimeError as error:
            raise ConfigError(f"{metric}: torch has no device {device!r}") from error

    @property
    def settings(self) -> Mapping[str, Json]:
        """Packages, name of the model, and which version of it this is.

        Raises:
            ConfigError: The model is neither on this machine nor to be had from the hub.
        """
        return {"library": versions("torch", "transformers"), "model": self.name, "version": self._version}

    @cached_property
    def config(self) -> Any:  # noqa: ANN401 - classes of transformers have no common type
        """Configuration of the model."""
        return self._load("AutoConfig")

    @cached_property
    def tokenizer(self) -> Any:  # noqa: ANN401 - classes of transformers have no common type
        """Tokenizer of the model."""
        return self._load("AutoTokenizer", **self._options)

    @cached_property
    def network(self) -> Any:  # noqa: ANN401 - classes of transformers have no common type
        """The model itself.

        Raises:
            ConfigError: It cannot be loaded, or its files lack a part of it, which would be made up at random.
        """
        import torch

        network, found = self._load(self._kind, dtype=torch.float32, output_loading_info=True)
        # The pooling layer stands beside the layers that are read, and many files leave it out.
        missing = sorted(name for name in found["missing_keys"] if not name.startswith("pooler."))
        if missing:
            raise ConfigError(
                f"{self.metric}: the files of model {self.name} lack {len(missing)} parts of it ({missing[0]}, …): "
                "they are of another kind of model"
            )
        return network.to(self.device).eval()

    def token_ids(self, text: str, *, most: int | None) -> list[int]:
        """Returns the tokens of a text, with the model's own marks around them.

        Args:
            text: Any text; see `plain`.
            most: Most tokens that the model can read; None for no limit.

        Raises:
            ModelRequestError: There are more: a text is never cut.
        """
        # Without `verbose`, transformers warns of lengths that are checked here.
        ids: list[int] = self.tokenizer(text, verbose=False)["input_ids"]
        if most is not None and len(ids) > most:
            raise ModelRequestError(
                f"a text of {len(ids)} tokens is too long for {self.name}, which reads {most}", model=self.metric
            )
        return ids

    @cached_property
    def most_tokens(self) -> int:
        """Most tokens that the model has positions for."""
        positions: int = self.config.max_position_embeddings
        if self.config.model_type in _OFFSET_POSITIONS:
            positions -= self.config.pad_token_id + 1
        return min(positions, int(self.tokenizer.model_max_length))

    def plain(self, text: str) -> str:
        """Returns `text` with a space in each of the model's own marks, so that judged text cannot set one."""
        for mark in self.tokenizer.all_special_tokens:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
        return text

    @cached_property
    def _version(self) -> str:
        """Commit on the hub, or hash of the folder's files."""
        folder = Path(self.name)
        if not folder.is_dir():
            return self._commit()
        files = sorted(file for file in folder.iterdir() if file.suffix in _MODEL_FILES)
        return tagged_hash("model-folder/1", {file.name: file_sha256(file) for file in files})

    def _commit(self) -> str:
        from huggingface_hub import hf_hub_download

        try:
            # A file of the hub lies in a folder named after its commit.
            return Path(hf_hub_download(self.name, "config.json")).parent.name
        except (OSError, ValueError) as error:
            raise self._unavailable(error) from error

    def _load(self, loader: str, **options: Any) -> Any:  # noqa: ANN401 - as above
        from safetensors import SafetensorError

        if not Path(self.name).is_dir():
            options["revision"] = self._version
        try:
            with _quiet(self._transformers.utils.logging):
                return getattr(self._transformers, loader).from_pretrained(self.name, **options)
        except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> ConfigError:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        return ConfigError(
            f"{self.metric}: model {self.name} cannot be loaded ({reason}); where the Hugging Face hub cannot be "
            "reached, download its files elsewhere and give their folder as --metric-model"
        )


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:  # noqa: ANN401 - a module
    """Keeps transformers from reporting unused weights, and from drawing progress bars where there is no terminal."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
