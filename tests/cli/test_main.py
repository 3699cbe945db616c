import subprocess
import sys
from pathlib import Path

import pytest

from bineval.cli.main import cli
from support.command_line import Folder

HEAVY = {
    "anthropic", "jinja2", "llama_cpp", "numpy", "openai", "pydantic", "scipy", "sentencex", "sklearn", "sqlalchemy",
    "torch", "yaml",
}  # fmt: skip


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    shown, _, loaded = python(
        "import sys; sys.argv = ['bineval', '--help']\n"
        "from bineval.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print('LOADED', *sys.modules)"
    ).partition("LOADED")
    listed = [line.split()[0] for line in shown.partition("Commands:")[2].strip().splitlines()]
    assert [name for name in cli.list_commands(None) if name not in listed] == []  # type: ignore[arg-type]
    assert HEAVY & set(loaded.split()) == set()


def test_the_library_imports_nothing_heavy() -> None:
    loaded = python("import sys, bineval\nprint(*sys.modules)").split()
    assert "bineval" in loaded
    assert HEAVY & set(loaded) == set()


@pytest.mark.parametrize("name", cli.list_commands(None))  # type: ignore[arg-type]
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main([name, "--help"], prog_name="bineval", standalone_mode=False)
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: bineval {name} ")
    first_sentence = shown.splitlines()[2].strip()
    assert len(first_sentence) > 20, "says what the command does"


def test_without_a_command_the_help_is_shown(tmp_path: Path) -> None:
    finished = Folder(tmp_path).bineval()
    assert finished.code == 2
    assert "Commands:" in finished.err
    assert finished.out == ""


def test_an_unknown_command_is_a_usage_error_with_the_nearest_name(tmp_path: Path) -> None:
    finished = Folder(tmp_path).bineval("shwo")
    assert finished.code == 2
    assert "No such command 'shwo'; did you mean show?" in finished.err


def test_the_version_is_a_result(tmp_path: Path) -> None:
    from bineval.version import __version__

    finished = Folder(tmp_path).bineval("--version")
    assert (finished.code, finished.err) == (0, "")
    assert __version__ in finished.out
