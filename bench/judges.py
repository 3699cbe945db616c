"""Seconds a verdict of a local model takes: separate calls, one by one over a cached prefix, and our shared prefix.

    python bench/judges.py [--judge llamacpp/qwen2.5-coder-0.5b]

Writes bench/results/judges.json. All on the same engine and build, in one process, with 8 QAGS-XSum articles and 8 and
24 questions. For each article the ways take turns, and every figure is the median over the articles of what was
measured on the same article:

- uncached: what was read is forgotten before each question;
- cached: one question after the other, the article read with the first;
- shared prefix: the logprob judge, which reads the article once and decodes all questions as one batch;
- bulk rate: a prompt of 512 tokens, read from nothing;
- holistic: 100 tokens of reasoning of the same model about the same text.
"""

import argparse
import gzip
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bineval import Example, Question, Verdict
from bineval.judging.logprob import LogprobJudge
from bineval.judging.rendering import example_text
from bineval.models.catalog import open_model
from bineval.models.llamacpp import LlamaCpp
from bineval.types import Message, Request
from results_file import write_results

_DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "qags_xsum.jsonl.gz"
_N_ARTICLES, _BULK_TOKENS, _REASONING_TOKENS = 8, 512, 100
# A separate call takes the same time whatever the number of questions: of 24, every third is measured.
_UNCACHED_STEP = {8: 1, 24: 3}

_THINGS = ("name", "place", "number", "date", "title", "quotation", "cause", "result")
_TESTS = (
    "Does every {} in the summary stand in the article too?",
    "Is each {} in the summary the same as in the article?",
    "Is the summary free of any {} that the article does not give?",
)
_QUESTIONS = [
    Question(id=f"q{i}", text=test.format(thing), dimension="consistency")
    for i, (test, thing) in enumerate((test, thing) for test in _TESTS for thing in _THINGS)
]
_REASONER = "You rate texts. Think aloud about every statement of the text at length, then give a score from 1 to 5."


@dataclass(kw_only=True, slots=True)
class _Sample:
    """What was measured on one article with one number of questions."""

    uncached_s: float
    cached_s: float
    shared_s: float
    computed_per_s: float
    bulk_per_s: float
    judgment_s: float
    holistic_s: float | None
    largest_difference: float
    n_other_answers: int
    p_of_other_answers: list[float] = field(default_factory=list)


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="llamacpp/qwen2.5-coder-0.5b")
    parser.add_argument("--articles", type=int, default=_N_ARTICLES)
    arguments = parser.parse_args()
    if not _DATA.exists():
        print(f"judges: left out, for {_DATA} is not there")
        return
    model = open_model(arguments.judge)
    assert isinstance(model, LlamaCpp)
    examples = _examples(arguments.articles)
    judge = LogprobJudge(model)
    judge.ask(examples[0], _QUESTIONS[:1])  # loads the file
    samples = {n: [_measure(judge, model, example, n, turn=i) for i, example in enumerate(examples)] for n in (8, 24)}
    results = {"judge": arguments.judge, "n_articles": len(examples), **_medians(samples[24])}
    results["cost_ratio_to_holistic"] = _ratio_to_holistic(samples[8])
    results["with_8_questions"] = _medians(samples[8])
    results["agreement"] = {str(n): _agreement(rows, n) for n, rows in samples.items()}
    results["samples"] = {str(n): [_as_json(row) for row in rows] for n, rows in samples.items()}
    path = write_results("judges", results, packages=("llama-cpp-python",))
    _print(results)
    print(path)


