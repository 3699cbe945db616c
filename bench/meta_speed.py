"""Wall time of `bineval meta` on a run of 1,600 outputs in four dimensions, with all its intervals, as a command.

python bench/meta_speed.py        writes bench/results/meta_speed.json

The data are made up here, in the shape of a benchmark of summaries: 100 documents, 16 systems, ratings in thirds on a
scale of 1 to 5, scores that follow them loosely.
"""

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from results_file import write_results

_DOCUMENTS, _SYSTEMS, _DIMENSIONS = 100, 16, ("coherence", "consistency", "fluency", "relevance")
_ROUNDS = 3
_MOST_SECONDS = 10.0


def main() -> None:
    """Imports the scores once, then measures each level."""
    bineval = str(Path(sys.executable).parent / "bineval")
    with tempfile.TemporaryDirectory() as folder:
        _write_data(Path(folder))

        def seconds(*arguments: str) -> tuple[float, float]:
            """Wall time, and processor time, which other work on the machine does not lengthen as much."""
            began, used = time.perf_counter(), _processor_seconds()
            subprocess.run([bineval, *arguments], cwd=folder, capture_output=True, check=True, env=_environment())
            return time.perf_counter() - began, _processor_seconds() - used

        scales = [option for name in _DIMENSIONS for option in ("--scale", f"{name}=1,5")]
        importing = seconds("import-scores", "data.jsonl", "--scores", "scores.jsonl", "--name", "made-up", *scales)
        levels = {
            level: [seconds("meta", "made-up", "--level", level) for _ in range(_ROUNDS)]
            for level in ("pooled", "group", "system")
        }
    results: dict[str, Any] = {
        "outputs": _DOCUMENTS * _SYSTEMS,
        "dimensions": len(_DIMENSIONS),
        "rounds": _ROUNDS,
        "target_seconds": _MOST_SECONDS,
        "import_seconds": round(importing[0], 2),
        "meta_seconds": {level: _median(wall for wall, _ in found) for level, found in levels.items()},
        "meta_processor_seconds": {level: _median(used for _, used in found) for level, found in levels.items()},
    }
    print(json.dumps(results, indent=2))
    print(write_results("meta_speed", results, ("numpy", "scipy")))


def _write_data(folder: Path) -> None:
    rng = random.Random(0)
    examples, scores = [], []
    for document in range(_DOCUMENTS):
        for system in range(_SYSTEMS):
            example_id = f"d{document}-s{system}"
            human = {}
            for dimension in _DIMENSIONS:
                quality = min(max(rng.gauss(2.5 + 0.1 * system, 0.8), 1), 5)
                human[dimension] = round(quality * 3) / 3
                value = min(max(quality + rng.gauss(0, 0.7), 1), 5)
                scores.append({"example_id": example_id, "dimension": dimension, "value": value})
            examples.append(
                {"id": example_id, "group": f"d{document}", "system": f"s{system}", "output": "made up", "human": human}
            )
    for name, rows in (("data.jsonl", examples), ("scores.jsonl", scores)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 2)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _environment() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name not in ("BINEVAL_STORE", "PYTHONDONTWRITEBYTECODE")
    }


if __name__ == "__main__":
    main()
