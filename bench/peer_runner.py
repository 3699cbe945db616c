r"""bineval as a runner of ../shared/bench/peers, the kit that measures what rival tools cost for the same judging.

    cp -r ../shared/bench/peers /tmp/peers && cd /tmp/peers && ./install.sh
    python3 bench.py --extra 'bineval/independent=PYTHON RUNNER --variant independent' \
                     --extra 'bineval/logprob=PYTHON RUNNER --variant logprob'

PYTHON is .venv/bin/python of this project, and RUNNER this file; it imports peerlib.py of the folder it is run in.

All questions in one call cannot be measured with this kit: its server gives every entry of a list the same id, and
bineval matches by id.
"""

import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path.cwd()))
import peerlib

Verdicts = dict[tuple[int, int], tuple[bool | None, str | None]]


def load() -> str:
    """Imports what the job needs; returns the version."""
    global bineval
    import bineval

    for name in bineval.__all__:
        getattr(bineval, name)
    return str(bineval.__version__)


def job(examples: list[dict[str, Any]], questions: list[dict[str, Any]], arguments: Namespace) -> Verdicts:
    """Judges everything into a store of its own, as `bineval run` does."""
    checklist = bineval.Checklist(
        name="peers",
        questions=tuple(
            bineval.Question(id=str(question["id"]), text=question["text"], dimension="all") for question in questions
        ),
        dimensions={"all": bineval.Dimension()},
    )
    options = bineval.RunOptions(
        judge=bineval.JudgeOptions(kind="logprob" if arguments.variant == "logprob" else "chat"),
        model=bineval.ModelOptions(base_url=arguments.base_url),
        policy=bineval.CallPolicy(limits=bineval.Limits(concurrency=arguments.concurrency)),
    )
    data = [{"id": str(item["id"]), "input": item["x"], "output": item["y"]} for item in examples]
    with tempfile.TemporaryDirectory() as folder:
        judge, store = f"openai/{arguments.model}", Path(folder) / "peers.db"
        with bineval.evaluate(data, checklist, judge=judge, store=store, options=options) as run:
            return {
                (int(row.example_id), int(row.question_id)): (
                    None if row.verdict.answer is None else row.verdict.answer == "yes",
                    row.verdict.explanation,
                )
                for row in run.verdicts()
            }


if __name__ == "__main__":
    if "--variant" not in sys.argv:
        sys.argv += ["--variant", "independent"]
    peerlib.main("bineval", load, job)
