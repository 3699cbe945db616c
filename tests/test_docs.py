"""Every snippet of the README and of docs/ is run, in order, in an empty folder a page."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_snippet_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("BINEVAL_STORE", None)
    python = ""
    for block in blocks(page):
        text = block["text"]
        if block["file"]:
            (tmp_path / block["file"]).write_text(text, encoding="utf-8")
        elif block["kind"] == "python":
            # Later snippets of a page go on where earlier ones stopped.
            python += text
            done = run([sys.executable, "-W", "error", "-c", python], tmp_path, environment)
            assert done.returncode == 0, f"{python[-500:]}\n{done.stdout}\n{done.stderr}"
        elif block["kind"] == "console":
            for line in text.splitlines():
                if line.startswith("$ "):
                    done = run(shlex.split(line[2:], comments=True), tmp_path, environment)
                    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def run(command: list[str], folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_command_is_documented() -> None:
    from bineval.cli.main import cli

    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for command in cli.list_commands(None):  # type: ignore[arg-type]
        assert f"bineval {command}" in text, f"no page shows bineval {command}"


def test_the_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_no_page_holds_a_place_that_waits_for_a_figure() -> None:
    for page in PAGES:
        assert not re.search(r"@[A-Z]+@", page.read_text(encoding="utf-8")), page.name
