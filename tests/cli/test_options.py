"""The help of `bineval run`, and options that do not fit each other."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bineval.cli.options import SectionedCommand, section
from bineval.cli.run import run
from support.command_line import Folder


@pytest.mark.parametrize("width", [80, 110])
def test_the_options_of_run_stand_below_headings_in_two_columns(width: int) -> None:
    text = CliRunner().invoke(run, ["--help"], terminal_width=width, max_content_width=110).output
    titles = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "Options:",
        "Server and price of the model:",
        "Answers in writing (--kind chat):",
        "Probabilities of yes and no (--kind logprob or decision):",
        "Explanations of answers that have none:",
        "Cascade (a strong judge takes over where the first is unsure):",
        "Panel (several --judge):",
        "Methods to compare with (--method):",
        "Limits and budget:",
    ]
    assert max(len(line) for line in text.splitlines()) <= width
    parts = [re.match(r"  --.*?\s{2,}(?=\S)", line) for line in text.splitlines()]
    assert {len(part[0]) for part in parts if part} == {34}
    assert "RANGE" not in text


def test_sections_follow_options_without_one_and_an_argument_is_no_option() -> None:
    option = section("More")

    @click.command(cls=SectionedCommand)
    @click.argument("data")
    @option("--far", type=click.IntRange(min=1), metavar="N", help="How far.")
    @click.option("--near", help="How near.")
    def command(data: str, far: int, near: str) -> None:
        """Goes."""

    lines = CliRunner().invoke(command, ["--help"]).output.splitlines()
    assert [line.strip().split("  ")[0] for line in lines[4:]] == [
        "Options:", "--near TEXT", "--help", "", "More:", "--far N",
    ]  # fmt: skip
    wrong = CliRunner().invoke(command, ["x", "--far", "0"])
    assert "0 is not in the range x>=1" in wrong.output


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--kind", "logprob", "--evidence"), "--evidence needs a judge of --kind chat"),
        (("--kind", "logprob", "--seed", "0"), "--seed needs a judge of --kind chat"),
        (("--kind", "logprob", "--mode", "all"), "--mode needs a judge of --kind chat"),
        (("--min-mass", "0.4"), "--min-mass needs a judge of --kind logprob"),
        (("--max-questions", "4"), "--max-questions needs a judge of --kind decision"),
        (("--rule", "vote"), "--rule needs a second --judge"),
        (
            ("--kind", "logprob", "--strong", "scripted/judge.py", "--band", "0,1", "--strong-price", "1"),
            "--strong-price: '1' must be two numbers",
        ),
        (
            ("--kind", "logprob", "--strong", "scripted/judge.py", "--band", "bnd.json"),
            "--band: 'bnd.json' must be two numbers, such as 0.2,0.8, or a file that is there",
        ),
    ],
)
def test_an_option_that_no_judge_would_heed_is_refused(folder: Folder, more: tuple[str, ...], message: str) -> None:
    done = folder.run(*more)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert folder.calls() == []


def test_an_option_is_heeded_by_the_strong_judge_of_a_cascade(folder: Folder) -> None:
    done = folder.run(
        *("--kind", "logprob", "--strong", "scripted/judge.py", "--band", "0.2,0.8", "--evidence", "--dry-run")
    )
    assert done.code == 0, done.err


def test_a_dry_run_says_what_may_come_on_top(folder: Folder) -> None:
    cascade = ("--kind", "logprob", "--strong", "scripted/judge.py", "--band", "0.2,0.8", "--explain", "no")
    done = folder.run(*cascade, "--dry-run", "--json")
    assert done.code == 0, done.err
    assert done.json["n_calls"] == 12
    assert done.json["at_most_on_top"]["strong"]["n_calls"] == 12
    assert done.json["at_most_on_top"]["n_explanations"] == 12
    assert "12 verdicts to make: 12 calls\n" in done.err
    assert "on top, if the strong judge is asked about all of them: 12 calls\n" in done.err
    assert "on top, explanations: at most 12 calls\n" in done.err
    assert done.err.endswith("Nothing was sent.\n")


def test_a_dry_run_of_one_judge_has_nothing_on_top_and_counts_one_call_as_one(folder: Folder) -> None:
    folder.write("data.jsonl", '{"output": "The sky is blue."}\n')
    done = folder.run("--dry-run", "--json", "--mode", "all")
    assert done.json["at_most_on_top"] == {"strong": None, "n_explanations": 0}
    assert "3 verdicts to make: 1 call\n" in done.err
    assert "on top" not in done.err
