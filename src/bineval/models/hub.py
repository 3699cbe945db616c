"""Fetches one file from the Hugging Face hub, going on where an interrupted download stopped."""

import re
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import httpx2

from bineval.models.registry import LocalModel
from bineval.models.sources import Progress, SourceError, Sources, in_mb, require_space

_TRIES = 5


def file_url(model: LocalModel, hub_url: str) -> str:
    """Address of the model's file; the model must have a hub entry."""
    if model.hub is None:
        raise ValueError(f"{model.name} is not on the hub")
    repo, file = model.hub
    return f"{hub_url}/{repo}/resolve/main/{quote(file)}"


def fetch_from_hub(model: LocalModel, part: Path, sources: Sources, progress: Progress) -> str:
    """Downloads the file of `model` into `part`, which may hold its beginning already.

    Returns:
        The SHA-256 that the whole must have: the registry's, else the one that the hub gives.

    Raises:
        SourceError: The hub cannot be reached, does not have the file, or gives another one.
    """
    url = file_url(model, sources.hub_url)
    timeout = httpx2.Timeout(sources.read_timeout_s, connect=sources.connect_timeout_s)
    try:
        client = httpx2.Client(timeout=timeout, follow_redirects=True, headers={"Accept-Encoding": "identity"})
    except (ImportError, ValueError) as error:
        raise SourceError(f"the proxy settings of this environment cannot be used: {error}") from error
    with client:
        for _ in range(_TRIES):
            before = _size(part)
            try:
                return _download(client, url, model, part, progress)
            except httpx2.RequestError as error:
                reason = str(error) or type(error).__name__
                # Trying again helps against a connection that breaks, not against one that never was.
                if _size(part) == before:
                    raise SourceError(f"{url} cannot be reached: {reason}") from error
                progress.note(f"hub: connection lost after {in_mb(_size(part))} ({reason}); going on from there")
    raise SourceError(f"{url}: the connection broke {_TRIES} times; pull again to go on after {in_mb(_size(part))}")


def _download(client: httpx2.Client, url: str, model: LocalModel, part: Path, progress: Progress) -> str:
    start = _size(part)
    if model.sha256 is not None and start and start == model.size_bytes:
        return model.sha256
    with client.stream("GET", url, headers={"Range": f"bytes={start}-"} if start else None) as response:
        total = _total_size(response, start)
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if start != total:
                part.unlink()
                raise SourceError(f"{url}: the part that was here is not of this file; removed it, pull again")
            return _expected_sha256(model, response, url)
        if response.status_code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            raise SourceError(f"{url} answered HTTP {response.status_code} {response.reason_phrase}".rstrip())
        sha256 = _expected_sha256(model, response, url)
        if None not in (total, model.size_bytes) and total != model.size_bytes:
            raise SourceError(f"{url} gives a file of {total} bytes where the model has {model.size_bytes}")
        resumes = response.status_code == HTTPStatus.PARTIAL_CONTENT
        done = start if resumes else 0
        require_space(part.parent, (total or done) - done)
        with part.open("ab" if resumes else "wb") as file:
            for chunk in response.iter_bytes():
                done += file.write(chunk)
                progress.advance(done, total)
    return sha256


def _expected_sha256(model: LocalModel, response: httpx2.Response, url: str) -> str:
    if model.sha256 is not None:
        return model.sha256
    for answer in (*response.history, response):
        # The hub states the hash of a large file on the answer that redirects to its storage.
        etag = answer.headers.get("X-Linked-Etag", "").strip('"')
        if re.fullmatch(r"[0-9a-f]{64}", etag):
            return etag
    raise SourceError(f"{url} comes without a SHA-256, so it cannot be checked; download it by hand and name its path")


def _total_size(response: httpx2.Response, start: int) -> int | None:
    """Size of the whole file in bytes, where the answer tells."""
    if match := re.search(r"/(\d+)$", response.headers.get("Content-Range", "")):
        return int(match[1])
    length = response.headers.get("Content-Length", "")
    if not length.isdigit():
        return None
    return int(length) + (start if response.status_code == HTTPStatus.PARTIAL_CONTENT else 0)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
