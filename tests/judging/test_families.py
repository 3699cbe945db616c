import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.judging.families import family, self_preference, self_preference_warning


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-4o-mini", "openai"),
        ("gpt4", "openai"),
        ("GPT-3.5", "openai"),
        ("openai/o3", "openai"),
        ("o4-mini", "openai"),
        ("text-davinci-003", "openai"),
        ("openai:chatgpt-4o-latest", "openai"),
        ("anthropic/claude-3-haiku", "anthropic"),
        ("us.anthropic.claude-v2", "anthropic"),
        ("gemini-2.0-flash", "google"),
        ("gemma3", "google"),
        ("PaLM_2", "google"),
        ("openai/meta-llama/Llama-3.1-8B-Instruct", "meta"),
        ("llama3:8b", "meta"),
        ("codellama-13b", "meta"),
        ("openai/mixtral-8x7b", "mistral"),
        ("Ministral-8B", "mistral"),
        ("magistral-small", "mistral"),
        ("llamacpp/qwen2.5-coder-0.5b", "qwen"),
        ("QwQ-32B", "qwen"),
        ("deepseek-r1-distill-qwen-7b", "deepseek"),
        ("phi-4", "microsoft"),
        ("Phi3-mini", "microsoft"),
        ("command-r-plus", "cohere"),
        ("cohere/command", "cohere"),
        ("grok-2", "xai"),
        ("llamacpp/smollm2-135m", "huggingface"),
        ("llamacpp//models/SmolLM2-135M.Q4.gguf", "huggingface"),
        ("gpt-j-6b", "eleutherai"),
        ("gpt-neox-20b", "eleutherai"),
        ("gpt4all-13b", "nomic"),
    ],
)
def test_a_model_is_of_the_family_that_its_name_says(name: str, expected: str) -> None:
    assert family(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "system one",
        "baseline",
        "philosophy-7b",
        "grokking",
        "tinyllama",
        "alpaca",
        "o10",
        "o31",
        "pro1",
        "foo3",
        "megapalm",
        "palmyra",
        "commander",
        "command line baseline",
        "smollmao",
        "yield",
        "distilgpt2",
        "openai/my-model",
        "anthropic/custom",
        "llamacpp/model.gguf",
        "gpt-4/finetuned",
        "scripted/judge",
        "T5",
        "BART",
    ],
)
def test_no_family_is_found_inside_other_words_or_in_the_provider_s_name(name: str) -> None:
    assert family(name) is None


@given(st.sampled_from(["gpt", "claude", "llama", "phi", "grok", "yi", "o3"]), st.sampled_from("abcxyz"))
def test_a_letter_on_either_side_makes_another_word(word: str, letter: str) -> None:
    assert family(word) is not None
    assert family(f"{letter}{word}") in (None, family(f"{letter}{word}-1"))
    assert family(f"{word}{letter}{letter}q") is None


def test_a_judge_is_named_with_the_systems_of_its_family() -> None:
    judges = ["openai/gpt-4o", "llamacpp/qwen2.5-coder-0.5b", "scripted/judge"]
    systems = ["gpt-4", "claude-3", "gpt-4", None, "GPT-3.5", "baseline", "Qwen-72B"]
    assert self_preference(judges, systems) == [
        ("openai/gpt-4o", "gpt-4", "openai"),
        ("openai/gpt-4o", "GPT-3.5", "openai"),
        ("llamacpp/qwen2.5-coder-0.5b", "Qwen-72B", "qwen"),
    ]


def test_unknown_names_are_never_taken_for_one_family() -> None:
    assert self_preference(["scripted/judge", "my-model"], ["my-model", "other"]) == []


def test_the_warning_names_judge_systems_and_family() -> None:
    pairs = self_preference(["openai/gpt-4o", "qwen3"], ["gpt-4", "gpt-3.5", "qwen2"])
    warning = self_preference_warning(pairs)
    assert warning is not None
    assert warning.startswith(
        "openai/gpt-4o judges gpt-4, gpt-3.5 of its own family, openai; qwen3 judges qwen2 of its own family, qwen: "
    )
    assert self_preference_warning([]) is None
