"""Wall time of `bineval --help` and of `import bineval`, primed, with byte code kept.

python bench/startup.py        writes bench/results/startup.json
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from results_file import write_results

_ROUNDS = 11
_COMMANDS = {
    "bineval --help": [str(Path(sys.executable).parent / "bineval"), "--help"],
    "import bineval": [sys.executable, "-c", "import bineval"],
    "python -c pass": [sys.executable, "-c", "pass"],
}


def main() -> None:
    """Measures each command, after one uncounted start."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    samples: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for round_ in range(_ROUNDS + 1):
        for name, command in _COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, env=environment)
            if round_:
                samples[name].append(time.perf_counter() - began)
    medians = {name: round(statistics.median(values), 3) for name, values in samples.items()}
    path = write_results("startup", {"seconds": medians})
    print(f"seconds: {medians}\n{path}")


if __name__ == "__main__":
    main()
