import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from support.command_line import N_VERDICTS, SCORES, Finished, Folder, interrupted, wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def refused(finished: Finished) -> str:
    """The message of a command that failed with exit code 1, in words and not in a stack trace."""
    assert finished.code == 1
    assert "Traceback" not in finished.err
    assert finished.out == ""
    return finished.err


def test_scores_are_right_and_in_json_on_stdout_with_words_on_stderr(folder: Folder) -> None:
    finished = folder.run("--json", "--name", "first")
    assert finished.code == 0
    rows = {(row["system"], row["dimension"]): row for row in finished.json["scores"]}
    # content: (1 + 0.75 + 0.25 + 0.75) / 4 = 0.6875, on [1, 5] 0.6875 · 4 + 1 = 3.75
    # form:    (1 + 1 + 0 + 0) / 4 = 0.5;  overall: (1 + 0.8 + 0.2 + 0.6) / 4 = 0.65
    for dimension, value, scaled in (("content", 0.6875, 3.75), ("form", 0.5, None), ("overall", 0.65, None)):
        row = rows[None, dimension]
        assert row["estimate"]["value"] == pytest.approx(value)
        assert row["scaled"] == (None if scaled is None else pytest.approx(scaled))
        assert (row["estimate"]["low"], row["estimate"]["high"]) == (None, None)
        assert row["estimate"]["method"] == "no interval: fewer than 5 groups"
    # by system: (1 + 0.75) / 2 and (0.25 + 0.75) / 2
    assert rows["one", "content"]["estimate"]["value"] == pytest.approx(0.875)
    assert rows["two", "content"]["estimate"]["value"] == pytest.approx(0.5)
    assert {row["question_id"]: row["failed"] for row in finished.json["questions"]} == {
        "blue": ["b", "d"],
        "stop": ["c", "d"],
        "short": ["c"],
    }
    assert finished.json["status"]["n_answered"] == N_VERDICTS
    assert finished.json["manifest"]["judge"]["model"]["provider"] == "scripted"
    assert "12 of 12 verdicts" in finished.err
    assert "To open an example: bineval show first" in finished.err
    assert "Traceback" not in finished.err


def test_the_same_command_asks_nothing_again_and_prints_no_result_unasked(folder: Folder) -> None:
    first, again = folder.run("--json"), folder.run("--concurrency", "1")
    assert (again.code, again.out) == (0, "")
    assert len(folder.calls()) == N_VERDICTS
    assert f"run {first.json['run']} · judge" in again.err
    assert f"{N_VERDICTS} calls · {first.json['usage']['input_tokens']} tokens read" in again.err
    assert "0.650" in again.err


def test_a_dry_run_makes_no_call_leaves_no_file_and_tells_what_then_happens(folder: Folder) -> None:
    before = folder.files()
    price = ("--price", "10,20")
    forecast = folder.run("--dry-run", "--json", *price)
    assert forecast.code == 0
    assert folder.files() == before
    assert "Nothing was sent" in forecast.err
    done = folder.run("--json", *price).json
    promised = forecast.json
    assert promised["n_verdicts"] == promised["n_calls"] == done["usage"]["calls"] == N_VERDICTS
    assert (promised["n_cached"], promised["n_too_long"]) == (0, 0)
    assert promised["input_tokens"] == done["usage"]["input_tokens"]
    usage = done["usage"]
    assert done["cost_usd"] == pytest.approx((usage["input_tokens"] * 10 + usage["output_tokens"] * 20) / 1e6)
    assert usage["output_tokens"] <= promised["output_tokens"][1]
    assert done["cost_usd"] <= promised["cost_usd"][1]
    left = folder.run("--dry-run", "--json", *price).json
    assert (left["n_verdicts"], left["n_calls"], left["cost_usd"]) == (0, 0, [0, 0])


def test_a_limit_can_be_raised_and_takes_nothing_back(folder: Folder) -> None:
    first = folder.run("--json", "--limit", "1")
    assert first.json["status"]["n_planned"] == 3
    forecast = folder.run("--json", "--dry-run", "--limit", "3").json
    more = folder.run("--json", "--limit", "3")
    assert (more.json["run"], more.json["status"]["n_planned"]) == (first.json["run"], 9)
    assert forecast["n_calls"] == len(folder.calls()) - 3 == 6
    less = folder.run("--json", "--limit", "1")
    assert less.json["status"]["n_planned"] == 9
    assert len(folder.calls()) == 9


def test_repeats_are_asked_and_reported_one_by_one(folder: Folder) -> None:
    finished = folder.run("--json", "--repeats", "2", "--limit", "1", "--name", "twice")
    assert finished.json["status"]["n_done"] == len(folder.calls()) == 6
    assert [row["n_repeated"] for row in finished.json["questions"]] == [1, 1, 1]
    assert "flips" in finished.err
    with folder.stored_run("twice") as run:
        asked = [(row.question_id, row.repeat) for row in run.verdicts()]
    assert asked == [("blue", 0), ("blue", 1), ("short", 0), ("short", 1), ("stop", 0), ("stop", 1)]


