"""Peak memory of a run of 1,000 and of 20,000 verdicts with the scripted model.

    python bench/memory.py        writes bench/results/memory.json

Each size is a process of its own: 8 questions about outputs of 400 characters with inputs of 2,000, from a JSONL file.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from results_file import write_results

N_QUESTIONS = 8
_SIZES = (1_000, 20_000)


def _measure(n_verdicts: int) -> None:
    """Runs one size in this process and prints its peak memory in MB."""
    from bineval import Checklist, Dimension, Question, RunOptions, Scripted, evaluate

    questions = tuple(
        Question(id=f"q{i}", dimension="quality", text=f"Does sentence {i} follow from the input?")
        for i in range(N_QUESTIONS)
    )
    checklist = Checklist(name="bench", questions=questions, dimensions={"quality": Dimension()})
    model = Scripted.from_function(lambda _: '{"explanation": "The text says so.", "answer": "yes"}')
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        with data.open("w", encoding="utf-8") as file:
            for i in range(n_verdicts // N_QUESTIONS):
                row = {"id": i, "input": f"{i} ".ljust(2000, "x"), "output": f"{i} ".ljust(400, "y")}
                file.write(json.dumps(row) + "\n")
        with evaluate(data, checklist, judge=model, store=Path(folder) / "bench.db", options=RunOptions()) as run:
            assert run.status().n_answered == n_verdicts
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Measures each size."""
    if len(sys.argv) == 2:
        _measure(int(sys.argv[1]))
        return
    peaks = {}
    for n in _SIZES:
        done = subprocess.run([sys.executable, __file__, str(n)], capture_output=True, text=True, check=True)
        peaks[n] = round(float(done.stdout), 1)
    growth = round(peaks[_SIZES[1]] / peaks[_SIZES[0]], 3)
    path = write_results("memory", {"peak_mb": peaks, "ratio": growth})
    print(f"peak MB: {peaks}, ratio {growth}\n{path}")


if __name__ == "__main__":
    main()
