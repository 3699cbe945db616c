"""Splits an output into its sentences, with the package sentencex of the Wikimedia Foundation."""

from importlib import metadata

from bineval.errors import ConfigError, MissingDependencyError
from bineval.io.values import storable

LANGUAGES = (
    "am", "ar", "bg", "bn", "ca", "da", "de", "el", "en", "es", "fi", "fr", "gu", "hi", "hy", "it", "ja", "kk", "kn",
    "ml", "mr", "my", "nl", "pa", "pl", "pt", "ru", "sk", "ta", "te", "uk",
)  # fmt: skip
"""ISO 639-1 codes of the languages that sentencex has rules of its own for."""

_PACKAGE = "sentencex"


class SentenceSplitter:
    """Splits texts of one language.

    Args:
        language: One of `LANGUAGES`.

    Raises:
        ConfigError: It is none of them.
        MissingDependencyError: The package that splits is not installed.
    """

    def __init__(self, language: str) -> None:
        # For other codes the package silently takes the rules of a related language, or English.
        if language not in LANGUAGES:
            raise ConfigError(
                f"there are no rules for splitting sentences of language {language!r}; set the checklist's key language"
                f" to the nearest of {', '.join(LANGUAGES)}, or leave out 'per: sentence'"
            )
        try:
            import sentencex
        except ImportError as error:
            raise MissingDependencyError(_PACKAGE, "sentences", "asking a question of each sentence") from error
        self.language, self._segment = language, sentencex.segment

    @property
    def version(self) -> str:
        """What splits: name and version of the package, since another version may split elsewhere."""
        return f"{_PACKAGE} {metadata.version(_PACKAGE)}"

    def split(self, text: str) -> list[str]:
        """The sentences of `text` in order, without the white space around them.

        A text of nothing but white space is one empty sentence, so that it is judged and counted like any other.
        """
        pieces = (piece.strip() for piece in self._segment(self.language, storable(text)))
        return [piece for piece in pieces if piece] or [""]
