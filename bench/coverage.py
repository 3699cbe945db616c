"""How often the 95 % intervals hold the true number, by seeded simulation: it should be in 93 to 97 % of data sets.

python bench/coverage.py [--replications 1000] [--only WORD]        writes bench/results/coverage.json (not with --only)

The data are those that a checklist gives: a person's rating from 1 to 5, and a judge's value as the mean of six yes/no
answers, so both have many ties; four outputs share a document. The true number is that of a very large sample of the
same kind, and at level "system" of very many systems. At 1,000 data sets two standard errors of the measured share are
1.4 points, at 500 they are 1.9.

Level "system" falls outside: with 8 or 16 systems the intervals of rank coefficients hold the truth in 98 to 100 %, and
those of differences in 90 to 99 %. Such an `Estimate.method` says "about 95 %".
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr, spearmanr

from bineval.stats.coefficients import COEFFICIENTS, row_coefficients
from bineval.stats.correlation import correlations
from bineval.stats.intervals import mean_interval, proportion_interval
from bineval.stats.levels import Level, Rated
from bineval.stats.paired_differences import paired_differences
from bineval.stats.prediction_powered import prediction_powered_mean
from bineval.types import Estimate
from results_file import write_results

Floats = NDArray[np.float64]
Estimates = dict[str, Estimate]
Truths = dict[str, float]

QUESTIONS, OUTPUTS, DOCUMENTS = 6, 4, 100
LEAST, MOST = 0.93, 0.97


class Data(NamedTuple):
    """Ratings and the values of two judges; shape (groups, outputs), or (systems, documents) at level "system"."""

    human: Floats
    judge: Floats
    weaker: Floats


class Case(NamedTuple):
    """Data sets of one kind and size; `share` of the replications, by what one costs."""

    name: str
    n_groups: int
    share: float
    estimates: Callable[[np.random.Generator, int], Estimates]


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """How one interval did.

    Attributes:
        interval: Its name.
        groups: Groups in each data set; systems at level "system".
        truth: What it should hold.
        replications: Data sets.
        without: Those in which there was no interval.
        covered: Share of the intervals that hold the truth; None without any.
        below: Share that lies below the truth.
        above: Share that lies above it.
        width: Their mean width.
    """

    interval: str
    groups: int
    truth: float
    replications: int
    without: int
    covered: float | None
    below: float | None
    above: float | None
    width: float | None

    @property
    def verdict(self) -> str:
        """Whether the coverage is what the interval says, but for two standard errors of the simulation."""
        if self.covered is None:
            return "no interval"
        error = 2 * (0.95 * 0.05 / (self.replications - self.without)) ** 0.5
        return "too low" if self.covered < LEAST - error else "too high" if self.covered > MOST + error else ""


def main() -> None:
    """Measures and prints case after case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    options = parser.parse_args()
    truths, rows, began = true_numbers(), [], time.perf_counter()
    print(f"{'interval':36}{'groups':>7}{'sets':>6}{'none':>5}{'held':>7}{'below':>7}{'above':>7}{'width':>7}")
    for case in cases():
        if options.only not in case.name:
            continue
        for row in measure(case, max(1, round(case.share * options.replications)), truths):
            rows.append(row)
            print(line(row), flush=True)
    seconds = round(time.perf_counter() - began)
    print(f"{seconds} s")
    if not options.only:
        print(write_results("coverage", {"seconds": seconds, "coverage": [asdict(row) for row in rows]}, ("numpy",)))


def line(row: Coverage) -> str:
    """One line of the table."""
    shares = (
        f"{100 * share:6.1f}%" if share is not None else f"{'–':>7}" for share in (row.covered, row.below, row.above)
    )
    width = f"{row.width:7.3f}" if row.width is not None else f"{'–':>7}"
    return f"{row.interval:36}{row.groups:7}{row.replications:6}{row.without:5}{''.join(shares)}{width}  {row.verdict}"


def cases() -> Iterator[Case]:
    """All that is simulated."""
    for n in (20, 60, 240):
        share = 0.5 if n == 240 else 1.0
        yield Case("mean", n, 1.0, means)
        yield Case("prediction-powered", n, share, prediction_powered)
        yield Case("correlation, group", n, share, lambda rng, n: correlation(draw(rng, n), "group"))
        yield Case("correlation, pooled", n, share, lambda rng, n: correlation(draw(rng, n), "pooled"))
        yield Case("difference, group", n, share, lambda rng, n: difference(draw(rng, n), "group"))
        yield Case("difference, pooled", n, share / 2, lambda rng, n: difference(draw(rng, n), "pooled"))
    for n in (8, 16, 60):
        yield Case("correlation, system", n, 1.0, lambda rng, n: correlation(draw_systems(rng, n), "system"))
        yield Case("difference, system", n, 0.5, lambda rng, n: difference(draw_systems(rng, n), "system"))


def measure(case: Case, replications: int, truths: Truths, *, seed: int = 0) -> list[Coverage]:
    """Returns the coverage of each interval of a case over so many data sets."""
    rng = np.random.default_rng([seed, case.n_groups])
    found: dict[str, list[Estimate]] = {}
    for _ in range(replications):
        for name, estimate in case.estimates(rng, case.n_groups).items():
            found.setdefault(name, []).append(estimate)
    return [coverage(name, case.n_groups, truths[name], estimates) for name, estimates in found.items()]


