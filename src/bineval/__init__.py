"""Evaluate text by asking small questions whose answer is yes or no.

The main job, one line a step:

    checklist = bineval.generate(task, model="openai/…")
    run = bineval.evaluate("logs.csv", checklist, judge="openai/…")
    rows = bineval.summarize(run)

Names are imported when they are first used, so that `import bineval` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bineval.version import __version__

if TYPE_CHECKING:
    from bineval.generation.decompose import decompose as generate
    from bineval.generation.drafting import GenerateSettings
    from bineval.generation.lint import lint
    from bineval.io.checklists import load_checklist, save_checklist
    from bineval.io.examples import examples_from, read_examples
    from bineval.judging.chat import ChatJudge, ChatSettings
    from bineval.judging.runs import Run
    from bineval.judging.summary import summarize
    from bineval.methods.binary import RunOptions, evaluate
    from bineval.models.budget import Budget
    from bineval.models.catalog import ModelOptions, open_model
    from bineval.models.limits import Limits
    from bineval.models.scripted import Scripted
    from bineval.models.stack import CallPolicy
    from bineval.scoring import score_rows
    from bineval.store.database import Store
    from bineval.types import Checklist, Dimension, Example, Price, Question, Verdict

# The module of each public name; after a colon, what the name is called there.
_HOMES = {
    "Budget": "bineval.models.budget",
    "CallPolicy": "bineval.models.stack",
    "ChatJudge": "bineval.judging.chat",
    "ChatSettings": "bineval.judging.chat",
    "Checklist": "bineval.types",
    "Dimension": "bineval.types",
    "Example": "bineval.types",
    "Limits": "bineval.models.limits",
    "GenerateSettings": "bineval.generation.drafting",
    "ModelOptions": "bineval.models.catalog",
    "Price": "bineval.types",
    "Question": "bineval.types",
    "Run": "bineval.judging.runs",
    "RunOptions": "bineval.methods.binary",
    "Scripted": "bineval.models.scripted",
    "Store": "bineval.store.database",
    "Verdict": "bineval.types",
    "evaluate": "bineval.methods.binary",
    "generate": "bineval.generation.decompose:decompose",
    "examples_from": "bineval.io.examples",
    "lint": "bineval.generation.lint",
    "load_checklist": "bineval.io.checklists",
    "open_model": "bineval.models.catalog",
    "read_examples": "bineval.io.examples",
    "save_checklist": "bineval.io.checklists",
    "score_rows": "bineval.scoring",
    "summarize": "bineval.judging.summary",
}

__all__ = [
    "Budget",
    "CallPolicy",
    "ChatJudge",
    "ChatSettings",
    "Checklist",
    "Dimension",
    "Example",
    "GenerateSettings",
    "Limits",
    "ModelOptions",
    "Price",
    "Question",
    "Run",
    "RunOptions",
    "Scripted",
    "Store",
    "Verdict",
    "__version__",
    "evaluate",
    "examples_from",
    "generate",
    "lint",
    "load_checklist",
    "open_model",
    "read_examples",
    "save_checklist",
    "score_rows",
    "summarize",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public object
    if name not in _HOMES:
        raise AttributeError(f"module 'bineval' has no attribute {name!r}")
    module_name, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module_name), attribute or name)
