"""Where measurements are kept: JSON under bench/results/, with machine, versions and time."""

import json
import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "results"


def write_results(name: str, results: dict[str, Any], packages: tuple[str, ...] = ()) -> Path:
    """Writes `results` with what they were measured on to bench/results/NAME.json."""
    content = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "versions": {
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("bineval", *packages)},
        },
        **results,
    }
    path = _FOLDER / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
