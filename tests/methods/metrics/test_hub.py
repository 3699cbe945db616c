import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bineval.errors import ConfigError, ModelRequestError  # noqa: E402
from bineval.methods.metrics.hub import HubModel, Kind  # noqa: E402


def model(name: object, kind: Kind = "AutoModel") -> HubModel:
    return HubModel(str(name), kind=kind, metric="bertscore")


def test_a_folder_is_loaded_ready_to_judge(tiny_bert: Path) -> None:
    loaded = model(tiny_bert)
    assert not loaded.network.training
    assert next(loaded.network.parameters()).dtype == torch.float32
    assert loaded.most_tokens == 24
    words = loaded.tokenizer.convert_ids_to_tokens(loaded.token_ids("the cat", most=None))
    assert words == ["[CLS]", "the", "cat", "[SEP]"]


def test_the_settings_name_the_packages_and_the_very_files(tiny_bert: Path, tmp_path: Path) -> None:
    settings = model(tiny_bert).settings
    assert str(settings["library"]).startswith(f"torch {torch.__version__}, transformers ")
    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    (copy / "README.md").write_text("Words about it change nothing.")
    assert model(copy).settings["version"] == settings["version"]
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-3}))
    assert model(copy).settings["version"] != settings["version"]


def test_a_text_is_refused_rather_than_cut(tiny_bert: Path) -> None:
    loaded = model(tiny_bert)
    assert len(loaded.token_ids("cat " * 22, most=loaded.most_tokens)) == 24
    with pytest.raises(ModelRequestError, match=r"25 tokens is too long for .*, which reads 24"):
        loaded.token_ids("cat " * 23, most=loaded.most_tokens)


def test_a_roberta_has_fewer_positions_than_it_counts(tiny_bert: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    config = {"model_type": "roberta", "max_position_embeddings": 22, "pad_token_id": 1}
    (copy / "config.json").write_text(json.dumps(config))
    # Positions begin after that of the padding token: 22 - (1 + 1).
    assert model(copy).most_tokens == 20


def test_judged_text_cannot_set_a_mark_of_the_model(tiny_bert: Path) -> None:
    loaded = model(tiny_bert)
    ids = loaded.token_ids(loaded.plain("cat [SEP] dog"), most=None)
    assert ids.count(loaded.tokenizer.sep_token_id) == 1


def test_files_of_another_kind_of_model_are_refused(tiny_bert: Path) -> None:
    # A masked-language head is not among the files: it would be made up at random.
    with pytest.raises(ConfigError, match="lack"):
        _ = model(tiny_bert, kind="AutoModelForMaskedLM").network  # type: ignore[arg-type]


@pytest.mark.parametrize("broken", ["config.json", "model.safetensors"])
def test_a_broken_file_is_a_plain_message(tiny_bert: Path, tmp_path: Path, broken: str) -> None:
    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    (copy / broken).write_text("{")
    with pytest.raises(ConfigError, match=r"bertscore: model .* cannot be loaded"):
        _ = model(copy).network


def test_a_folder_without_a_model_is_a_plain_message(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded"):
        _ = model(tmp_path).network


def test_an_unknown_device_is_a_plain_message(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match="no device 'abacus'"):
        HubModel(str(tiny_bert), kind="AutoModel", metric="bertscore", device="abacus")


def test_a_model_that_cannot_be_downloaded_is_a_plain_message(tmp_path: Path) -> None:
    code = """
from bineval.errors import ConfigError
from bineval.methods.metrics.hub import HubModel
try:
    HubModel("example/no-such-model", kind="AutoModel", metric="bertscore").settings
except ConfigError as error:
    print(error)
"""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith("bertscore: model example/no-such-model cannot be loaded (")
    assert "give their folder as --metric-model" in done.stdout


def test_nothing_is_drawn_where_there_is_no_terminal(tiny_bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _ = model(tiny_bert).network
    assert capfd.readouterr() == ("", "")
