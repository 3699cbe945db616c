from pathlib import Path

import pytest

from bineval.environment import api_key, cache_folder, default_store


@pytest.fixture(autouse=True)
def a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BINEVAL_CACHE", "BINEVAL_STORE", "XDG_CACHE_HOME", "SOME_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "/home/me/.cache/bineval"),
        ({"XDG_CACHE_HOME": "/var/cache"}, "/var/cache/bineval"),
        ({"XDG_CACHE_HOME": ""}, "/home/me/.cache/bineval"),
        ({"BINEVAL_CACHE": "/data/models"}, "/data/models"),
        ({"BINEVAL_CACHE": "~/models"}, "/home/me/models"),
        ({"BINEVAL_CACHE": "", "XDG_CACHE_HOME": "/var/cache"}, "/var/cache/bineval"),
        ({"BINEVAL_CACHE": "/data/models", "XDG_CACHE_HOME": "/var/cache"}, "/data/models"),
    ],
)
def test_the_cache_folder_is_the_users_own_choice_before_the_systems(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (None, "bineval.db"),
        ("", "bineval.db"),
        ("/data/evals.db", "/data/evals.db"),
        ("postgresql://db/evals", "postgresql://db/evals"),
    ],
)
def test_the_store_is_a_file_in_the_working_folder_unless_said_otherwise(
    value: str | None, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("BINEVAL_STORE", value)
    assert default_store() == place


@pytest.mark.parametrize(("value", "key"), [(None, None), ("", None), ("sk-1", "sk-1")])
def test_an_empty_key_is_no_key(value: str | None, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)
    assert api_key("SOME_KEY") == key


def test_nothing_else_reads_the_environment() -> None:
    sources = Path(__file__).parents[1].joinpath("src", "bineval").rglob("*.py")
    readers = {path.name for path in sources if any(word in path.read_text() for word in ("os.environ", "getenv"))}
    assert readers == {"environment.py"}
