import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, DataError, MissingDependencyError, UnknownNameError
from bineval.suites.ifbench.accuracy import verify
from bineval.suites.ifbench.package import open_registry
from bineval.suites.ifbench.rows import constraints_of, load_ifbench
from bineval.suites.ifbench.verifiers import Check, Verifiers, loose_variants
from bineval.types import Example

nltk = pytest.importorskip("nltk")
pytest.importorskip("if_verifiable", reason="the extra `ifbench` is not installed")

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "ifbench.jsonl.gz"
TAGGER = "averaged_perceptron_tagger_eng"
NUMBERS = "count:numbers"


@pytest.fixture(scope="module")
def verifiers() -> Verifiers:
    try:
        return Verifiers()
    except ConfigError as error:
        pytest.skip(str(error))


def example(id_: str, output: str, *constraints: tuple[str, dict[str, Any]], **fields: Any) -> Example:
    ids, arguments = [name for name, _ in constraints], [given for _, given in constraints]
    return Example(id=id_, output=output, metadata={"instruction_id_list": ids, "kwargs": arguments}, **fields)


def check(verifiers: Verifiers, output: str, constraint: str, **arguments: Any) -> Check:
    (found,) = verifiers.check(example("x", "not looked at", (constraint, arguments)), output)
    return found


@pytest.mark.skipif(not RECORDED.exists(), reason=f"{RECORDED} with the recorded verdicts is not there")
def test_the_recorded_verdicts_come_out_again_but_those_that_need_a_tagger_that_is_not_here(
    verifiers: Verifiers, record_property: Callable[[str, object], None]
) -> None:
    examples, prompts = load_ifbench(RECORDED, warn=pytest.fail)
    assert (len(examples), len(prompts)) == (290, 10)
    n_same, differing = 0, {}
    for item in examples:
        recorded = zip(item.metadata["strict"], item.metadata["loose"], strict=True)  # type: ignore[arg-type]
        for found, verdicts in zip(verifiers.check(item, item.output), recorded, strict=True):
            if (found.strict, found.loose) == verdicts:
                n_same += 1
            else:
                differing[item.id] = (found.constraint.instruction_id, found.problem)
    outputs = f"{len(examples) - len(differing)} of {len(examples)} outputs"
    reproduced = f"{n_same} of {n_same + len(differing)} recorded verdicts, all of {outputs}"
    record_property("reproduced", reproduced)
    try:
        nltk.data.find(f"taggers/{TAGGER}")
    except LookupError:
        why = f"NLTK's data {TAGGER} is not on this machine: run 'python -m nltk.downloader {TAGGER}'"
        assert differing == {f"ifbench-{i}": ("words:start_verb", why) for i in range(257, 263)}
        assert reproduced == "325 of 331 recorded verdicts, all of 284 of 290 outputs"
    else:
        assert differing == {}
        assert reproduced == "331 of 331 recorded verdicts, all of 290 of 290 outputs"


def test_an_output_passes_loosely_when_one_of_its_variants_does(verifiers: Verifiers) -> None:
    assert loose_variants("a *b*\nc\nd") == [
        *("a *b*\nc\nd", "c\nd", "a *b*\nc", "c"),
        *("a b\nc\nd", "c\nd", "a b\nc", "c"),
    ]
    for output, strict, loose in (
        ("12 and 13", True, True),
        ("Here are 2 numbers:\n\n12 and 13", False, True),  # without its first line
        ("12 and 13\nThat was all 2.", False, True),  # without its last
        ("Here are 2:\n12 and 13\nThose are the 2.", False, True),  # without both
        ("1*2 and 13", True, True),
        ("12", False, False),
        ("  \n ", False, False),
    ):
        found = check(verifiers, output, NUMBERS, N=2)
        assert (found.strict, found.loose, found.problem) == (strict, loose, None), output
    # An asterisk is no white space, but parts the word: 2 letters with it, 3 without.
    found = check(verifiers, "wo*rd", "words:prime_lengths")
    assert (found.strict, found.loose) == (False, False)
    found = check(verifiers, "*word*s", "format:options", options="words/letters")
    assert (found.strict, found.loose) == (False, True)


