import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bineval.cli.generate import generate
from bineval.errors import BudgetExceeded, DataError
from bineval.io.checklists import load_checklist, parse_checklist

TASK = "Write the minutes: at most 150 words, in the past tense."
SCRIPT = """\
import json, re

def reply(request):
    with open("calls.log", "a") as log:
        log.write("call\\n")
    text = request.messages[1].content
    asked = re.findall(r"^(R[0-9]+): (.*)$", text, re.MULTILINE)
    if not asked:
        names = request.schema["properties"]["requirements"]["items"]["properties"]["dimension"].get("enum", ["form"])
        rows = [{"text": f"The {name} is as the task asks.", "dimension": name} for name in names]
        return json.dumps({"requirements": rows})
    (id, _), = asked
    dimension = re.search(r"<<<BEGIN DIMENSION>>>\\n(\\w+)", text)[1]
    question = f"Does the {dimension} stay within the limits?"
    return json.dumps({"questions": [{"requirement": id, "question": question, "violation": "It does not."}]})
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BINEVAL_STORE", raising=False)
    (tmp_path / "writer.py").write_text(SCRIPT)
    (tmp_path / "TASK.md").write_text(TASK)
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(generate, [*arguments, "--model", "scripted/writer.py"], input=stdin)


def n_calls() -> int:
    log = Path("calls.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_the_checklist_is_written_to_the_file_and_summed_up(folder: Path) -> None:
    result = run("TASK.md", "-o", "minutes.yaml", "--scale", "1,5")
    assert result.exit_code == 0
    assert result.stdout == ""
    checklist = load_checklist(folder / "minutes.yaml")
    assert (checklist.name, checklist.task, checklist.scale) == ("minutes", TASK, (1, 5))
    assert checklist.dimensions["form"].scale == (1, 5)
    assert "1 requirements, 1 dimensions, 1 questions, 0 findings left" in result.stderr
    assert "Read minutes.yaml before you use it" in result.stderr


def test_without_a_file_stdout_is_the_yaml_alone() -> None:
    result = run("TASK.md")
    checklist = parse_checklist(result.stdout)
    assert checklist.name == "TASK"
    assert [question.id for question in checklist.questions] == ["for-1"]


def test_dimensions_are_asked_for_by_name_and_description() -> None:
    result = run("TASK.md", "--dimension", "content=What it says, e.g. a=b.", "--dimension", "length")
    checklist = parse_checklist(result.stdout)
    assert {name: d.description for name, d in checklist.dimensions.items()} == {
        "content": "What it says, e.g. a=b.",
        "length": None,
    }


def test_findings_that_are_left_are_shown(folder: Path) -> None:
    (folder / "writer.py").write_text(SCRIPT.replace("stay within the limits", "read well"))
    result = run("TASK.md")
    assert "for-1: warning: vague" in result.stderr
    assert "1 findings left" in result.stderr
    assert parse_checklist(result.stdout).questions[0].text == "Does the form read well?"


def test_an_existing_file_is_kept_unless_forced(folder: Path) -> None:
    (folder / "out.yaml").write_text("my own work")
    result = run("TASK.md", "-o", "out.yaml")
    assert result.exit_code == 2
    assert "--force overwrites it" in result.stderr
    assert (folder / "out.yaml").read_text() == "my own work"
    assert n_calls() == 0
    assert run("TASK.md", "-o", "out.yaml", "--force").exit_code == 0
    assert load_checklist(folder / "out.yaml").name == "out"


def test_the_task_may_come_from_stdin_with_a_byte_order_mark() -> None:
    result = run("-", stdin=b"\xef\xbb\xbf" + TASK.encode())
    assert parse_checklist(result.stdout).task == TASK


def test_a_task_that_is_not_utf8_names_file_and_line(folder: Path) -> None:
    (folder / "TASK.md").write_bytes(b"Write\nthe r\xe9sum\xe9")
    error = run("TASK.md").exception
    assert isinstance(error, DataError)
    assert str(error).startswith("TASK.md:2: byte 0xe9 is not UTF-8")


def test_the_same_command_again_pays_nothing() -> None:
    first = run("TASK.md").stdout
    paid = n_calls()
    assert run("TASK.md").stdout == first
    assert n_calls() == paid == 2


def test_a_budget_stops_before_the_call_that_passes_it() -> None:
    assert isinstance(run("TASK.md", "--max-calls", "1").exception, BudgetExceeded)
    assert n_calls() == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--scale", "5,1"],
        ["--scale", "1"],
        ["--scale", "nan,5"],
        ["--dimension", "=What."],
        ["--dimension", "a", "--dimension", "a=Again."],
        ["--max-reply-tokens", "0"],
    ],
)
def test_wrong_options_are_usage_errors_before_any_call(options: list[str]) -> None:
    assert run("TASK.md", *options).exit_code == 2
    assert n_calls() == 0


def test_a_model_must_be_named() -> None:
    result = CliRunner().invoke(generate, ["TASK.md"])
    assert result.exit_code == 2
    assert "--model" in result.stderr


def test_the_file_passes_the_lint_command(folder: Path) -> None:
    from bineval.cli.lint import lint

    run("TASK.md", "-o", "minutes.yaml")
    result = CliRunner().invoke(lint, ["minutes.yaml", "--strict", "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, [])
