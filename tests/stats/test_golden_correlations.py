"""Reference correlations of recorded scores at all three levels, to nine digits."""

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau, spearmanr

from bineval.stats.coefficients import COEFFICIENTS
from bineval.stats.correlation import correlations
from bineval.stats.levels import Level, Rated

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} with the reference correlations is not there")

LEVELS: dict[str, Level] = {"pooled": "pooled", "group_mean": "group", "system": "system"}
ABSENT = ("sfres", "sfhot", "summeval12")


def names() -> list[str]:
    return list(reference()) if DATA.exists() else []


@cache
def reference() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "golden_correlations.json").read_text(encoding="utf-8"))["reference"]
    return found


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def scored(name: str) -> list[Rated]:
    """The examples of a reference with their recorded scores."""
    source, suite, dimension = name.rsplit("/", 2)
    if source == "unieval":
        return [rated(row, dimension, row["unieval"][dimension]) for row in recorded(suite)]
    if source == "word_count":
        return [rated(row, dimension, len(row["output"].split())) for row in recorded("summeval")]
    if suite.startswith("hanna"):
        rows = [row for row in recorded("hanna_scores") if suite == "hanna11" or row["system"] != "Human"]
        return [rated(row, dimension, row["llm"][source][dimension]) for row in rows]
    mode, examples = source.removeprefix("gpt35-"), {row["id"]: row for row in recorded("topical_chat")}
    samples = [
        row for row in recorded("rec_topical_chat_gpt35") if (row["mode"], row["dimension"]) == (mode, dimension)
    ]
    return [rated(examples[row["item"]], dimension, mean_rating(row["all_responses"])) for row in samples]


def rated(row: dict[str, Any], dimension: str, value: float) -> Rated:
    human = row["human"][dimension]
    return Rated(example_id=row["id"], group=row["group"], system=row["system"], human=human, value=value)


def mean_rating(replies: list[str]) -> float:
    """The mean of the first digits after the last "rating:", or of all; the reference takes 0 where there is none."""
    digits = [re.search(r"\d", reply.lower().rpartition("rating:")[2]) for reply in replies]
    return sum(float(digit[0]) if digit else 0.0 for digit in digits) / len(digits)


def without_noise(items: list[Rated]) -> dict[str, float]:
    """The rank coefficients of the systems' means, where float noise tears tied ones apart in the reference."""
    systems = list(dict.fromkeys(item.system for item in items))
    members = [[item for item in items if item.system == system] for system in systems]
    human = [round(sum(item.human for item in each) / len(each), 9) for each in members]
    value = [round(sum(item.value for item in each) / len(each), 9) for each in members]
    if len({*human}) == len({*value}) == len(systems):
        return {}
    return {"spearman": float(spearmanr(human, value).statistic), "kendall": float(kendalltau(human, value).statistic)}


@pytest.mark.parametrize("name", names())
def test_each_reference_is_reproduced_at_all_its_levels(name: str) -> None:
    suite = name.split("/")[-2]
    if suite in ABSENT:
        pytest.skip(f"the scores of {suite} are not in {DATA}")
    items, expected = scored(name), reference()[name]
    assert len(items) == expected["n"]
    for key, level in LEVELS.items():
        if key not in expected:
            continue
        figures = {name: expected[key]["kendall_b" if name == "kendall" else name] for name in COEFFICIENTS}
        if level == "system":
            figures |= without_noise(items)
        found = correlations(items, level=level)
        assert {name: getattr(found, name).value for name in COEFFICIENTS} == pytest.approx(figures, abs=1e-9), level
        if level == "group":
            counts = (found.groups_used, found.groups_skipped)
            assert counts == (expected[key]["groups_used"], expected[key]["groups_skipped"])
