"""SHA-256 of large files, computed once and remembered for as long as a file's size and time stay the same."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from bineval.environment import cache_folder
from bineval.hashing import tagged_hash

_State = dict[str, str | int]


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 (64 hex digits) of the file; reads it only if it changed since the last time.

    Raises:
        OSError: The file cannot be read.
    """
    known = remembered_sha256(path)
    if known is not None:
        return known
    state = _state(path)
    sha256 = compute_sha256(path)
    _remember(path, state, sha256)
    return sha256


def compute_sha256(path: Path) -> str:
    """Returns the SHA-256 (64 hex digits) of the file, read anew.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remember_sha256(path: Path, sha256: str) -> None:
    """Notes the SHA-256 of the file as it is now, for `file_sha256`.

    Raises:
        OSError: The file does not exist.
    """
    _remember(path, _state(path), sha256)


def remembered_sha256(path: Path) -> str | None:
    """Returns the SHA-256 without reading the file, or None when it is not known for the file as it is now.

    Raises:
        OSError: The file does not exist.
    """
    state = _state(path)
    try:
        record = json.loads(_record_file(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or {key: record.get(key) for key in state} != state:
        return None
    sha256 = record.get("sha256")
    return sha256 if isinstance(sha256, str) else None


def _state(path: Path) -> _State:
    status = path.stat()
    return {"path": str(path.resolve()), "size": status.st_size, "mtime_ns": status.st_mtime_ns}


def _record_file(path: Path) -> Path:
    return cache_folder() / "hashes" / f"{tagged_hash('file-path/1', str(path.resolve()))[:32]}.json"


def _remember(path: Path, state: _State, sha256: str) -> None:
    target = _record_file(path)
    # Two processes may write at once: each its own draft, the last rename wins, both say the same.
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    # A cache folder that cannot be written costs the time of hashing again, nothing else.
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({**state, "sha256": sha256}), encoding="utf-8")
        draft.replace(target)