@pytest.mark.parametrize("cap", [("--max-tokens", "3500"), ("--max-cost", "0.0035", "--price", "1,1")])
def test_a_budget_stops_before_the_call_that_would_pass_it(folder: Folder, cap: tuple[str, ...]) -> None:
    stopped = folder.run("--name", "capped", "--json", *cap)
    n_calls = len(folder.calls())
    assert stopped.code == 5
    assert stopped.out == ""
    assert f"budget reached: the next call could pass {cap[0]}" in stopped.err
    assert f"{n_calls} of {N_VERDICTS} verdicts are kept in run capped" in stopped.err
    assert 0 < n_calls < N_VERDICTS
    with folder.stored_run("capped") as run:
        usage = run.usage()
        assert usage.calls == run.status().n_done == n_calls
        assert usage.input_tokens + usage.output_tokens <= 3500
        assert not run.status().finished


def test_a_raised_budget_goes_on_and_counts_what_was_spent(folder: Folder) -> None:
    stopped = folder.run("--max-calls", "5")
    assert stopped.code == 5
    assert "budget reached: the next call would pass --max-calls 5" in stopped.err
    assert len(folder.calls()) == 5
    again = folder.run("--max-calls", "5")
    assert again.code == 5
    assert "used so far: 5 calls" in again.err
    assert folder.run("--max-calls", str(N_VERDICTS)).code == 0
    assert len(folder.calls()) == N_VERDICTS


def test_questions_without_an_answer_end_with_4_unless_allowed(folder: Folder) -> None:
    vague = {"JUDGE_IS_VAGUE": "1"}
    finished = folder.run("--json", "--name", "vague", env=vague)
    assert finished.code == 4
    assert "33.3% of the questions have no answer (4 unparsed); they count neither as yes nor as no" in finished.err
    assert "33.3% of the questions have no answer, more than --max-unanswered 0" in finished.err
    rows = {row["dimension"]: row for row in finished.json["scores"] if row["system"] is None}
    # Without "blue", content is "short" alone: (1 + 1 + 0 + 1) / 4
    assert rows["content"]["estimate"]["value"] == pytest.approx(0.75)
    assert (rows["content"]["n_answered"], rows["content"]["n_asked"]) == (4, 8)
    assert len(folder.calls()) == N_VERDICTS + 4, "each is asked once again"
    allowed = folder.run("--json", "--name", "vague", "--max-unanswered", "0.34", env=vague)
    assert allowed.code == 0
    assert len(folder.calls()) == N_VERDICTS + 4


def test_a_run_that_differs_is_refused_and_what_differs_is_named(folder: Folder) -> None:
    assert folder.run("--name", "mine").code == 0
    folder.write("checklist.yaml", (folder.path / "checklist.yaml").read_text().replace("blue?", "blue or red?"))
    folder.write("data.jsonl", (folder.path / "data.jsonl").read_text().replace("grey", "red"))
    changes = ("--name", "mine", "--temperature", "0.5", "--repeats", "2", "--concurrency", "3")
    for more in ((), ("--dry-run",)):
        message = refused(folder.run(*changes, *more))
        assert "run 'mine' cannot be resumed" in message
        for place in (
            "data: ",
            "checklist: ",
            "judge.temperature: 0.0 in the run, 0.5 now",
            "repeats: 1 in the run, 2 now",
        ):
            assert f"\n  {place}" in message
        assert "concurrency" not in message
        assert "judge.mode" not in message
    assert len(folder.calls()) == N_VERDICTS


def test_ctrl_c_keeps_every_call_under_way_and_the_same_command_goes_on(folder: Folder) -> None:
    process = folder.start(*folder.run_arguments, "--name", "cut", "--concurrency", "2", env={"JUDGE_DELAY_S": "0.4"})
    wait_until(lambda: len(folder.calls()) >= 3)
    stopped = interrupted(process)
    n_calls = len(folder.calls())
    assert stopped.code == 130
    assert n_calls < N_VERDICTS
    assert "stopping: waiting for the calls under way" in stopped.err
    assert f"{n_calls} of {N_VERDICTS} verdicts are kept in run cut" in stopped.err
    assert "Traceback" not in stopped.err
    with folder.stored_run("cut") as run:
        assert run.status().n_answered == n_calls
    assert folder.run("--name", "cut").code == 0
    assert len(folder.calls()) == N_VERDICTS


