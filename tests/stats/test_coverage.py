"""A few data sets of `bench/coverage.py`: enough to see an interval that is far too short."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    # By its path, as a package on PyPI has the same name.
    spec = spec_from_file_location("bench_coverage", BENCH / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCH), *sys.path])
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "n_sets"), [("mean", 200), ("correlation, pooled", 80), ("prediction-powered", 80)])
def test_intervals_over_twenty_groups_hold_the_truth(simulation: ModuleType, name: str, n_sets: int) -> None:
    case = next(case for case in simulation.cases() if (case.name, case.n_groups) == (name, 20))
    rows = simulation.measure(case, n_sets, simulation.true_numbers(n_groups=20_000), seed=1)
    # Three standard errors of the simulation around 95 %.
    error = 3 * (0.95 * 0.05 / n_sets) ** 0.5
    for row in rows:
        assert row.without == 0
        assert 0.95 - error <= row.covered <= min(1, 0.95 + error), row
    if name == "prediction-powered":
        powered, labels = rows
        assert powered.width < 0.9 * labels.width
