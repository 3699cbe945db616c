import json

import pytest

from bineval.io.bands import load_band
from bineval.judging.job import RunOptions
from bineval.methods.evaluate import evaluate
from support.asking import deciding
from support.command_line import Folder
from support.probable import CHECKLIST, OPTIONS, chance, examples, probable

N = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run "cheap" with the chance in the output as P(yes), and a run "strong" that says yes above 0.4."""
    folder = Folder(tmp_path_factory.mktemp("band"))
    store = folder.path / "bineval.db"
    cheap = probable(lambda chance, _: chance, "scripted/cheap")
    strong = deciding(lambda output, _: "yes" if float(output.split()[1]) > 0.4 else "no", "scripted/strong")
    evaluate(examples(N), CHECKLIST, judge=cheap, name="cheap", store=store, options=OPTIONS).close()
    evaluate(examples(N), CHECKLIST, judge=strong, name="strong", store=store, options=RunOptions()).close()
    rows = [{"example_id": f"e{i}", "question_id": "tru-1", "answer": int(chance(i) > 0.45)} for i in range(N)]
    folder.write("labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_the_band_is_shown_with_what_it_does_and_written(folder: Folder) -> None:
    done = folder.bineval("band", "cheap", "strong", "-o", "band.json")
    hint = "judge with it by bineval run … --strong MODEL --band band.json"
    assert (done.code, done.err) == (0, f"wrote band.json: {hint}\n")
    lines = done.out.splitlines()
    assert lines[:3] == [
        "cheap: scripted/cheap (run cheap)",
        "strong: scripted/strong (run strong)",
        "band: P(yes) from 0.4000 to 0.5000 goes to the strong judge",
    ]
    assert lines[4] == "right is what the strong judge says"
    assert "cost of 1,000 verdicts: cheap $0.0000, strong $0.0000, cascade $0.0000" in lines
    assert [line.split()[1] for line in lines if line.startswith("cascade   ")] == ["1.000"]
    assert "no human labels: the strong judge is taken for right, and accuracy is agreement with it" in done.out
    band = load_band(folder.path / "band.json")
    assert (band.low, band.high) == (pytest.approx(0.4), pytest.approx(0.5))


def test_a_program_gets_what_the_file_holds(folder: Folder) -> None:
    done = folder.bineval("band", "cheap", "strong", "--labels", "labels.jsonl", "--json", "-o", "labeled.json")
    assert done.json == json.loads((folder.path / "labeled.json").read_text(encoding="utf-8"))
    assert done.json["low"] == pytest.approx(0.45)
    learned = done.json["learned"]
    assert (learned["reference"], learned["n_choosing"], learned["figures"]["n"]) == ("labels", 100, 100)
    assert learned["figures"]["cascade"]["value"] == 1.0
    assert learned["costs"] == {"cheap": 0.0, "strong": 0.0, "cascade": 0.0}, "scripted models cost nothing"


def test_without_a_file_nothing_is_written_and_that_is_said(folder: Folder) -> None:
    before = folder.files()
    done = folder.bineval("band", "cheap", "strong", "--share", "0.07", "--seed", "2")
    assert (done.code, done.err) == (0, "no band was written: give -o FILE\n")
    assert "chosen on 300 verdicts for at most 7 % strong calls, reported on 300 others" in done.out
    assert folder.files() == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("cheap", "strogn"), 1, "error: unknown run 'strogn' in bineval.db; did you mean strong?"),
        (("strong", "cheap"), 1, "error: run strong has no probabilities for a band: judge with --kind logprob"),
        (
            ("cheap", "cheap"),
            1,
            "error: no band with at most 20 % strong calls gets more right than the cheap judge alone",
        ),
        (("cheap",), 2, "Missing argument 'STRONG_RUN'"),
        (("cheap", "strong", "--share", "0"), 2, "Invalid value for '--share'"),
    ],
)
def test_what_cannot_be_learned_is_said_in_words(
    folder: Folder, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = folder.bineval("band", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
