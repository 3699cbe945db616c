import json
from pathlib import Path

import pytest

from bineval.io.checklists import save_checklist
from support import letters
from support.command_line import Folder

ARGUMENTS = (
    "improve", "prompt.md", "data.jsonl", "--checklist", "checklist.yaml", "--generator", "scripted/generator.py",
    "--judge", "scripted/judge.py", "--writer", "scripted/writer.py", "--train", "20", "--dev", "20",
    "--max-growth", "5",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    for name, model, reply in (
        ("generator", "None", "letters.write(request)"),
        ("judge", "None", "letters.judge(request)"),
        ("writer", "letters.notes(letters.LESSONS)", "model.complete(request).text"),
    ):
        folder.write_logged_model(name, module="letters", setup=model, reply=reply)
    rows = [{"id": item.id, "group": item.group, "input": item.input} for item in letters.inputs()]
    folder.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    folder.write("prompt.md", letters.START + "\n")
    save_checklist(letters.CHECKLIST, tmp_path / "checklist.yaml")
    return folder


def test_the_best_prompt_is_written_and_its_story_told(folder: Folder) -> None:
    done = folder.bineval(*ARGUMENTS, "--name", "letters", "-o", "better.md")
    assert done.code == 0, done.err
    for words in (
        "scripted/generator.py, prompt generation, by mean overall score; lessons by scripted/writer.py",
        "lesson: Say Hello.",
        "+Say Hello.",
        "on test, best prompt:  1.000",
    ):
        assert words in done.out, words
    assert set((folder.path / "better.md").read_text().splitlines()) == {letters.START, *letters.LESSONS.values()}
    n_calls = len(folder.calls())
    assert folder.bineval("improve", "show", "letters").out == done.out
    again = folder.bineval(*ARGUMENTS, "--name", "letters", "--json")
    assert again.json["ending"] == "nothing left to gain"
    assert len(folder.calls()) == n_calls


def test_a_cap_leaves_the_best_prompt_so_far(folder: Folder) -> None:
    whole = folder.bineval(*ARGUMENTS, "--name", "all")
    assert whole.code == 0, whole.err
    n_calls = len(folder.calls())
    (folder.path / "calls.log").unlink()
    arguments = (*ARGUMENTS, "--name", "poor", "--store", "poor.db", "-o", "so-far.md")
    codes = [folder.bineval(*arguments, "--max-calls", str(n_calls - 100)).code for _ in range(2)]
    assert codes == [5, 5]
    assert len(folder.calls()) <= n_calls - 100, "the calls of both sittings count"
    assert (folder.path / "so-far.md").exists()
    assert folder.bineval(*arguments, "--max-calls", str(n_calls)).code == 0


def test_what_does_not_fit_is_said_before_anything_is_paid_for(folder: Folder) -> None:
    folder.write("data.jsonl", '{"id": "a", "output": "x"}\n')
    done = folder.bineval(*ARGUMENTS, "--name", "n")
    assert done.code == 1
    assert "has no input to write for" in done.err
    assert not folder.calls()