def coverage(name: str, n_groups: int, truth: float, estimates: list[Estimate]) -> Coverage:
    """Counts the intervals that hold the truth."""
    ends = np.array([(one.low, one.high) for one in estimates if one.low is not None], dtype=float).reshape(-1, 2)
    shares: list[float | None] = [None] * 4
    if len(ends):
        below, above = (ends[:, 1] < truth).mean(), (ends[:, 0] > truth).mean()
        shares = [round(float(share), 4) for share in (1 - below - above, below, above, np.ptp(ends, axis=1).mean())]
    return Coverage(
        interval=name,
        groups=n_groups,
        truth=round(truth, 4),
        replications=len(estimates),
        without=len(estimates) - len(ends),
        covered=shares[0],
        below=shares[1],
        above=shares[2],
        width=shares[3],
    )


def draw(rng: np.random.Generator, n_groups: int) -> Data:
    """Outputs for documents, whose difficulty all outputs of one share."""
    return judged(rng, 0.6 * rng.normal(size=(n_groups, 1)) + 0.8 * rng.normal(size=(n_groups, OUTPUTS)))


def draw_systems(rng: np.random.Generator, n_systems: int) -> Data:
    """Outputs of systems for the same documents; by system."""
    quality = 0.5 * rng.normal(size=(n_systems, 1)) + 0.6 * rng.normal(size=(1, DOCUMENTS))
    return judged(rng, quality + 0.6 * rng.normal(size=(n_systems, DOCUMENTS)))


def judged(rng: np.random.Generator, quality: Floats) -> Data:
    """What a person and two judges say of outputs of some quality."""

    def judge(slope: float) -> Floats:
        felt = 1.2 + slope * quality + 0.7 * rng.normal(size=quality.shape)
        return rng.binomial(QUESTIONS, 1 / (1 + np.exp(-felt))) / QUESTIONS

    human = np.clip(np.round(3.6 + 0.9 * quality + 0.6 * rng.normal(size=quality.shape)), 1, 5)
    return Data(human, judge(1.3), judge(0.7))


def rated(human: Floats, value: Floats, level: Level) -> list[Rated]:
    """One example a cell."""
    return [
        Rated(
            example_id=f"{i}-{j}",
            group=j if level == "system" else i,
            system=f"{i if level == 'system' else j}",
            human=float(human[i, j]),
            value=float(value[i, j]),
        )
        for i, j in np.ndindex(*human.shape)
    ]


def means(rng: np.random.Generator, n: int) -> Estimates:
    """Of ratings, of the share of good ones, and of that share with one output a document."""
    human = draw(rng, n).human
    cells = [(i, float(human[i, j])) for i, j in np.ndindex(*human.shape)]
    return {
        "mean": mean_interval(cells),
        "proportion, groups of 4": proportion_interval((i, rating >= 4) for i, rating in cells),
        "proportion, single": proportion_interval((i, rating >= 4) for i, rating in enumerate(human[:, 0])),
    }


def prediction_powered(rng: np.random.Generator, n: int) -> Estimates:
    """Of the mean rating, with labels for `n` groups and the judge alone for four times as many."""
    human, judge, _ = draw(rng, 5 * n)
    # On the scale of the ratings, as scores are.
    judge = 1 + 4 * judge
    labeled = [(i, float(human[i, j]), float(judge[i, j])) for i, j in np.ndindex(n, OUTPUTS)]
    unlabeled = [(i + n, float(judge[i + n, j])) for i, j in np.ndindex(4 * n, OUTPUTS)]
    return {
        "prediction-powered mean": prediction_powered_mean(labeled, unlabeled),
        "mean of the labels alone": mean_interval((group, rating) for group, rating, _ in labeled),
    }


def correlation(data: Data, level: Level) -> Estimates:
    """Of the judge with people."""
    found = correlations(rated(data.human, data.judge, level), level=level)
    return {f"{name}, {level}": getattr(found, name) for name in COEFFICIENTS}


def difference(data: Data, level: Level) -> Estimates:
    """Between the judge and the weaker one."""
    judge, weaker = rated(data.human, data.judge, level), rated(data.human, data.weaker, level)
    found = paired_differences({"": judge}, {"": weaker}, level=level)
    return {f"difference, {one.coefficient}, {level}": one.estimate for one in found}


def true_numbers(n_groups: int = 100_000) -> Truths:
    """What each interval should hold."""
    large = draw(np.random.default_rng(1), n_groups)
    mean, share = float(large.human.mean()), float((large.human >= 4).mean())
    truths = {"mean": mean, "prediction-powered mean": mean, "mean of the labels alone": mean}
    truths |= {"proportion, groups of 4": share, "proportion, single": share}
    human, judge, weaker = (values.mean(axis=1) for values in draw_systems(np.random.default_rng(2), 10_000))
    of_judge, of_weaker = row_coefficients(large.human, large.judge), row_coefficients(large.human, large.weaker)
    for name, function in zip(COEFFICIENTS, (pearsonr, spearmanr, kendalltau), strict=True):
        pooled = [float(function(large.human.ravel(), other.ravel()).statistic) for other in large[1:]]
        system = [float(function(human, other).statistic) for other in (judge, weaker)]
        truths |= {
            f"{name}, pooled": pooled[0],
            f"{name}, group": float(np.nanmean(of_judge[name])),
            f"{name}, system": system[0],
            f"difference, {name}, pooled": pooled[0] - pooled[1],
            # Over the groups that both define.
            f"difference, {name}, group": float(np.nanmean(of_judge[name] - of_weaker[name])),
            f"difference, {name}, system": system[0] - system[1],
        }
    return truths


if __name__ == "__main__":
    main()
