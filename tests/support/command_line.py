"""The `bineval` command as a process of its own in a working folder, and a small data set whose scores are known.

The scripted judge looks words up in the text and appends a line to `calls.log` for every call, so that tests can count
what was paid for.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bineval.judging.runs import Run
from bineval.store.database import Store

EXAMPLES = [
    {"id": "a", "system": "one", "input": "Describe the sky.", "output": "The sky is blue."},
    {"id": "b", "system": "one", "input": "Describe the sky.", "output": "The sky is grey."},
    {"id": "c", "system": "two", "input": "Describe the sky.", "output": "=blue, as far as the eye can see"},
    {"id": "d", "system": "two", "input": "Describe the sky.", "output": ""},
]

CHECKLIST = """\
name: sky
task: Describe the sky.
dimensions:
  content:
    scale: [1, 5]
    questions:
      - id: blue
        text: Does the text say blue?
      - id: short
        text: Does the text have fewer than 20 characters?
        weight: 3
  form:
    questions:
      - id: stop
        text: Does the text end in a full stop?
"""

# Answers, by example: blue / short / stop
#   a  yes yes yes   content (1·1 + 3·1) / 4 = 1     form 1   overall 5 / 5 = 1
#   b  no  yes yes   content (1·0 + 3·1) / 4 = 0.75  form 1   overall 4 / 5 = 0.8
#   c  yes no  no    content (1·1 + 3·0) / 4 = 0.25  form 0   overall 1 / 5 = 0.2
#   d  no  yes no    content (1·0 + 3·1) / 4 = 0.75  form 0   overall 3 / 5 = 0.6
SCORES = {
    "a": {"content": 1.0, "form": 1.0, "overall": 1.0},
    "b": {"content": 0.75, "form": 1.0, "overall": 0.8},
    "c": {"content": 0.25, "form": 0.0, "overall": 0.2},
    "d": {"content": 0.75, "form": 0.0, "overall": 0.6},
}
N_VERDICTS = 12

JUDGE = """\
import json, os, re, time

def reply(request):
    text = request.messages[1].content
    output = re.search(r"<<<BEGIN OUTPUT>>>\\n(.*)\\n<<<END OUTPUT>>>", text, re.DOTALL)[1]
    question = re.search(r"Question: (.*)", text)[1]
    with open("calls.log", "a") as log:
        log.write(json.dumps([output, question]) + "\\n")
    time.sleep(float(os.environ.get("JUDGE_DELAY_S", "0")))
    if os.environ.get("JUDGE_IS_VAGUE") and "blue" in question:
        return "That is hard to say."
    answers = {"say blue": "blue" in output, "fewer": len(output) < 20, "full stop": output.endswith(".")}
    answer = next(answer for words, answer in answers.items() if words in question)
    return json.dumps({"explanation": output or "There is nothing.", "answer": "yes" if answer else "no"})
"""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Folder:
    """A working folder; `run_arguments` are those of the plain run of the data set above."""

    run_arguments = ("run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "scripted/judge.py")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in EXAMPLES))
        self.write("checklist.yaml", CHECKLIST)
        self.write("judge.py", JUDGE)

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def write_logged_model(self, name: str, *, module: str, setup: str, reply: str) -> None:
        """A scripted model that logs its name for each call; `reply` is an expression of `model` and `request`."""
        tests = str(Path(__file__).parents[1])
        self.write(
            f"{name}.py",
            f"import sys\nsys.path.insert(0, {tests!r})\nfrom support import {module}\n\nmodel = {setup}\n\n\n"
            f"def reply(request):\n    with open('calls.log', 'a') as log:\n        log.write('{name}\\n')\n"
            f"    return {reply}\n",
        )

    def calls(self) -> list[str]:
        """One line for each call that the scripted judge got."""
        log = self.path / "calls.log"
        return log.read_text().splitlines() if log.exists() else []

    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())

    def run(self, *more: str, env: Mapping[str, str] | None = None) -> Finished:
        return self.bineval(*self.run_arguments, *more, env=env)

    def bineval(self, *arguments: str, env: Mapping[str, str] | None = None) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "bineval", *arguments],
            cwd=self.path,
            env=_environment(env),
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Finished(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    @contextmanager
    def stored_run(self, name: str) -> Iterator[Run]:
        """A run as the store has it, read in this process."""
        with Store(self.path / "bineval.db") as store:
            yield Run.open(store, name)

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Starts the command; end it with `interrupted` or `killed`."""
        return subprocess.Popen(
            [sys.executable, "-m", "bineval", *arguments],
            cwd=self.path,
            env=_environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def interrupted(process: "subprocess.Popen[str]") -> Finished:
    """Sends Ctrl-C and waits for the end."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return Finished(code=process.returncode, out=out, err=err)


def wait_until(condition: Callable[[], bool], *, timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "what was waited for never came"
        time.sleep(0.02)


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    own = ("BINEVAL_STORE", "OPENAI_", "TYPESAFE_", "JUDGE_", "PYTHONIOENCODING")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)} | dict(more or {})
