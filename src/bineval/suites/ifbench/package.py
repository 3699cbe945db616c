"""Opens the package if-verifiable, which holds IFBench's verifiers, without letting it download anything."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from bineval.errors import ConfigError, MissingDependencyError

# NLTK's data that many verifiers need; the tagger, which one needs, may be missing.
_NEEDED = {"punkt_tab": "tokenizers/punkt_tab", "stopwords": "corpora/stopwords"}


def open_registry() -> Mapping[str, Any]:
    """Returns the classes of the verifiers by type of constraint.

    Raises:
        MissingDependencyError: The package is not installed.
        ConfigError: NLTK's data is not on this machine.
    """
    if find_spec("if_verifiable") is None:
        raise MissingDependencyError("if-verifiable", "ifbench", "IFBench")
    import nltk

    if missing := [name for name, place in _NEEDED.items() if not _is_there(place)]:
        raise ConfigError(
            f"IFBench's verifiers need NLTK's data {' and '.join(missing)}, which is not on this machine: run "
            f"'{download_command(*missing)}', or see docs/benchmarks.md for a machine that cannot reach NLTK's server"
        )
    with _no_downloads(nltk):
        from if_verifiable.ifbench.instructions_registry import INSTRUCTION_DICT
    registry: Mapping[str, Any] = INSTRUCTION_DICT
    return registry


def package_version() -> str:
    """Name and version of the package; another version may verify otherwise."""
    return f"if-verifiable {metadata.version('if-verifiable')}"


def download_command(*names: str) -> str:
    """What fetches NLTK's data, where its server can be reached."""
    return f"python -m nltk.downloader {' '.join(names)}"


def _is_there(place: str) -> bool:
    import nltk

    try:
        nltk.data.find(place)
    except LookupError:
        return False
    return True


@contextmanager
def _no_downloads(nltk: Any) -> Iterator[None]:  # noqa: ANN401 - a module, which is not imported at import
    """Keeps the package from fetching NLTK's data when it is imported, which hangs where the server is out of reach."""
    download, nltk.download = nltk.download, lambda *_, **__: False
    try:
        yield
    finally:
        nltk.download = download
