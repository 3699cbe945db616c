"""The first QAGS-XSum items judged end to end by a local model, killed with kill -9 on the way and resumed.

    python bench/qags.py [--data ../shared/data/qags_xsum.jsonl.gz] [--judge llamacpp/qwen2.5-coder-0.5b] [--limit 20]

Writes bench/results/qags_xsum.json: what was in the store after the kill, whether the resumed command kept every
verdict of it, and how the scores go with the human labels (a judge this small judges by chance).
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scipy import stats

from bineval import Run, Store
from bineval.types import OVERALL
from results_file import write_results

_HERE = Path(__file__).parent
_SHARED = _HERE.parent.parent / "shared" / "data" / "qags_xsum.jsonl.gz"
_CHECKLIST = _HERE / "qags_consistency.yaml"
_N_QUESTIONS = 4
_NAME = "qags"


def main() -> None:
    """Runs, kills, resumes, compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=_SHARED)
    parser.add_argument("--judge", default="llamacpp/qwen2.5-coder-0.5b")
    parser.add_argument("--limit", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "qags.db"
        command = [
            *(sys.executable, "-m", "bineval", "run", str(arguments.data), "--checklist", str(_CHECKLIST)),
            *("--judge", arguments.judge, "--limit", str(arguments.limit)),
            *("--name", _NAME, "--store", str(store), "--json"),
        ]
        began = time.monotonic()
        before = _run_and_kill(command, store, n_verdicts=arguments.limit * _N_QUESTIONS // 2)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        seconds = time.monotonic() - began
        after, summary = _verdicts(store), json.loads(done.stdout)
        results = {
            "command": f"bineval run {' '.join(command[4:])}",
            "judge": arguments.judge,
            "seconds": round(seconds, 1),
            "exit_code": done.returncode,
            "verdicts_after_kill": len(before),
            "verdicts_after_resume": len(after),
            "verdicts_lost_or_changed": sum(after.get(key) != value for key, value in before.items()),
            "status": summary["status"],
            "usage": summary["usage"],
            "scores": summary["scores"],
            "spearman_with_people": _spearman(store),
        }
    path = write_results("qags_xsum", results, packages=("llama-cpp-python",))
    print(json.dumps({key: value for key, value in results.items() if key != "scores"}, indent=2))
    print(path)


def _run_and_kill(command: list[str], store: Path, *, n_verdicts: int) -> dict[tuple[str, str], Any]:
    """Starts the command, kills it when `n_verdicts` are saved, and returns the verdicts that are there."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and len(_verdicts(store)) < n_verdicts:
            time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
    return _verdicts(store)


def _verdicts(store: Path) -> dict[tuple[str, str], Any]:
    if not store.exists():
        return {}
    with Store(store) as database:
        try:
            run = Run.open(database, _NAME)
        except ValueError:
            return {}
        return {(row.example_id, row.question_id): row.verdict for row in run.verdicts()}


def _spearman(store: Path) -> dict[str, Any]:
    """Spearman of the overall scores with the human consistency labels, over the examples that have both."""
    with Store(store) as database:
        pairs = [
            (scores[OVERALL].value, example.human["consistency"])
            for example, scores in Run.open(database, _NAME).scores()
            if scores[OVERALL].value is not None
        ]
    result = stats.spearmanr(*zip(*pairs, strict=True))
    undefined = result.statistic != result.statistic
    return {"rho": None if undefined else round(float(result.statistic), 3), "n": len(pairs)}


if __name__ == "__main__":
    main()
