"""Peak memory of a run of 1,000 and of 20,000 verdicts with the scripted model.

    python bench/memory.py        writes bench/results/memory.json

20,000 verdicts are made in two ways: 20 repeats over the examples of the 1,000, and 20 times as many examples, which
are held in memory while they are judged. Each is a process of its own: 8 questions about outputs of 400 characters with
inputs of 2,000, from a JSONL file.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from results_file import write_results

N_QUESTIONS = 8
# Examples and repeats.
_WORKS = {
    "1,000 verdicts": (125, 1),
    "20,000 verdicts, 20 repeats": (125, 20),
    "20,000 verdicts, 20 times the examples": (2_500, 1),
}


def _measure(n_examples: int, repeats: int) -> None:
    """Does one work in this process and prints its peak memory in MB."""
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
            for i in range(n_examples):
                row = {"id": i, "input": f"{i} ".ljust(2000, "x"), "output": f"{i} ".ljust(400, "y")}
                file.write(json.dumps(row) + "\n")
        with evaluate(
            data, checklist, judge=model, store=Path(folder) / "bench.db", options=RunOptions(repeats=repeats)
        ) as run:
            assert run.status().n_answered == n_examples * N_QUESTIONS * repeats
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Measures each work."""
    if len(sys.argv) == 3:
        _measure(int(sys.argv[1]), int(sys.argv[2]))
        return
    peaks = {}
    for name, work in _WORKS.items():
        command = [sys.executable, __file__, *map(str, work)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[name] = round(float(done.stdout), 1)
    least = min(peaks.values())
    ratios = {name: round(peak / least, 3) for name, peak in peaks.items()}
    path = write_results("memory", {"peak_mb": peaks, "ratio": ratios})
    print(f"peak MB: {peaks}\n{path}")


if __name__ == "__main__":
    main()
