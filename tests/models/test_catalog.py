import subprocess
import sys

import pytest

from bineval.errors import ConfigError, UnknownNameError
from bineval.models.catalog import ModelOptions, open_model, split_name
from bineval.types import Price


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("openai/gpt-x", ("openai", "gpt-x")),
        ("openai:gpt-x", ("openai", "gpt-x")),
        ("openai/ft:gpt-x:org", ("openai", "ft:gpt-x:org")),
        ("openai:org/model", ("openai", "org/model")),
        ("litellm/groq/llama/70b", ("litellm", "groq/llama/70b")),
        ("llamacpp//models/small.gguf", ("llamacpp", "/models/small.gguf")),
        ("llamacpp:C:/models/small.gguf", ("llamacpp", "C:/models/small.gguf")),
        ("scripted/two\nlines", ("scripted", "two\nlines")),
    ],
)
def test_a_name_is_split_at_its_first_separator(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize("name", ["", "gpt-x", "openai", "openai/", "openai:", "/gpt-x", ":gpt-x"])
def test_a_name_without_two_parts_is_refused_with_the_form_and_the_providers(name: str) -> None:
    with pytest.raises(ConfigError, match=r"must be provider/model; providers: anthropic, .*scripted") as caught:
        split_name(name)
    assert repr(name) in str(caught.value)


def test_a_misspelled_provider_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean openai"):
        open_model("opnai/gpt-x")


def test_a_model_opens_with_its_options(tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("scripts") / "yes.py"
    script.write_text("def reply(request):\n    return 'yes'\n", encoding="utf-8")
    price = Price(input_usd=1.0, output_usd=2.0)
    model = open_model(f"scripted:{script}", ModelOptions(price=price))
    assert (model.name, model.price) == (f"scripted/{script}", price)
    with pytest.raises(ConfigError, match="takes no base URL"):
        open_model(f"scripted:{script}", ModelOptions(base_url="http://127.0.0.1"))


def test_naming_one_provider_imports_no_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("scripts") / "yes.py"
    script.write_text("def reply(request):\n    return 'yes'\n", encoding="utf-8")
    code = (
        "import sys; from bineval.models.catalog import open_model; open_model(sys.argv[1]);"
        "print([name for name in ('openai', 'anthropic', 'litellm', 'llama_cpp', 'httpx2') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, f"scripted/{script}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
