import json
import time
from pathlib import Path

import pytest

from bineval.errors import (
    ConfigError,
    DataError,
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelRequestError,
)
from bineval.models.catalog import ModelOptions, open_model
from bineval.models.scripted import Scripted
from bineval.types import Message, Price, Reply, Request, Usage


def request(text: str = "Is the sky blue?", **parts: object) -> Request:
    messages = (Message(role="system", content="Rules."), Message(role="user", content=text))
    return Request(messages=messages, max_tokens=50, **parts)  # type: ignore[arg-type]


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return f"scripted/{path}"


RULES = [
    {"match": "blue", "reply": "yes", "reasoning": "It is noon."},
    {"pattern": "gr[ae]y", "reply": "no", "finish_reason": "length"},
    {"match": "down", "error": "busy"},
    {"match": "key", "error": "auth"},
    {"match": "broken", "error": "request"},
    {"reply": "perhaps"},
]


# JSON is YAML too.
@pytest.mark.parametrize("suffix", ["jsonl", "json", "yaml", "yml"])
def test_the_first_rule_that_fits_the_last_user_message_replies(tmp_path: Path, suffix: str) -> None:
    text = "\n".join(json.dumps(rule) for rule in RULES) if suffix == "jsonl" else json.dumps(RULES)
    model = open_model(write(tmp_path / f"script.{suffix}", text))
    reply = model.complete(request())
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("yes", "It is noon.", "stop")
    reply = model.complete(request("Is it grey, and not green?"))
    assert (reply.text, reply.finish_reason) == ("no", "length")
    assert model.complete(request("?")).text == "perhaps"


@pytest.mark.parametrize(
    ("text", "error"), [("down", ModelBusyError), ("key", ModelAuthError), ("broken", ModelRequestError)]
)
def test_a_rule_can_fail_like_a_server(tmp_path: Path, text: str, error: type[ModelError]) -> None:
    model = open_model(write(tmp_path / "script.json", json.dumps(RULES)))
    with pytest.raises(error):
        model.complete(request(text))


def test_only_the_last_user_message_counts(tmp_path: Path) -> None:
    model = open_model(write(tmp_path / "script.json", json.dumps(RULES)))
    turns = ("Is it blue?", "I cannot say.", "Try again.")
    roles = ("user", "assistant", "user")
    messages = tuple(Message(role=role, content=text) for role, text in zip(roles, turns, strict=True))  # type: ignore[arg-type]
    assert model.complete(Request(messages=messages, max_tokens=5)).text == "perhaps"


def test_without_a_rule_that_fits_the_call_fails_and_shows_the_message(tmp_path: Path) -> None:
    model = open_model(write(tmp_path / "script.jsonl", '{"match": "red", "reply": "no"}\n'))
    with pytest.raises(ModelRequestError, match="Is the sky blue"):
        model.complete(request())


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("s.jsonl", '{"reply": "a"}\n\n{"repyl": "b"}', r"s\.jsonl:3: field 'repyl'"),
        ("s.jsonl", '{"reply": "a"}\n{"reply": ', r"s\.jsonl:2: is not JSON"),
        ("s.jsonl", '["a"]', r"s\.jsonl:1: .*object|dictionary"),
        ("s.jsonl", '{"match": "a"}', "either a reply or an error"),
        ("s.jsonl", '{"reply": "a", "error": "busy"}', "either a reply or an error"),
        ("s.jsonl", '{"match": "a", "pattern": "b", "reply": "c"}', "not both"),
        ("s.jsonl", '{"pattern": "(", "reply": "c"}', "field 'pattern'"),
        ("s.jsonl", '{"error": "bussy"}', "field 'error'"),
        ("s.jsonl", '{"reply": "a", "finish_reason": "end"}', "field 'finish_reason'"),
        ("s.json", '{"reply": "a"}', "must be a list of rules"),
        ("s.json", "[\n{", r"s\.json:2: is not JSON"),
        ("s.yaml", "- reply: yes", r"field 'reply'.*string"),
        ("s.yaml", "- reply: 'a\n", r"s\.yaml:\d+: is not YAML"),
    ],
)
def test_a_malformed_rule_is_named_with_its_place(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        open_model(write(tmp_path / name, text))


def test_rules_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(b'[{"reply": "caf\xe9"}]')
    with pytest.raises(DataError, match="UTF-8"):
        open_model(f"scripted/{tmp_path / 's.json'}")


def test_a_python_file_replies_by_its_function(tmp_path: Path) -> None:
    script = """
from bineval.types import Reply

def reply(request):
    text = request.messages[-1].content
    return "yes" if "sky" in text else Reply(text="no", model="own", finish_reason="other")
"""
    model = open_model(write(tmp_path / "script.py", script))
    assert model.complete(request()).text == "yes"
    reply = model.complete(request("?"))
    assert (reply.text, reply.model, reply.finish_reason) == ("no", "own", "other")
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("s.py", "def answer(request): ...", "no function reply"),
        ("s.py", "def reply(request) return 1", "not valid Python"),
        ("s.txt", "yes", r"\.py file or a file of rules"),
    ],
)
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        open_model(write(tmp_path / name, text))


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.py: .*No such file"):
        open_model(f"scripted/{tmp_path / 'nowhere.py'}")


