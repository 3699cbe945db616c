import json

import pytest

from bineval.methods.evaluate import evaluate
from bineval.methods.recorded import import_scores
from bineval.types import Example
from support.command_line import Finished, Folder
from support.probable import CHECKLIST, OPTIONS, chance, drawn_labels, probable

N = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Sixty texts of ten groups and six systems, judged by a model and scored by a metric in other units."""
    folder = Folder(tmp_path_factory.mktemp("meta"))
    data = [
        Example(
            id=f"e{i}",
            output=f"chance {chance(i * 7)}",
            group=f"g{i // 6}",
            system=f"s{i % 6}",
            human={"truth": round(chance(i * 7) * 3) / 3, "tone": (i * 5) % 7 / 6},
        )
        for i in range(N)
    ]
    scores = [
        {"example_id": item.id, "dimension": "truth", "value": -(i % 9) - 10 * chance(i * 7)}
        for i, item in enumerate(data[2:])
    ]
    store = folder.path / "bineval.db"
    evaluate(data, CHECKLIST, judge=probable(lambda p, _: p), name="judged", store=store, options=OPTIONS).close()
    import_scores(data, scores, name="metric", store=store).close()
    labels = drawn_labels(N, ("tru-1", "ton-1", "ton-2"))
    folder.write("labels.jsonl", "".join(json.dumps(row) + "\n" for row in labels))
    return folder


def meta(folder: Folder, *arguments: str) -> Finished:
    return folder.bineval("meta", *arguments)


def test_the_tables_name_runs_dimensions_levels_and_what_is_missing(folder: Folder) -> None:
    done = meta(folder, "judged", "metric", "--labels", "labels.jsonl", "--labeled-share", "0.3")
    assert (done.code, done.err) == (0, "")
    for words in (
        "Correlation with people · level pooled: over all outputs together",
        "judged (soft)",
        "Pearson",
        "Kendall tau-b",
        "metric less judged",
        "p (Holm) is adjusted for all",
        "Mean rating of people · from the ratings of 30 % of the groups",
        "prediction-powered",
        "Agreement of the answers yes and no",
        "Cohen's kappa",
        "Distributions",
        "Wasserstein",
        "Systems · mean rating of people / mean score, metric",
        "of 15",
        "metric, truth: n = 58 of 60: 2 without a score",
        "distribution: undefined: the scores reach from",
        "run metric: people rated tone, and the run has no score for it",
    ):
        assert words in done.out, words


def test_json_on_stdout_and_words_on_stderr(folder: Folder) -> None:
    done = meta(folder, "judged", "metric", "--level", "group", "--json")
    rows = done.json
    assert [(row["run"], row["score"], row["dimension"], row["level"]) for row in rows] == [
        ("judged", "hard", "truth", "group"),
        ("judged", "hard", "tone", "group"),
        ("judged", "hard", "average", "group"),
        ("judged", "soft", "truth", "group"),
        ("judged", "soft", "tone", "group"),
        ("judged", "soft", "average", "group"),
        ("metric", "hard", "truth", "group"),
    ]
    assert (rows[3]["groups_used"], rows[3]["groups_skipped"]) == (10, 0)
    assert rows[3]["pearson"]["value"] > 0.9
    assert "metric, truth: n = 58 of 60: 2 without a score\n" in done.err
    assert meta(folder, "judged", "metric", "--level", "group", "--json").out == done.out


def test_at_group_level_the_groups_used_are_shown(folder: Folder) -> None:
    done = meta(folder, "judged", "--level", "group", "--constant", "zero")
    assert "in each group of outputs (a document or prompt), then the mean over the groups" in done.out
    assert "10 of 10" in done.out
    assert "groups whose ratings or scores are all equal count as 0" in done.out


def test_a_few_systems_have_no_interval_and_the_reason_is_shown(folder: Folder) -> None:
    done = meta(folder, "judged", "--level", "system")
    assert done.code == 0
    assert "no interval: fewer than" in done.out


def test_the_data_of_plots_are_written_and_figures_drawn(folder: Folder) -> None:
    done = meta(folder, "judged", "-o", "plots.json", "--figures", "figures")
    assert done.code == 0, done.err
    plots = json.loads((folder.path / "plots.json").read_text())
    assert [(item["name"], item["dimension"]) for item in plots["distributions"][:2]] == [
        ("people", "truth"),
        ("judged", "truth"),
    ]
    assert len(plots["distributions"][0]["values"]) == N
    assert {item["system"] for item in plots["systems"]} == {f"s{i}" for i in range(6)}
    drawn = sorted(path.name for path in (folder.path / "figures").iterdir())
    assert drawn == ["systems-tone.svg", "systems-truth.svg", "violins.svg"]
    assert "wrote figures/violins.svg" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nothing",), 1, "unknown run 'nothing'"),
        ((), 2, "Missing argument"),
        (("judged", "--level", "item"), 2, "Invalid value for '--level'"),
        (("judged", "--labeled-share", "1"), 2, "Invalid value for '--labeled-share'"),
        (("judged", "--labels", "nowhere.jsonl"), 1, "nowhere.jsonl"),
        (("judged", "judged"), 1, "error: a run is named twice"),
        (("judged", "-o", "nowhere/p.json"), 1, "error: nowhere/p.json: cannot be written"),
        (("judged", "--store", "no.db"), 1, "there is no such store"),
    ],
)
def test_what_cannot_be_compared_is_said_in_words(
    folder: Folder, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = meta(folder, *arguments)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err
