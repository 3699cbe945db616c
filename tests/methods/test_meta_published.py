"""Published correlations, from scores and ratings that others recorded, through `import_scores` and `meta`."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau, spearmanr

from bineval.metaeval.rows import MetaOptions
from bineval.methods.meta import meta
from bineval.methods.recorded import import_scores
from bineval.stats.coefficients import COEFFICIENTS
from bineval.stats.levels import Level
from support.command_line import Folder

SHARED = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} with the recorded judgments is not there")

Rows = list[dict[str, Any]]
TOPICAL_CHAT = ("naturalness", "coherence", "engagingness", "groundedness")
EXACT = 1e-9

# UniEval's own figures (its README): Pearson, Spearman, Kendall, over all items.
UNIEVAL = {
    "topical_chat": {
        "naturalness": (0.443666, 0.513986, 0.373973),
        "coherence": (0.595143, 0.612942, 0.465915),
        "engagingness": (0.556510, 0.604739, 0.455941),
        "groundedness": (0.536209, 0.574954, 0.451533),
        "understandability": (0.380038, 0.467807, 0.360741),
        "overall": (0.632796, 0.662583, 0.487272),
    },
    "qags_cnndm": {"consistency": (0.681681, 0.662255, 0.531636)},
    "qags_xsum": {"consistency": (0.461376, 0.487920, 0.399218)},
}
# Chiang & Lee 2023, tables 2 and 4: Pearson over all items, Pearson and tau-b within contexts.
GPT35 = {
    "naturalness": (0.393, 0.445, 0.358),
    "coherence": (0.468, 0.498, 0.391),
    "engagingness": (0.549, 0.579, 0.513),
    "groundedness": (0.311, 0.685, 0.566),
}
LEVELS: dict[str, Level] = {"pooled": "pooled", "group_mean": "group", "system": "system"}


def recorded(name: str) -> Rows:
    with gzip.open(SHARED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def reference(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SHARED / "golden_correlations.json").read_text())["reference"][name]
    return found


def data(rows: Rows) -> Rows:
    """The examples alone; texts that are not in our copy are empty."""
    return [
        {
            "id": row["id"],
            "group": row["group"],
            "system": row["system"],
            "human": row["human"],
            "output": row["output"] or "",
        }
        for row in rows
    ]


def unieval_scores(rows: Rows) -> Rows:
    # "overall" is the mean of the others, and made from them.
    return [
        {"example_id": row["id"], "dimension": name, "value": value}
        for row in rows
        for name, value in row["unieval"].items()
        if name != "overall"
    ]


def found_by(
    folder: Path, examples: Rows, scores: Rows, levels: Iterable[Level]
) -> dict[Level, dict[str, dict[str, Any]]]:
    """The rows of `meta` by level and dimension."""
    with import_scores(examples, scores, name="r", store=folder / "s.db") as run:
        return {
            level: {row["dimension"]: row for row in meta([run], options=MetaOptions(level=level)).to_json()}
            for level in levels
        }


def assert_equals_reference(rows: dict[Level, dict[str, dict[str, Any]]], dimension: str, name: str) -> None:
    expected = reference(name)
    for theirs, level in LEVELS.items():
        if theirs not in expected:
            continue
        row = rows[level][dimension]
        assert row["n"] == expected["n"]
        figures = [expected[theirs][key] for key in ("pearson", "spearman", "kendall_b")]
        if level == "system" and (without_noise := tied_systems(row)) is not None:
            figures[1:] = without_noise
        values = [row[coefficient]["value"] for coefficient in COEFFICIENTS]
        assert values == pytest.approx(figures, abs=EXACT), (name, level)
        if level == "group":
            counts = (row["groups_used"], row["groups_skipped"])
            assert counts == (expected[theirs]["groups_used"], expected[theirs]["groups_skipped"])


def tied_systems(row: dict[str, Any]) -> list[float] | None:
    """Spearman and Kendall of the system means where two are tied, which float noise tears apart in the reference."""
    human, score = ([round(mean[who]["value"], 9) for mean in row["systems"]["means"]] for who in ("human", "score"))
    if len({*human}) == len({*score}) == len(human):
        return None
    return [float(spearmanr(human, score).statistic), float(kendalltau(human, score).statistic)]


@pytest.mark.parametrize("suite", UNIEVAL)
def test_unieval_reproduces_its_published_figures_to_six_digits(tmp_path: Path, suite: str) -> None:
    rows = recorded(suite)
    levels = LEVELS.values() if suite == "topical_chat" else ("pooled",)
    found = found_by(tmp_path, data(rows), unieval_scores(rows), levels)
    for dimension, figures in UNIEVAL[suite].items():
        values = [found["pooled"][dimension][name]["value"] for name in COEFFICIENTS]
        assert [round(value, 6) for value in values] == list(figures)
        assert_equals_reference(found, dimension, f"unieval/{suite}/{dimension}")


def test_the_command_line_gives_the_same_figures(tmp_path: Path) -> None:
    rows, folder = recorded("qags_xsum"), Folder(tmp_path)
    folder.write("qags.jsonl", "".join(json.dumps(row) + "\n" for row in data(rows)))
    folder.write("scores.jsonl", "".join(json.dumps(row) + "\n" for row in unieval_scores(rows)))
    done = folder.bineval("import-scores", "qags.jsonl", "--scores", "scores.jsonl", "--name", "unieval")
    assert done.code == 0, done.err
    [row] = folder.bineval("meta", "unieval", "--level", "pooled", "--json").json
    figures = UNIEVAL["qags_xsum"]["consistency"]
    assert [round(row[name]["value"], 6) for name in COEFFICIENTS] == list(figures)
    # One summary a document: no document has two ratings to correlate.
    done = folder.bineval("meta", "unieval", "--level", "group", "--json")
    assert (done.code, done.out) == (1, "")
    assert "no group has two distinct human ratings" in done.err


def gpt35_samples(mode: str) -> Iterator[dict[str, Any]]:
    """The first digit of each sample; one without a digit is left out."""
    for row in recorded("rec_topical_chat_gpt35"):
        if row["mode"] == mode:
            digits = [match[0] for text in row["all_responses"] if (match := re.search(r"\d", text))]
            for repeat, digit in enumerate(digits):
                value = float(digit)
                yield {"example_id": row["item"], "dimension": row["dimension"], "value": value, "repeat": repeat}


def test_g_eval_with_gpt_35_reproduces_its_published_figures_to_three_digits(tmp_path: Path) -> None:
    found = found_by(tmp_path, data(recorded("topical_chat")), list(gpt35_samples("geval")), LEVELS.values())
    for dimension, (pooled_r, group_r, group_tau) in GPT35.items():
        pooled, group = found["pooled"][dimension], found["group"][dimension]
        assert round(pooled["pearson"]["value"], 3) == pooled_r
        assert round(group["pearson"]["value"], 3) == group_r
        assert round(group["kendall"]["value"], 3) == group_tau
        expected = reference(f"gpt35-geval/topical_chat/{dimension}")
        assert pooled["n"] == expected["n"]
        assert pooled["n_without_score"] == 360 - expected["n"]
        for coefficient, key in (("pearson", "pearson"), ("spearman", "spearman"), ("kendall", "kendall_b")):
            for theirs, level in LEVELS.items():
                value = found[level][dimension][coefficient]["value"]
                assert value == pytest.approx(expected[theirs][key], abs=5e-4)
    # Groundedness decides the convention: skipped groups and tau-b; with constant groups as 0 it would be .509.
    groundedness = found["group"]["groundedness"]
    assert (groundedness["groups_used"], groundedness["groups_skipped"]) == (54, 6)


def test_constant_groups_count_as_zero_when_that_is_asked_for(tmp_path: Path) -> None:
    samples = [row for row in gpt35_samples("geval") if row["dimension"] == "groundedness"]
    with import_scores(data(recorded("topical_chat")), samples, name="r", store=tmp_path / "s.db") as run:
        rows = meta([run], options=MetaOptions(level="group", constant="zero")).rows
    [row] = [row for row in rows if row.dimension == "groundedness"]
    assert row.correlations.kendall.value == pytest.approx(0.509, abs=5e-4)
    assert (row.correlations.groups_used, row.correlations.groups_skipped) == (60, 0)


def test_the_number_of_words_on_summeval(tmp_path: Path) -> None:
    rows = recorded("summeval")
    scores = [
        {"example_id": row["id"], "dimension": name, "value": len(row["output"].split())}
        for row in rows
        for name in row["human"]
    ]
    found = found_by(tmp_path, data(rows), scores, LEVELS.values())
    for dimension in ("coherence", "consistency", "fluency", "relevance"):
        assert_equals_reference(found, dimension, f"word_count/summeval16/{dimension}")
        # SummEval's published expert means.
        means = {"coherence": 3.4125, "consistency": 4.6604, "fluency": 4.6729, "relevance": 3.7771}
        humans = [row["human"][dimension] for row in rows]
        assert sum(humans) / len(humans) == pytest.approx(means[dimension], abs=5e-5)


@pytest.mark.parametrize("rater", ["ChatGPT/prompt1", "Beluga-13B/prompt1"])
@pytest.mark.parametrize("part", ["hanna11", "hanna10"])
def test_llm_raters_on_hanna_with_and_without_the_human_stories(tmp_path: Path, rater: str, part: str) -> None:
    rows = [row for row in recorded("hanna_scores") if part == "hanna11" or row["system"] != "Human"]
    scores = [
        {"example_id": row["id"], "dimension": name, "value": value}
        for row in rows
        for name, value in row["llm"][rater].items()
        if name in row["human"]
    ]
    found = found_by(tmp_path, data(rows), scores, LEVELS.values())
    for dimension in ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity"):
        assert_equals_reference(found, dimension, f"{rater}/{part}/{dimension}")