@pytest.mark.parametrize("options", [ModelOptions(base_url="http://localhost/v1"), ModelOptions(api_key_env="KEY")])
def test_options_of_remote_models_are_refused(tmp_path: Path, options: ModelOptions) -> None:
    with pytest.raises(ConfigError, match="calls no server"):
        open_model(write(tmp_path / "s.json", "[]"), options)


def test_the_content_of_the_file_identifies_the_model_not_its_place(tmp_path: Path) -> None:
    first = open_model(write(tmp_path / "a.json", '[{"reply": "yes"}]'))
    copy = open_model(write(tmp_path / "b.json", '[{"reply": "yes"}]'))
    other = open_model(write(tmp_path / "c.json", '[{"reply": "no"}]'))
    assert first.identity == copy.identity != other.identity


def test_a_function_replies_under_its_own_name() -> None:
    model = Scripted.from_function(lambda request: "yes", name="scripted/always")
    assert (model.name, model.complete(request()).text) == ("scripted/always", "yes")
    assert model.identity != Scripted.from_function(lambda request: "yes").identity
    assert model.dropped_parameters() == {}


def test_a_reply_that_is_no_text_is_a_final_error() -> None:
    model = Scripted.from_function(lambda request: 5)  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelRequestError, match="returned int"):
        model.complete(request())


def test_tokens_are_estimated_from_lengths_so_that_budgets_work() -> None:
    model = Scripted.from_function(lambda request: Reply(text="x" * 9, reasoning="yyy"))
    asked = Request(messages=(Message(role="user", content="x" * 41),), max_tokens=5)
    # Four characters a token, rounded up: 41 -> 11, 9 + 3 = 12 -> 3.
    assert model.complete(asked).usage == Usage(input_tokens=11, output_tokens=3, calls=1)
    assert model.count_tokens(asked) == 11


def test_usage_that_the_script_gives_is_kept() -> None:
    usage = Usage(input_tokens=1000, calls=1)
    model = Scripted.from_function(lambda request: Reply(text="yes", usage=usage))
    assert model.complete(request()).usage == usage


def test_it_costs_nothing_unless_the_user_says_so(tmp_path: Path) -> None:
    name = write(tmp_path / "s.json", '[{"reply": "yes"}]')
    assert open_model(name).price == Price(input_usd=0.0, output_usd=0.0)
    price = Price(input_usd=2.0, output_usd=3.0)
    assert open_model(name, ModelOptions(price=price)).price == price


def test_replies_say_what_was_asked_for() -> None:
    reply = Scripted.from_function(lambda request: "yes").complete(request(seed=3))
    assert reply.params_used == {"max_tokens": 50, "temperature": 0.0, "seed": 3}


def test_twenty_thousand_calls_take_little_time(tmp_path: Path) -> None:
    model = open_model(write(tmp_path / "s.json", json.dumps(RULES)))
    asked = request("word " * 500)
    started = time.process_time()
    for _ in range(2_000):
        model.complete(asked)
    assert time.process_time() - started < 0.5, "a tenth of 20,000 calls: half a millisecond a call would be too slow"


def test_a_function_without_a_name_is_a_model_of_its_own() -> None:
    one, other = (Scripted.from_function(lambda _: "yes") for _ in range(2))
    assert one.identity != other.identity
    named = [Scripted.from_function(lambda _: "yes", "scripted/mine") for _ in range(2)]
    assert named[0].identity == named[1].identity


def test_what_a_script_raises_is_told_with_its_place(tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    script.write_text("def reply(request):\n    return 1 / 0\n", encoding="utf-8")
    model = open_model(f"scripted/{script}")
    with pytest.raises(ConfigError, match=r"reply\(\) raised ZeroDivisionError: .*judge.py:2\)"):
        model.complete(Request(messages=(Message(role="user", content="?"),), max_tokens=1))
