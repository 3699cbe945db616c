import subprocess
import sys

import pytest

from bineval.errors import ConfigError, MissingDependencyError, UnknownNameError
from bineval.methods.metrics.catalog import METRICS, metric_plan
from bineval.types import Checklist, Dimension, Question

RATED = Checklist(
    name="rated",
    questions=(Question(id="fluency", text="Fluency.", dimension="fluency", asks="rating"),),
    dimensions={"fluency": Dimension()},
)


def test_rouge_is_rouge_l() -> None:
    for method in ("rouge", "rouge-l"):
        judge = metric_plan(method).build(lambda model: model, checklist=RATED)
        assert (judge.name, judge.settings["metric"]) == ("rouge-l", "rouge-l")


def test_the_name_says_what_is_not_as_usual() -> None:
    assert metric_plan("bleu").name == "bleu"
    assert metric_plan("bleu", against="input").name == "bleu(input)"


def test_what_is_compared_with_changes_the_settings() -> None:
    settings = [
        metric_plan("bleu", against=field).build(lambda model: model, checklist=RATED).settings
        for field in ("reference", "input", "context")
    ]
    assert [item["against"] for item in settings] == ["reference", "input", "context"]


def test_an_unknown_name_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean meteor"):
        metric_plan("meteors")
    with pytest.raises(UnknownNameError, match="did you mean reference"):
        metric_plan("bleu", against="references")


def test_moverscore_is_left_out_and_says_why() -> None:
    assert "moverscore" not in METRICS
    with pytest.raises(ConfigError, match=r"moverscore is left out: its only package.* bertscore is the nearest"):
        metric_plan("moverscore")


def test_arguments_that_a_metric_does_not_take_are_refused() -> None:
    with pytest.raises(ConfigError, match="bleu runs no model"):
        metric_plan("bleu", model="facebook/bart-large-cnn")
    with pytest.raises(ConfigError, match=r"unieval-t5 reads the fields .* leave out --against"):
        metric_plan("unieval-t5", against="input")


@pytest.mark.parametrize(
    ("method", "package", "extra"),
    [
        ("rouge", "rouge_score", "metrics"),
        ("bleu", "sacrebleu", "metrics"),
        ("meteor", "nltk", "metrics"),
        ("bertscore", "torch", "hub"),
        ("bartscore", "transformers", "hub"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    method: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None in sys.modules is Python's own way to say that a module cannot be imported.
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"bineval\[{extra}\]"):
        metric_plan(method)


def test_importing_the_catalog_imports_no_metric() -> None:
    code = (
        "import sys; import bineval.methods.metrics.catalog; "
        "print([name for name in ('torch', 'transformers', 'nltk', 'sacrebleu', 'rouge_score') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
