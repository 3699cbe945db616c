"""A file that is written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bineval.errors import ConfigError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a new file for writing that takes the place of `path` when the block ends well.

    If the block raises, `path` is as it was. A pipe or device is written directly.

    Raises:
        ConfigError: The file cannot be written.
    """
    target = path.resolve()  # so that a link stays a link
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as binary:
                yield binary
            return
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            with draft.open("xb") as binary:
                yield binary
                binary.flush()
                os.fsync(binary.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error
