import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from bineval.store.database import Store
from bineval.store.runs import PlacedRow, begin_run
from bineval.types import Checklist, Dimension, Example, Question, Verdict, VerdictRow
from support.command_line import EXAMPLES, N_VERDICTS, SCORES, Folder

VERDICT_FIELDS = [
    "run", "example_id", "question_id", "dimension", "unit", "repeat", "answer", "reason", "probability",
    "explanation", "evidence", "judge", "cached", "input_tokens", "output_tokens",
]  # fmt: skip
SCORE_FIELDS = [
    "run", "example_id", "group", "system", "dimension", "value", "scaled", "n_answered", "n_asked",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run called "sky" whose question "blue" nobody answered; tests only read it."""
    folder = Folder(tmp_path_factory.mktemp("export"))
    assert folder.run("--name", "sky", env={"JUDGE_IS_VAGUE": "1"}).code == 4
    return folder


def exported(folder: Folder, what: str, format: str) -> list[dict[str, Any]]:
    """The rows of an export, each with its fields in order."""
    file = f"{what}.{format}"
    done = folder.bineval("export", "sky", "--what", what, "--format", format, "-o", file)
    assert (done.code, done.out, done.err) == (0, "", "")
    path = folder.path / file
    if format == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if format == "csv":
        return list(csv.DictReader(io.StringIO(path.read_bytes().decode())))
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_verdicts_have_exactly_the_agreed_fields(folder: Folder, format: str) -> None:
    rows = exported(folder, "verdicts", format)
    null = "" if format == "csv" else None
    assert len(rows) == N_VERDICTS
    assert all(list(row) == VERDICT_FIELDS for row in rows)
    assert [row["example_id"] for row in rows] == [example["id"] for example in EXAMPLES for _ in range(3)]
    unanswered, answered = rows[0], rows[1]
    assert (unanswered["question_id"], unanswered["answer"], unanswered["reason"]) == ("blue", null, "unparsed")
    assert (answered["question_id"], answered["answer"], answered["reason"]) == ("short", "yes", null)
    assert (answered["unit"], answered["probability"], answered["run"]) == (null, null, "sky")
    assert str(answered["cached"]).lower() == "false"
    assert int(answered["input_tokens"]) > 0
    assert answered["evidence"] == ([] if format == "jsonl" else "[]")


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_scores_have_exactly_the_agreed_fields(folder: Folder, format: str) -> None:
    rows = exported(folder, "scores", format)
    assert all(list(row) == SCORE_FIELDS for row in rows)
    assert [(row["example_id"], row["dimension"]) for row in rows] == [
        (example["id"], dimension) for example in EXAMPLES for dimension in ("content", "form", "overall")
    ]
    # Without an answer to "blue", content of example c is "short" alone: 0, on [1, 5] 1; one of two is answered.
    row = next(row for row in rows if (row["example_id"], row["dimension"]) == ("c", "content"))
    assert (float(row["value"]), float(row["scaled"])) == (0.0, 1.0)
    assert (int(row["n_answered"]), int(row["n_asked"]), row["system"]) == (1, 2, "two")
    form = {row["example_id"]: float(row["value"]) for row in rows if row["dimension"] == "form"}
    assert form == {name: score["form"] for name, score in SCORES.items()}
    assert rows[1]["scaled"] == rows[1]["group"] == ("" if format == "csv" else None), "no scale, no group"


def test_jsonl_on_stdout_is_the_default(folder: Folder) -> None:
    done = folder.bineval("export", "sky")
    assert (done.code, done.err) == (0, "")
    assert [list(json.loads(line)) for line in done.out.splitlines()] == [VERDICT_FIELDS] * N_VERDICTS


def test_a_cell_that_a_spreadsheet_would_run_is_escaped_in_csv_alone(folder: Folder) -> None:
    formula = "=blue, as far as the eye can see"
    as_csv = list(csv.DictReader(io.StringIO(folder.bineval("export", "sky", "--format", "csv").out)))
    assert [row["explanation"] for row in as_csv if formula in row["explanation"]] == [f"'{formula}"] * 2
    assert [row["explanation"] for row in exported(folder, "verdicts", "jsonl")].count(formula) == 2


def test_a_name_in_gz_is_zipped(folder: Folder) -> None:
    assert folder.bineval("export", "sky", "-o", "verdicts.jsonl.gz").code == 0
    assert len(gzip.decompress((folder.path / "verdicts.jsonl.gz").read_bytes()).splitlines()) == N_VERDICTS


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("sk",), 1, "error: unknown run 'sk' in bineval.db; did you mean sky?"),
        (("sky", "--format", "parquet"), 1, "error: Parquet cannot be written to stdout; give a file with -o"),
        (("sky", "-o", "nowhere/x.jsonl"), 1, "error: nowhere/x.jsonl: cannot be written"),
        (("sky", "--what", "all"), 2, "Invalid value for '--what'"),
        ((), 2, "Missing argument 'NAME'"),
    ],
)
def test_what_cannot_be_exported_is_said_in_words(
    folder: Folder, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = folder.bineval("export", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_soft_scores_take_the_place_of_hard_ones_in_the_same_columns(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    checklist = Checklist(
        name="c",
        questions=tuple(Question(id=f"q{i}", text="?", dimension="d") for i in range(2)),
        dimensions={"d": Dimension(scale=(1, 5))},
    )
    verdicts = [
        [Verdict(answer="yes", probability=0.75), Verdict(answer="no", probability=0.25)],
        [Verdict(answer="yes", probability=0.75), Verdict(answer="yes")],
    ]
    with Store(folder.path / "bineval.db") as store:
        run = begin_run(store, "soft", identity={}, facts={}, checklist=checklist)
        run.add_examples([Example(id=name, output=name) for name in "ab"])
        run.save(
            PlacedRow(
                position=i,
                question=j,
                row=VerdictRow(example_id="ab"[i], question_id=f"q{j}", dimension="d", verdict=verdict),
            )
            for i, row in enumerate(verdicts)
            for j, verdict in enumerate(row)
        )

    def exported_scores(*more: str) -> list[dict[str, Any]]:
        done = folder.bineval("export", "soft", "--what", "scores", *more)
        assert (done.code, done.err) == (0, "")
        return [json.loads(line) for line in done.out.splitlines()]

    soft, hard = exported_scores("--soft"), exported_scores()
    assert all(list(row) == SCORE_FIELDS for row in soft)
    # a: (0.75 + 0.25)/2 = 0.5, on [1, 5] 3. b has an answer without a probability: no soft score, and no hard one in
    # its place. "overall" has no scale.
    assert [(row["example_id"], row["dimension"], row["value"], row["scaled"]) for row in soft] == [
        ("a", "d", 0.5, 3.0),
        ("a", "overall", 0.5, None),
        ("b", "d", None, None),
        ("b", "overall", None, None),
    ]
    assert [row["value"] for row in hard] == [0.5, 0.5, 1.0, 1.0]
    assert [row["n_answered"] for row in soft] == [2] * 4


def test_soft_goes_with_scores_only(folder: Folder) -> None:
    done = folder.bineval("export", "sky", "--soft")
    assert (done.code, done.out) == (2, "")
    assert "--soft goes with --what scores" in done.err
