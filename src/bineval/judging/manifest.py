"""What makes a run that run: the facts a resumed run must share, and those that may change between sittings."""

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import PurePath

from bineval.hashing import Json, tagged_hash
from bineval.judging.base import Judge
from bineval.types import Checklist, Example
from bineval.version import __version__

_PACKAGES = (
    "openai",
    "anthropic",
    "litellm",
    "llama-cpp-python",
    "sentencex",
    "scikit-learn",
    "rouge-score",
    "sacrebleu",
    "nltk",
    "torch",
    "transformers",
)
_MOST_NAME_CHARS = 40
_MOST_VALUE_CHARS = 80


def run_identity(examples: Iterable[Example], checklist: Checklist, judge: Judge, *, repeats: int) -> dict[str, Json]:
    """Returns all that can change an answer of a run: data, checklist, judge with its parameters, repeats."""
    return {
        "data": tagged_hash("data/1", [tagged_hash("example/1", example.to_json()) for example in examples]),
        "checklist": checklist.fingerprint(),
        "judge": dict(judge.settings),
        "repeats": repeats,
    }


def run_facts() -> dict[str, Json]:
    """Returns the versions that a run was made with."""
    return {
        "versions": {
            "bineval": __version__,
            "python": platform.python_version(),
            **{name: version for name in _PACKAGES if (version := _version(name))},
        }
    }


def differences(saved: Mapping[str, Json], now: Mapping[str, Json], *, prefix: str = "") -> list[str]:
    """Returns one line for each part that differs, such as "judge.temperature: 0.0 in the run, 0.7 now"."""
    lines: list[str] = []
    for name in sorted(saved.keys() | now.keys()):
        old, new, place = saved.get(name), now.get(name), f"{prefix}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            lines += differences(old, new, prefix=f"{place}.")
        elif old != new:
            lines.append(f"{place}: {_short(old)} in the run, {_short(new)} now")
    return lines


def checklist_differences(saved: Checklist, now: Checklist) -> list[str]:
    """Returns one line for each part of a checklist that differs, questions by their id."""

    def by_id(checklist: Checklist) -> dict[str, Json]:
        questions: Json = {question.id: asdict(question) for question in checklist.questions}
        return {**checklist.to_json(), "questions": questions}

    return differences(by_id(saved), by_id(now), prefix="checklist.")


def default_name(source: str, checklist: Checklist, judge: Judge, identity: Mapping[str, Json]) -> str:
    """Returns the name of a run that the user gave none: the same data, checklist and judge have the same name."""
    # Several judges together have the names of all of them in theirs.
    who = judge.name if "(" in judge.name else judge.name.rpartition("/")[2]
    parts = (PurePath(source).name.split(".")[0], checklist.name, who)
    short = tagged_hash("run-name/1", [identity["data"], identity["checklist"], judge.name])[:6]
    return "-".join([*(_slug(part) for part in parts), short])


def _slug(text: str) -> str:
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[:_MOST_NAME_CHARS] or "data"


def _short(value: Json) -> str:
    text = "absent" if value is None else str(value)
    if re.fullmatch(r"[0-9a-f]{64}", text):
        return f"{text[:12]}…"
    return text if len(text) <= _MOST_VALUE_CHARS else f"{text[:_MOST_VALUE_CHARS]}…"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
