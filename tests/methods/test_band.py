import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError
from bineval.io.bands import load_band, save_band
from bineval.judging.job import RunOptions
from bineval.judging.runs import Run
from bineval.methods.band import BandOptions, BandReport, band
from bineval.methods.evaluate import evaluate
from bineval.models.scripted import Scripted
from bineval.types import Checklist, Dimension, Example, Price, Question
from support.asking import deciding
from support.probable import CHECKLIST, OPTIONS, examples, probable

N = 200
TRUTH = Checklist(
    name="facts",
    dimensions={"truth": Dimension()},
    questions=(Question(id="tru-1", text="Is it true?", dimension="truth"),),
)


@contextmanager
def run_of(
    folder: Path,
    name: str,
    judge: Scripted,
    data: list[Example] | None = None,
    checklist: Checklist = TRUTH,
    options: RunOptions = OPTIONS,
) -> Iterator[Run]:
    with evaluate(
        data or examples(N), checklist, judge=judge, name=name, store=folder / "s.db", options=options
    ) as run:
        yield run


def unsure_in_the_middle() -> Scripted:
    """P(yes) is the chance in the output."""
    return probable(lambda chance, _: chance, "scripted/cheap")


def knowing() -> Scripted:
    """A chat judge that says yes from a chance of 0.4 on: the truth, where no label says otherwise."""
    return deciding(lambda output, _: "yes" if float(output.split()[1]) > 0.4 else "no", "scripted/strong")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Run]]:
    """A cheap run that differs from the strong one for the chances 0.425 and 0.475, two of twenty."""
    folder = tmp_path_factory.mktemp("band")
    with (
        run_of(folder, "cheap", unsure_in_the_middle()) as cheap,
        run_of(folder, "strong", knowing(), options=RunOptions()) as strong,
    ):
        yield cheap, strong