def _examples(n: int) -> list[Example]:
    with gzip.open(_DATA, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(0).shuffle(rows)
    return [Example(id=row["id"], input=row["input"], output=row["output"]) for row in rows[:n]]


def _measure(judge: LogprobJudge, model: LlamaCpp, example: Example, n: int, *, turn: int) -> _Sample:
    questions = _QUESTIONS[:n]
    taken: dict[str, tuple[float, list[Verdict]]] = {}
    ways = ["uncached", "cached", "shared"]
    for way in ways[turn % 3 :] + ways[: turn % 3]:
        model.forget()
        began = time.perf_counter()
        match way:
            case "uncached":
                verdicts = _one_by_one(judge, model, example, questions[:: _UNCACHED_STEP[n]], forgetting=True)
            case "cached":
                verdicts = _one_by_one(judge, model, example, questions, forgetting=False)
            case _:
                verdicts = judge.ask(example, questions)
        taken[way] = (time.perf_counter() - began, verdicts)
    shared_s, shared = taken["shared"]
    computed = sum(verdict.usage.input_tokens - verdict.usage.cached_input_tokens for verdict in shared)
    steps = {"uncached": shared[:: _UNCACHED_STEP[n]], "cached": shared}
    pairs = [
        (one.probability or 0.0, other.probability or 0.0)
        for way, rows in steps.items()
        for one, other in zip(taken[way][1], rows, strict=True)
    ]
    other = [pair for pair in pairs if (pair[0] > 0.5) != (pair[1] > 0.5)]
    return _Sample(
        uncached_s=taken["uncached"][0] / len(taken["uncached"][1]),
        cached_s=taken["cached"][0] / n,
        shared_s=shared_s / n,
        computed_per_s=computed / shared_s,
        bulk_per_s=_bulk_rate(model, example),
        judgment_s=shared_s,
        holistic_s=_holistic_s(model, example) if n == 8 else None,
        largest_difference=max(abs(one - other) for one, other in pairs),
        n_other_answers=len(other),
        p_of_other_answers=[round(p, 3) for pair in other for p in pair],
    )


def _one_by_one(
    judge: LogprobJudge, model: LlamaCpp, example: Example, questions: Sequence[Question], *, forgetting: bool
) -> list[Verdict]:
    verdicts = []
    for question in questions:
        if forgetting:
            model.forget()
        verdicts += judge.ask(example, [question])
    return verdicts


def _bulk_rate(model: LlamaCpp, example: Example) -> float:
    """Tokens a second that the engine reads of one prompt of 512 tokens."""
    text = f"{example.input}\n{example.input}\n{example.input}"
    request = Request(messages=(Message(role="user", content=text),), max_tokens=1)
    while (n := model.count_tokens(request)) > _BULK_TOKENS:
        text = text[: int(len(text) * _BULK_TOKENS / n) - 1]
        request = replace(request, messages=(Message(role="user", content=text),))
    model.forget()
    began = time.perf_counter()
    reply = model.complete(request)
    return reply.usage.input_tokens / (time.perf_counter() - began)


def _holistic_s(model: LlamaCpp, example: Example) -> float | None:
    """Seconds for a hundred tokens of reasoning about the example; None when the model stopped before."""
    user = f"{example_text(example, None)}\n\nHow consistent is the summary with the article? Begin with your thoughts."
    messages = (Message(role="system", content=_REASONER), Message(role="user", content=user))
    model.forget()
    began = time.perf_counter()
    reply = model.complete(Request(messages=messages, max_tokens=_REASONING_TOKENS))
    return time.perf_counter() - began if reply.usage.output_tokens == _REASONING_TOKENS else None


def _medians(rows: Sequence[_Sample]) -> dict[str, object]:
    def median(values: Sequence[float]) -> float:
        return round(statistics.median(values), 4)

    return {
        "seconds_per_verdict": {
            "uncached": median([row.uncached_s for row in rows]),
            "cached": median([row.cached_s for row in rows]),
            "shared_prefix": median([row.shared_s for row in rows]),
        },
        "shared_to_uncached": median([row.shared_s / row.uncached_s for row in rows]),
        "shared_to_cached": median([row.shared_s / row.cached_s for row in rows]),
        "computed_tokens_per_second": median([row.computed_per_s for row in rows]),
        "bulk_tokens_per_second": median([row.bulk_per_s for row in rows]),
        "bulk_rate_share": median([row.computed_per_s / row.bulk_per_s for row in rows]),
    }


def _ratio_to_holistic(rows: Sequence[_Sample]) -> float | None:
    ratios = [row.judgment_s / row.holistic_s for row in rows if row.holistic_s is not None]
    return round(statistics.median(ratios), 4) if ratios else None


def _agreement(rows: Sequence[_Sample], n: int) -> dict[str, object]:
    n_pairs = sum(n + len(range(0, n, _UNCACHED_STEP[n])) for _ in rows)
    return {
        "n_pairs": n_pairs,
        "largest_difference_of_p_yes": round(max(row.largest_difference for row in rows), 4),
        "n_other_answers": sum(row.n_other_answers for row in rows),
        "p_yes_of_these": [p for row in rows for p in row.p_of_other_answers],
    }


def _as_json(row: _Sample) -> dict[str, float | None]:
    names = ("uncached_s", "cached_s", "shared_s", "computed_per_s", "bulk_per_s", "judgment_s", "holistic_s")
    values = {name: getattr(row, name) for name in names}
    return {name: None if value is None else round(value, 4) for name, value in values.items()}


def _print(results: dict[str, object]) -> None:
    for title, part in (("24 questions", results), ("8 questions", results["with_8_questions"])):
        assert isinstance(part, dict)
        seconds = part["seconds_per_verdict"]
        print(
            f"{title}: {seconds['uncached']} s uncached, {seconds['cached']} cached, {seconds['shared_prefix']} shared"
            f" prefix; shared to uncached {part['shared_to_uncached']}, to cached {part['shared_to_cached']};"
            f" {part['bulk_rate_share']:.0%} of the bulk rate"
        )
    print(f"8 questions to one holistic score with {_REASONING_TOKENS} tokens: {results['cost_ratio_to_holistic']}")
    print(f"agreement: {json.dumps(results['agreement'])}")


if __name__ == "__main__":
    main()