def test_a_verifier_that_lacks_its_data_gives_no_verdict_and_says_what_to_run(
    verifiers: Verifiers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(nltk, "download", lambda *_, **__: pytest.fail("a download was tried"))
    found = check(verifiers, "Go home now.", "words:start_verb")
    assert (found.strict, found.loose) == (None, None)
    assert found.problem is not None
    assert "run 'python -m nltk.downloader " in found.problem


def test_a_verifier_that_fails_on_an_output_gives_no_verdict(verifiers: Verifiers) -> None:
    # The package looks at the last letter of what is left without digits, and nothing is.
    found = check(verifiers, "2024.", "format:quote_unquote")
    assert (found.strict, found.loose) == (None, None)
    assert (found.problem or "").startswith("the verifier failed on this output: IndexError")
    # Without the first line it passes: that is settled.
    found = check(verifiers, "2024.\nA year.\n2024.", "format:quote_unquote")
    assert (found.strict, found.loose, found.problem) == (True, True, None)


def test_arguments_that_a_row_leaves_open_are_drawn_once_and_named(verifiers: Verifiers) -> None:
    state = random.getstate()
    item = example("x", "", (NUMBERS, {"N": None}), group="g")
    first = verifiers.check(item, "1")[0]
    assert first.drawn == ("N",)
    for _ in range(5):
        assert verifiers.check(item, "1")[0] == first
    other = example("y", "", (NUMBERS, {}), group="g")
    assert verifiers.check(other, "2 3")[0].description == first.description
    assert random.getstate() == state
    assert check(verifiers, "1", NUMBERS, N=1.0).drawn == ()
    # A start of 0 is taken for none.
    span = {"prompt_to_repeat": "one two three four five six", "n_start": 0, "n_end": 2}
    assert set(check(verifiers, "one two", "repeat:repeat_span", **span).drawn) <= {"n_start"}


def test_a_check_describes_its_constraint_with_and_without_arguments(verifiers: Verifiers) -> None:
    found = check(verifiers, "1", NUMBERS, N=4)
    assert "4" in found.description
    assert "{N}" in found.pattern
    assert found.constraint.category == "count"
    assert json.loads(json.dumps(found.to_json()))["instruction_id"] == NUMBERS


def test_without_the_data_or_the_package_it_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(ConfigError, match=r"run 'python -m nltk\.downloader punkt_tab stopwords', or see docs/benchm"):
        Verifiers()
    monkeypatch.setitem(sys.modules, "if_verifiable", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bineval\[ifbench\]'"):
        Verifiers()


def test_opening_the_package_tries_no_download(verifiers: Verifiers) -> None:
    code = """
import nltk
from bineval.suites.ifbench.package import open_registry
nltk.download = tried = lambda *names, **_: print("tried", *names)
open_registry()
assert nltk.download is tried
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == ""


def test_every_constraint_has_a_verifier_of_a_known_category(verifiers: Verifiers) -> None:
    categories = Counter(name.partition(":")[0] for name in open_registry())
    assert categories.total() == 58
    assert set(categories) == {"count", "custom", "format", "ratio", "repeat", "sentence", "words"}


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({}, "field 'instruction_id_list': example x: must be a list of constraints"),
        ({"instruction_id_list": []}, "must be a list of constraints"),
        ({"instruction_id_list": [NUMBERS]}, "field 'kwargs': example x: must be a list with one object for each"),
        ({"instruction_id_list": [NUMBERS], "kwargs": [{}, {}]}, "one object for each"),
        ({"instruction_id_list": [NUMBERS], "kwargs": ["N"]}, "must hold objects, not 'N'"),
    ],
)
def test_rows_that_set_no_constraint_are_refused(metadata: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        constraints_of(Example(id="x", output="", metadata=metadata))


def test_constraints_that_nothing_verifies_are_refused_with_their_place(verifiers: Verifiers) -> None:
    with pytest.raises(UnknownNameError, match=r"'count:number' in rows, example x; did you mean count:numbers"):
        verifiers.check(example("x", "", ("count:number", {})), "1", source="rows")
    with pytest.raises(DataError, match="rows, example x: field 'kwargs': the verifier of count:numbers does not take"):
        verifiers.check(example("x", "", (NUMBERS, {"M": 1})), "1", source="rows")


def test_accuracy_is_of_prompts_and_constraints_and_leaves_out_what_could_not_be_verified(
    verifiers: Verifiers,
) -> None:
    one, two, odd = (NUMBERS, {"N": 1}), ("format:no_whitespace", {}), ("format:quote_unquote", {})
    examples = [
        example("a", "x1", one, two),  # both pass
        example("b", "only 1", one, two),  # the second fails
        example("c", "Here 1:\n1", one),  # passes loosely
        example("d", "2024.", one, odd),  # the second is undefined
        example("e", "7", one),
        example("f", "none", one),
    ]
    report = verify(examples, verifiers, n_without_output=2, source="rows")
    found = {
        (row.level, row.category, row.instruction_id): (row.strict.value, row.loose.value, row.strict.n)
        for row in report.rows
    }
    assert found == {
        # a and e pass of a, b, c, e, f; c loosely.
        ("prompt", None, None): (2 / 5, 3 / 5, 5),
        # Numbers: a, b, d, e pass of six, c loosely; white space: a of a, b.
        ("constraint", None, None): (5 / 8, 6 / 8, 8),
        ("constraint", "count", None): (4 / 6, 5 / 6, 6),
        ("constraint", "count", NUMBERS): (4 / 6, 5 / 6, 6),
        ("constraint", "format", None): (1 / 2, 1 / 2, 2),
        ("constraint", "format", "format:no_whitespace"): (1 / 2, 1 / 2, 2),
        ("constraint", "format", "format:quote_unquote"): (None, None, 0),
    }
    assert report.rows[-1].strict.method == "undefined: no items"
    (undefined,) = report.undefined
    assert (undefined.instruction_id, undefined.n) == ("format:quote_unquote", 1)
    by_prompt = report.rows[0].strict
    # Wilson for 2 of 5: (0.4 + 0.38415 ± 1.96 · √(0.4 · 0.6 / 5 + 0.03842)) / (1 + 0.76829)
    assert (by_prompt.low, by_prompt.high) == (pytest.approx(0.1176, abs=1e-4), pytest.approx(0.7693, abs=1e-4))
    assert "bootstrap over 6 groups" in report.rows[1].strict.method, "constraints of one prompt go together"
    value: Any = report.to_json()
    json.dumps(value, allow_nan=False)
    assert (value["n_outputs"], value["n_constraints"], value["n_without_output"]) == (6, 9, 2)
    assert [row["strict"] for row in value["verdicts"]] == [True, True, True, False, False, True, None, True, False]


def test_what_has_to_be_known_about_the_figures_is_noted(verifiers: Verifiers) -> None:
    examples = [example("a", "1", (NUMBERS, {})), example("b", "1", (NUMBERS, {"N": 1}))]
    notes = verify(examples, verifiers, source="rows").notes
    assert notes == ("not taken from the row but drawn at random by the verifier: N of count:numbers in a",)


def test_each_system_has_accuracies_of_its_own(verifiers: Verifiers) -> None:
    one = (NUMBERS, {"N": 1})
    examples = [
        *(example(f"{i}/m", "1", one, group=str(i), system="m") for i in range(3)),
        *(example(f"{i}/n", "1" if i else "none", one, group=str(i), system="n") for i in range(3)),
        example("3", "none", one),
    ]
    rows = verify(examples, verifiers, source="rows").rows
    found = {row.system: (row.strict.value, row.strict.n) for row in rows if row.level == "prompt"}
    assert found == {"m": (1, 3), "n": (2 / 3, 3), None: (0, 1)}


class Crashing:
    """A verifier that fails in ways of which the package's own have not been seen to fail."""

    def __init__(self, instruction_id: str) -> None:
        self.instruction_id = instruction_id

    def build_description(self, **arguments: str) -> str:
        return f"Be like {arguments['what'].strip()}."

    def get_instruction_args(self) -> None:
        return None

    def check_following(self, text: str) -> bool:
        if text == "nothing":
            return 1 // 0 > 0
        return None.group()  # type: ignore[attr-defined]


def test_a_verifier_that_crashes_is_named_with_its_constraint_and_what_it_met(
    verifiers: Verifiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifiers, "_registry", {"custom:crashing": Crashing})
    crashing = ("custom:crashing", {"what": "a duck"})
    report = verify([example("a", "nothing", crashing), example("b", "x", crashing)], verifiers, source="rows")
    assert [(item.instruction_id, item.n) for item in report.undefined] == [("custom:crashing", 1)] * 2
    assert [item.problem for item in report.undefined] == [
        "the verifier failed on this output: AttributeError: 'NoneType' object has no attribute 'group'",
        "the verifier failed on this output: ZeroDivisionError: integer division or modulo by zero",
    ]
    assert all(row.strict.value is None for row in report.rows)
    for arguments in ({}, {"what": 7}):
        with pytest.raises(
            DataError, match="rows, example x: field 'kwargs': the verifier of custom:crashing does not"
        ):
            verifiers.check(example("x", "", ("custom:crashing", arguments)), "1", source="rows")