def written(folder: Path, yes_above: float, n: int = N) -> Path:
    path = folder / "labels.jsonl"
    rows = [
        {"example_id": f"e{i}", "question_id": "tru-1", "answer": (i % 20 + 0.5) / 20 > yes_above} for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_band_is_where_the_cheap_judge_differs_from_the_strong_one(both: tuple[Run, Run], tmp_path: Path) -> None:
    report = band(*both, options=BandOptions(share=0.2))
    # Between 0.375 (no for both) and 0.525 (yes for both), halfway to what is outside.
    assert (report.band.low, report.band.high) == (pytest.approx(0.4), pytest.approx(0.5))
    assert (report.reference, report.n_choosing, report.figures.n) == ("strong judge", 100, 100)
    assert (report.cheap_judge, report.strong_judge) == ("scripted/cheap", "scripted/strong")
    assert report.notes == ("no human labels: the strong judge is taken for right, and accuracy is agreement with it",)
    figures = report.figures
    assert (figures.cascade.value, figures.strong.value, figures.kept_cheap.value) == (1.0, 1.0, 1.0)
    assert figures.deferred_cheap.value == 0.0
    assert figures.escalated.value == pytest.approx(0.1, abs=0.05)
    assert figures.cheap.value == pytest.approx(1 - figures.escalated.value)
    save_band(report.band, tmp_path / "band.json", learned=report.to_json())
    assert load_band(tmp_path / "band.json") == report.band


def test_labels_take_the_place_of_the_strong_judge(both: tuple[Run, Run], tmp_path: Path) -> None:
    # The truth is yes above 0.45: the cheap judge is wrong at 0.475 alone, and the strong one at 0.425 alone.
    report = band(*both, written(tmp_path, 0.45), options=BandOptions(share=0.2))
    assert report.reference == "labels"
    assert (report.band.low, report.band.high) == (pytest.approx(0.45), pytest.approx(0.5))
    assert report.figures.cascade.value == 1.0
    assert report.figures.strong.value is not None
    assert report.figures.strong.value < 1
    assert report.figures.both_wrong.value == 0.0
    assert report.notes == ()


def test_ratings_of_the_examples_are_labels_too(tmp_path: Path) -> None:
    rated = [replace(example, human={"truth": float(i % 20 > 8)}) for i, example in enumerate(examples(N))]
    with (
        run_of(tmp_path, "cheap", unsure_in_the_middle(), rated) as cheap,
        run_of(tmp_path, "strong", knowing(), rated, options=RunOptions()) as strong,
    ):
        report = band(cheap, strong)
    assert (report.reference, report.band.low) == ("labels", pytest.approx(0.45))


def test_a_smaller_share_makes_a_smaller_band(both: tuple[Run, Run]) -> None:
    # Each chance is a twentieth of the verdicts, and 7 % has room for one of the two.
    narrow = band(*both, options=BandOptions(share=0.07))
    assert narrow.band.high - narrow.band.low == pytest.approx(0.05)


def test_where_no_band_helps_it_is_said_with_the_counts(both: tuple[Run, Run], tmp_path: Path) -> None:
    right = written(tmp_path, 0.5)
    with pytest.raises(ConfigError, match=r"no band with at most 20 % strong calls.*right on 100 of 100, the strong"):
        band(*both, right)


def test_costs_are_of_a_thousand_verdicts_and_unknown_without_a_price(tmp_path: Path) -> None:
    def priced(judge: Scripted, usd: float) -> Scripted:
        judge.price = Price(input_usd=usd, output_usd=usd)
        return judge

    with (
        run_of(tmp_path, "cheap", priced(unsure_in_the_middle(), 1.0)) as cheap,
        run_of(tmp_path, "strong", priced(knowing(), 10.0), options=RunOptions()) as strong,
    ):
        costs, share = band(cheap, strong).costs, band(cheap, strong).figures.escalated.value
        n_paid = [sum(not row.verdict.cached for row in run.verdicts()) for run in (cheap, strong)]
        paid = [run.usage().cost_usd or 0 for run in (cheap, strong)]
    assert share is not None
    assert costs.cheap is not None
    assert costs.strong is not None
    assert [costs.cheap, costs.strong] == pytest.approx([1000 * usd / n for usd, n in zip(paid, n_paid, strict=True)])
    assert costs.cascade == pytest.approx(costs.cheap + share * costs.strong)


def test_a_price_that_is_unknown_makes_the_costs_unknown(tmp_path: Path) -> None:
    unpriced = knowing()
    unpriced.price = None  # type: ignore[assignment]
    with (
        run_of(tmp_path, "cheap", unsure_in_the_middle()) as cheap,
        run_of(tmp_path, "strong", unpriced, options=RunOptions()) as strong,
    ):
        costs = band(cheap, strong).costs
    assert (costs.cheap, costs.strong, costs.cascade) == (0.0, None, None)


def test_verdicts_without_an_answer_are_counted(tmp_path: Path) -> None:
    def hesitant(chance: float, _: str) -> float | None:
        return None if chance == 0.975 else chance

    def strict(output: str, _: str) -> str:
        return "perhaps" if output == "chance 0.025" else "yes" if float(output.split()[1]) > 0.4 else "no"

    with (
        run_of(tmp_path, "cheap", probable(hesitant)) as cheap,
        run_of(tmp_path, "strong", deciding(strict), options=RunOptions()) as strong,
    ):
        report = band(cheap, strong, options=BandOptions(share=0.3))
    assert "10 left out: the strong judge has no answer" in report.notes
    assert "10 without an answer of the cheap judge: they always go to the strong one" in report.notes
    assert report.n_choosing + report.figures.n == N - 10
    assert report.figures.cheap.n < report.figures.strong.n == report.figures.n


def test_runs_that_do_not_fit_together_are_refused(both: tuple[Run, Run], tmp_path: Path) -> None:
    cheap, strong = both
    with pytest.raises(ConfigError, match="run strong has no probabilities for a band: judge with --kind logprob"):
        band(strong, cheap)
    with (
        run_of(tmp_path, "other", knowing(), examples(9), CHECKLIST, RunOptions()) as other,
        pytest.raises(ConfigError, match=r"runs cheap and other cannot .* together: they differ in checklist and data"),
    ):
        band(cheap, other)
    with (
        run_of(tmp_path, "silent", deciding(lambda *_: "perhaps"), options=RunOptions()) as silent,
        pytest.raises(ConfigError, match="share no question that the strong judge answered"),
    ):
        band(cheap, silent)


def test_the_same_seed_gives_the_same_band_and_figures(both: tuple[Run, Run]) -> None:
    def learned(seed: int) -> BandReport:
        return band(*both, options=BandOptions(seed=seed))

    assert learned(3) == learned(3)
    assert len({learned(seed).figures.escalated.value for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.0}, "share must lie above 0"),
        ({"share": 1.1}, "share must"),
        ({"test_share": 0}, "test_share must"),
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BandOptions(**options)
