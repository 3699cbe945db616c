"""CPU time a verdict costs on our side, beside the raw openai SDK in a thread pool making the same calls.

    python bench/harness.py        writes bench/results/harness.json

Both send the same 2,000 requests to an instant server in another process. Each measurement is a process of its own; the
two take turns, and medians are reported. The counted job comes after an uncounted one of 16 calls. CPU time is
user + system of the client process: for bineval, everything from the rendering of prompts to the last verdict in the
store; for the raw SDK, sending prepared messages and reading the answer out of the JSON.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from results_file import write_results

N_EXAMPLES, N_QUESTIONS, N_THREADS, N_ROUNDS = 250, 8, 16, 5
_HERE = Path(__file__).parent


def _work(n_examples: int) -> tuple[Any, Any]:
    from bineval import Checklist, Dimension, Example, Question

    source = "The harbor ferry leaves every forty minutes and carries bicycles for a small fee. " * 25
    examples = [
        Example(id=f"e{i}", input=f"Item {i}. {source}", output=f"Item {i}: ferries leave often. " * 12)
        for i in range(n_examples)
    ]
    questions = tuple(
        Question(id=f"q{i}", dimension="quality", text=f"Does sentence {i} of the text follow from the input?")
        for i in range(N_QUESTIONS)
    )
    return examples, Checklist(name="bench", questions=questions, dimensions={"quality": Dimension()})


def _bineval_job(base_url: str, n_examples: int) -> Callable[[], int]:
    from bineval import CallPolicy, Limits, ModelOptions, RunOptions, evaluate

    examples, checklist = _work(n_examples)
    options = RunOptions(model=ModelOptions(base_url=base_url), policy=CallPolicy(limits=Limits(concurrency=N_THREADS)))

    def job() -> int:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "bench.db"
            with evaluate(examples, checklist, judge="openai/instant", store=store, options=options) as run:
                return run.status().n_answered

    return job


def _raw_sdk_job(base_url: str, n_examples: int) -> Callable[[], int]:
    from openai import OpenAI

    from bineval import ChatJudge, Scripted

    examples, checklist = _work(n_examples)
    judge = ChatJudge(Scripted.from_function(lambda _: ""))
    requests = [
        judge.first_requests(example, [question])[0][1] for example in examples for question in checklist.questions
    ]
    calls = [
        {
            "model": "instant",
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": request.schema},
            },
        }
        for request in requests
    ]
    client = OpenAI(base_url=base_url, api_key="none", max_retries=0)

    def ask(call: dict[str, Any]) -> bool:
        completion = client.chat.completions.create(**call)
        return json.loads(completion.choices[0].message.content or "")["answer"] == "yes"

    def job() -> int:
        with ThreadPoolExecutor(N_THREADS) as pool:
            return sum(pool.map(ask, calls))

    return job


_JOBS = {"bineval": _bineval_job, "raw_sdk": _raw_sdk_job}


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _measure(name: str, base_url: str) -> None:
    """Runs one job in this process and prints its CPU milliseconds a verdict."""
    _JOBS[name](base_url, 2)()
    job = _JOBS[name](base_url, N_EXAMPLES)
    before = _cpu_s()
    n = job()
    spent = _cpu_s() - before
    if n != N_EXAMPLES * N_QUESTIONS:
        raise SystemExit(f"{name}: {n} verdicts instead of {N_EXAMPLES * N_QUESTIONS}")
    print(1000 * spent / n)


@contextmanager
def _server() -> Any:  # noqa: ANN401 - yields the base URL
    with subprocess.Popen(
        [sys.executable, str(_HERE / "instant_server.py")], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


def main() -> None:
    """Measures both in turn and writes the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", choices=sorted(_JOBS), help="used by the script itself")
    parser.add_argument("--base-url")
    arguments = parser.parse_args()
    if arguments.measure:
        _measure(arguments.measure, arguments.base_url)
        return
    samples: dict[str, list[float]] = {name: [] for name in _JOBS}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with _server() as base_url:
        for round_ in range(N_ROUNDS):
            for name in sorted(_JOBS, reverse=round_ % 2 == 1):
                command = [sys.executable, __file__, "--measure", name, "--base-url", base_url]
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                samples[name].append(float(done.stdout))
    medians = {name: round(statistics.median(values), 3) for name, values in samples.items()}
    results = {
        "n_verdicts": N_EXAMPLES * N_QUESTIONS,
        "n_threads": N_THREADS,
        "cpu_ms_per_verdict": medians,
        "ratio": round(medians["bineval"] / medians["raw_sdk"], 3),
        "samples": {name: [round(value, 3) for value in values] for name, values in samples.items()},
    }
    path = write_results("harness", results, packages=("openai", "sqlalchemy"))
    print(f"CPU ms per verdict: bineval {medians['bineval']}, raw SDK {medians['raw_sdk']}, ratio {results['ratio']}")
    print(path)


if __name__ == "__main__":
    main()
