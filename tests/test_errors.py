import inspect

import pytest

from bineval import errors
from bineval.errors import (
    BinevalError,
    BudgetExceeded,
    ConfigError,
    DataError,
    MissingDependencyError,
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    TemplateError,
    UnknownNameError,
)


def test_every_error_is_in_the_one_tree_and_in_its_drawing() -> None:
    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__]
    assert len(classes) >= 10
    for cls in classes:
        assert issubclass(cls, BinevalError)
        assert cls.__name__ in str(errors.__doc__)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (TemplateError, ConfigError),
        (ConfigError, ValueError),
        (DataError, ValueError),
        (MissingDependencyError, ImportError),
    ],
)
def test_an_error_is_caught_by_who_knows_only_the_usual_kind(error: type, builtin: type) -> None:
    assert issubclass(error, builtin)


def test_what_can_be_done_about_a_call_is_said_by_its_class() -> None:
    kinds = {
        ModelAuthError: (False, True),
        ModelRequestError: (False, False),
        ModelNotFoundError: (False, True),
        ModelBusyError: (True, False),
    }
    for kind, expected in kinds.items():
        assert issubclass(kind, ModelError)
        assert (kind.retryable, kind.stops_run) == expected
    assert not issubclass(BudgetExceeded, ModelError)


def test_a_model_error_names_model_status_request_and_hint() -> None:
    error = ModelAuthError("the key was refused", model="openai/x", status=401, request_id="req-7")
    assert str(error) == (
        "openai/x (HTTP 401, request req-7): the key was refused "
        "(check the API key, its permissions, and the account's billing and quota)"
    )
    assert str(ModelRequestError("too long", model="openai/x")) == "openai/x: too long"
    assert (error.model, error.status, error.request_id) == ("openai/x", 401, "req-7")


def test_a_busy_error_carries_what_the_server_asked_for() -> None:
    assert ModelBusyError("slow down", model="m", status=429, retry_after_s=2.5).retry_after_s == 2.5
    assert ModelBusyError("connection lost", model="m").retry_after_s is None


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "<data>: is empty"),
        ({"file": "a.jsonl"}, "a.jsonl: is empty"),
        ({"file": "a.jsonl", "line": 3}, "a.jsonl:3: is empty"),
        ({"file": "a.jsonl", "line": 3, "field": "human.tone"}, "a.jsonl:3: field 'human.tone': is empty"),
    ],
)
def test_a_data_error_names_file_line_and_field(place: dict[str, str], text: str) -> None:
    assert str(DataError("is empty", **place)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("consistancy", ["consistency", "tone"], "unknown dimension 'consistancy'; did you mean consistency?"),
        ("xyz", ["b", "a"], "unknown dimension 'xyz'; known: a, b"),
        ("xyz", [], "unknown dimension 'xyz'; known: none"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest_or_all_names(name: str, known: list[str], text: str) -> None:
    assert str(UnknownNameError("dimension", name, known)) == text


def test_an_unknown_name_says_where_it_should_be_and_lists_no_more_than_twenty() -> None:
    text = str(UnknownNameError("run", "zzz", [f"{i:02}" for i in range(25)], where="bineval.db"))
    assert text.startswith("unknown run 'zzz' in bineval.db; known: 00, 01")
    assert text.endswith("19 and 5 more")


def test_a_missing_dependency_names_the_extra_that_brings_it() -> None:
    assert str(MissingDependencyError("pyarrow", "parquet", "reading a Parquet file")) == (
        "reading a Parquet file needs the package pyarrow, which is not installed: pip install 'bineval[parquet]'"
    )
