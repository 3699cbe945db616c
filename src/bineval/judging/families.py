"""Families of models by name, and the warning about judges that judge their own family.

Judges rate text of their own model higher than people do (Panickssery et al. 2024, arXiv 2404.13076).
"""

import re
from collections.abc import Iterable, Sequence

# Words of model names, as regular expressions. Of two that begin at the same place the first counts, so that GPT-J is
# not OpenAI's; of two places the first, so that "deepseek-r1-distill-qwen-7b" is DeepSeek's.
_WORDS = {
    "eleutherai": ("gpt-j", "gpt-?neox?", "pythia"),
    "nomic": ("gpt4all",),
    "openai": ("gpt", "chatgpt", r"o[134](?!\d)", "davinci", "codex"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma", "codegemma", "medgemma", "paligemma", "palm", "bard"),
    "meta": ("llama", "codellama"),
    "mistral": ("mistral", "mixtral", "codestral", "devstral", "ministral", "magistral", "pixtral"),
    "qwen": ("qwen", "qwq", "qvq"),
    "deepseek": ("deepseek",),
    "microsoft": ("phi",),
    # The word is in many names of systems.
    "cohere": ("^command$", r"command[-_](?:r|a|light|nightly|xlarge)", "c4ai"),
    "xai": ("grok",),
    "huggingface": ("smollm", "smolvlm"),
    "zhipu": ("glm", "chatglm"),
    "moonshot": ("kimi", "moonshot"),
    "ai2": ("olmo", "tulu"),
    "ibm": ("granite",),
    "nvidia": ("nemotron",),
    "ai21": ("jamba", "jurassic"),
    "tii": ("falcon",),
    "01ai": ("yi",),
    "baidu": ("ernie",),
    "tencent": ("hunyuan",),
    "minimax": ("minimax",),
    "shanghai-ai-lab": ("internlm",),
    "stability": ("stablelm",),
}
# Whole words: a version may follow ("qwen2.5", "o3"), letters may not ("philosophy", "grokking").
_NAMES = re.compile(
    "|".join(f"(?P<f{i}>(?<![a-z0-9])(?:{'|'.join(words)})(?![a-z]))" for i, words in enumerate(_WORDS.values())),
)


def family(name: str) -> str | None:
    """The family of a model or system, from the last part of its name ("provider/family-size"); None when unknown."""
    model = name.rstrip("/").rpartition("/")[2].casefold()
    found = _NAMES.search(model)
    return None if found is None or found.lastgroup is None else list(_WORDS)[int(found.lastgroup[1:])]


def self_preference(judge_names: Iterable[str], systems: Iterable[str | None]) -> list[tuple[str, str, str]]:
    """Returns each judge with each judged system of its own family.

    Args:
        judge_names: Names of the judging models.
        systems: Names of the systems whose outputs are judged; None for an output that names none.

    Returns:
        `(judge, system, family)`, each pair once, in the order given.
    """
    named = [system for system in dict.fromkeys(systems) if system is not None]
    return [
        (judge, system, own)
        for judge in dict.fromkeys(judge_names)
        if (own := family(judge)) is not None
        for system in named
        if family(system) == own
    ]


def self_preference_warning(pairs: Sequence[tuple[str, str, str]]) -> str | None:
    """What to tell a person about the pairs of `self_preference`; None when there are none."""
    if not pairs:
        return None
    judged: dict[tuple[str, str], list[str]] = {}
    for judge, system, own in pairs:
        judged.setdefault((judge, own), []).append(system)
    lines = [
        f"{judge} judges {', '.join(systems)} of its own family, {own}" for (judge, own), systems in judged.items()
    ]
    return (
        f"{'; '.join(lines)}: judges tend to prefer text of their own family, so comparisons between systems may be "
        "off; judge with a model of another family, or with a panel of several"
    )
