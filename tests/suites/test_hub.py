from pathlib import Path

import pytest

from bineval.errors import ConfigError, DataError
from bineval.suites.catalog import find_suite
from bineval.suites.hub import hub_examples

datasets = pytest.importorskip("datasets", reason="the extra `hub` is not installed")
parquet = pytest.importorskip("pyarrow.parquet")
pyarrow = pytest.importorskip("pyarrow")

ROW = {
    "id": "doc-1",
    "text": "The council closed the bridge.",
    "machine_summaries": ["The bridge is closed.", "Bridge."],
    "human_summaries": ["The council closed a bridge.", "A bridge was closed."],
    "coherence": [4.0, 1.0],
    "consistency": [5.0, 5.0],
    "fluency": [5.0, 2.0],
    "relevance": [4.5, 2.0],
}


def folder(path: Path, row: dict[str, object]) -> str:
    """A data set of one row in the layout of the hub."""
    (path / "data").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist([row]), path / "data" / "test-00000-of-00001.parquet")
    return str(path)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path_factory.mktemp("cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", place)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_summeval_is_read_document_by_document_with_all_its_summaries(tmp_path: Path) -> None:
    first, second = hub_examples(find_suite("summeval"), folder(tmp_path, ROW))
    assert (first.id, first.group, first.system) == ("doc-1/M0", "doc-1", "M0")
    assert (first.input, first.output) == ("The council closed the bridge.", "The bridge is closed.")
    assert first.human == {"coherence": 4.0, "consistency": 5.0, "fluency": 5.0, "relevance": 4.5}
    assert second.human["fluency"] == 2.0
    assert second.metadata["references"] == ["The council closed a bridge.", "A bridge was closed."]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_data_set_with_other_columns_is_refused(tmp_path: Path) -> None:
    row = {name: value for name, value in ROW.items() if name != "coherence"}
    with pytest.raises(DataError, match="no usable column 'coherence'"):
        hub_examples(find_suite("summeval"), folder(tmp_path, row))


def test_what_is_not_there_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="QAGS-XSum is not on the hub in a form that bineval reads: give --data FILE"):
        hub_examples(find_suite("qags-xsum"))
    with pytest.raises(ConfigError, match=r"cannot be loaded from the hub .*; give --data FILE"):
        hub_examples(find_suite("summeval"), str(tmp_path / "nothing"))