def test_a_second_ctrl_c_leaves_at_once(folder: Folder) -> None:
    process = folder.start(*folder.run_arguments, env={"JUDGE_DELAY_S": "50"})
    wait_until(lambda: len(folder.calls()) == 1)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "Ctrl-C again leaves at once" in process.stderr.readline()
    stopped = interrupted(process)
    assert stopped.code == 130
    assert "0 of 12 verdicts are kept" in stopped.err
    assert "Traceback" not in stopped.err


def test_after_kill_9_nothing_is_lost_and_only_calls_under_way_are_repeated(folder: Folder) -> None:
    process = folder.start(
        *folder.run_arguments, "--name", "killed", "--concurrency", "3", env={"JUDGE_DELAY_S": "0.2"}
    )
    wait_until(lambda: len(folder.calls()) >= 6)
    process.kill()
    process.communicate()
    finished = folder.run("--json", "--name", "killed")
    assert finished.code == 0
    calls = Counter(folder.calls())
    assert len(calls) == N_VERDICTS
    assert calls.total() - N_VERDICTS <= 3
    assert finished.json["status"]["n_done"] == N_VERDICTS
    assert finished.json["status"]["n_cached"] == 0, "its own earlier work is not a cached reply"
    assert finished.json["usage"]["calls"] == N_VERDICTS, "what was paid before the kill is counted"
    scores = {row["dimension"]: row["estimate"]["value"] for row in finished.json["scores"] if row["system"] is None}
    assert scores["overall"] == pytest.approx(sum(score["overall"] for score in SCORES.values()) / 4)


def test_another_run_takes_equal_answers_from_the_reply_cache(folder: Folder) -> None:
    assert folder.run("--name", "one").code == 0
    other = folder.run("--json", "--name", "two").json
    assert len(folder.calls()) == N_VERDICTS
    assert other["status"]["n_cached"] == N_VERDICTS
    assert (other["usage"]["calls"], other["cost_usd"]) == (0, 0)


@pytest.mark.parametrize(
    ("name", "text", "place", "problem"),
    [
        ("data.jsonl", '{"output": "x"}\n{"output": \n', "data.jsonl:2", "JSON"),
        ("data.jsonl", '{"id": "a", "output": "x"}\n{"id": "a", "output": "y"}\n', "data.jsonl:2", "'a'"),
        ("checklist.yaml", "dimensions:\n  d:\n    questions:\n      - txt: Is it?\n", "checklist.yaml:4", "txt"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_line(
    folder: Folder, name: str, text: str, place: str, problem: str
) -> None:
    folder.write(name, text)
    message = refused(folder.run())
    assert message.startswith(f"error: {place}: ")
    assert problem in message
    assert folder.calls() == []


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("scriptd/judge.py", "unknown model provider 'scriptd'; did you mean scripted?"),
        ("gpt", "model 'gpt' must be provider/model; providers: anthropic"),
        ("scripted/nowhere.py", "scripted/nowhere.py: the script cannot be read"),
        ("llamacpp/smollm2-135", "unknown local model 'smollm2-135'; did you mean smollm2-135m?"),
        ("llamacpp/nowhere.gguf", "nowhere.gguf: there is no such model file"),
    ],
)
def test_a_judge_that_is_not_there_is_said_with_advice(folder: Folder, judge: str, message: str) -> None:
    before = folder.files()
    finished = folder.bineval("run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", judge)
    assert message in refused(finished)
    assert folder.files() == before, "nothing is begun"


def test_a_broken_model_file_is_said_in_words(folder: Folder) -> None:
    folder.write("broken.gguf", "no model")
    finished = folder.bineval("run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "llamacpp/broken.gguf")
    assert "error: broken.gguf: llama.cpp cannot load it" in refused(finished)


@pytest.mark.parametrize(
    "more",
    [
        ("--max-unanswered", "nan"),
        ("--max-cost", "inf"),
        ("--price", "1"),
        ("--price", "1,-1"),
        ("--prompt", "judge_one"),
        ("--repeats", "0"),
        ("--mode", "some"),
    ],
)
def test_a_wrong_option_is_a_usage_error(folder: Folder, more: tuple[str, ...]) -> None:
    finished = folder.run(*more)
    assert finished.code == 2
    assert more[0].strip("-") in finished.err
    assert finished.out == ""


def test_a_store_that_is_none_is_left_alone(folder: Folder) -> None:
    before = (folder.path / "data.jsonl").read_bytes()
    assert "choose another with --store" in refused(folder.run("--store", "data.jsonl"))
    assert (folder.path / "data.jsonl").read_bytes() == before


def test_the_hint_to_show_names_the_store_and_quotes_the_name(folder: Folder) -> None:
    finished = folder.run("--store", "my runs.db", "--name", "my run")
    assert "bineval show 'my run' --store 'my runs.db'" in finished.err
