"""The only place that reads or sets the process environment: cache folder, store, keys, URLs, library defaults."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Folder for models and other things that can be fetched again (`BINEVAL_CACHE`, else the user's cache)."""
    if own := os.environ.get("BINEVAL_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bineval"


def default_store() -> str:
    """Path or URL of the store when none is given (`BINEVAL_STORE`, else `bineval.db` in the working folder)."""
    return os.environ.get("BINEVAL_STORE") or "bineval.db"


def api_key(variable: str) -> str | None:
    """The key in environment variable `variable`, or None when it is unset or empty."""
    return os.environ.get(variable) or None


def server_url(variable: str) -> str | None:
    """The URL in environment variable `variable`, or None when it is unset or empty."""
    return os.environ.get(variable) or None


def set_default(variable: str, value: str) -> None:
    """Sets an environment variable for libraries that read it when they are loaded, unless the user has set it."""
    os.environ.setdefault(variable, value)
