import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bineval.cli.lint import lint
from bineval.errors import DataError

SOUND = """\
name: minutes
dimensions:
  form:
    questions:
      - id: tense
        text: Are the minutes in the past tense?
        violation: The minutes say "We are going to vote".
"""
VAGUE = SOUND.replace("in the past tense", "good")
NO_QUESTION = SOUND.replace("in the past tense?", "in the past tense.")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "checklist.yaml"


def run(file: Path, text: str, *options: str) -> Result:
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(lint, [str(file), *options])


def test_a_sound_checklist_passes_without_a_word_on_stdout(file: Path) -> None:
    result = run(file, SOUND, "--strict")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 questions, 0 errors, 0 warnings\n"


@pytest.mark.parametrize(
    ("text", "options", "exit_code"),
    [(VAGUE, [], 0), (VAGUE, ["--strict"], 1), (NO_QUESTION, [], 1), (NO_QUESTION, ["--strict"], 1)],
)
def test_errors_fail_and_warnings_fail_when_strict(file: Path, text: str, options: list[str], exit_code: int) -> None:
    assert run(file, text, *options).exit_code == exit_code


def test_a_finding_names_its_question_and_shows_it(file: Path) -> None:
    lines = run(file, NO_QUESTION).stdout.splitlines()
    assert lines == [
        "tense: error: no-question-mark: does not end in a question mark",
        "    Are the minutes in the past tense.",
    ]


def test_a_finding_about_no_single_question_names_its_dimension(file: Path) -> None:
    result = run(file, SOUND + "  content: {questions: []}\n")
    assert "content: error: empty-dimension" in result.stdout


def test_json_is_a_list_of_findings(file: Path) -> None:
    (finding,) = json.loads(run(file, VAGUE, "--json").stdout)
    assert (finding["rule"], finding["severity"]) == ("vague", "warning")
    assert (finding["question_id"], finding["dimension"]) == ("tense", "form")


def test_json_without_findings_is_an_empty_list(file: Path) -> None:
    assert json.loads(run(file, SOUND, "--json").stdout) == []


def test_a_file_that_is_no_checklist_is_a_data_error(file: Path) -> None:
    assert isinstance(run(file, "just: text\n").exception, DataError)
