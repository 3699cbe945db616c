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
    from bineval.io.calibrations import load_calibration
    from bineval.io.checklists import load_checklist, save_checklist
    from bineval.io.examples import examples_from, read_examples
    from bineval.judging.cascade import CascadeSettings
    from bineval.judging.chat import ChatJudge, ChatSettings
    from bineval.judging.composite_plans import CascadePlan, PanelPlan
    from bineval.judging.decision import DecisionSettings
    from bineval.judging.job import RunOptions
    from bineval.judging.logprob import LogprobJudge, LogprobSettings
    from bineval.judging.panel import PanelSettings
    from bineval.judging.plans import ExplainSettings, JudgeOptions, SingleJudge
    from bineval.judging.runs import Run
    from bineval.judging.summary import summarize
    from bineval.metaeval.rows import MetaOptions
    from bineval.methods.calibrate import calibrate
    from bineval.methods.catalog import MethodOptions
    from bineval.methods.evaluate import evaluate
    from bineval.methods.meta import meta
    from bineval.methods.recorded import import_scores
    from bineval.models.budget import Budget
    from bineval.models.catalog import ModelOptions, open_model
    from bineval.models.limits import Limits
    from bineval.models.scripted import Scripted
    from bineval.models.stack import CallPolicy
    from bineval.optimize.align import Alignment, align
    from bineval.optimize.loop import LoopSettings
    from bineval.scoring import score_rows
    from bineval.store.database import Store
    from bineval.types import Checklist, Dimension, Example, Price, Question, Verdict

# The module of each public name; after a colon, what the name is called there.
_HOMES = {
    "Alignment": "bineval.optimize.align",
    "Budget": "bineval.models.budget",
    "CallPolicy": "bineval.models.stack",
    "CascadePlan": "bineval.judging.composite_plans",
    "CascadeSettings": "bineval.judging.cascade",
    "ChatJudge": "bineval.judging.chat",
    "ChatSettings": "bineval.judging.chat",
    "Checklist": "bineval.types",
    "DecisionSettings": "bineval.judging.decision",
    "Dimension": "bineval.types",
    "Example": "bineval.types",
    "ExplainSettings": "bineval.judging.plans",
    "GenerateSettings": "bineval.generation.drafting",
    "JudgeOptions": "bineval.judging.plans",
    "Limits": "bineval.models.limits",
    "LogprobJudge": "bineval.judging.logprob",
    "LogprobSettings": "bineval.judging.logprob",
    "LoopSettings": "bineval.optimize.loop",
    "MetaOptions": "bineval.metaeval.rows",
    "MethodOptions": "bineval.methods.catalog",
    "ModelOptions": "bineval.models.catalog",
    "PanelPlan": "bineval.judging.composite_plans",
    "PanelSettings": "bineval.judging.panel",
    "Price": "bineval.types",
    "Question": "bineval.types",
    "Run": "bineval.judging.runs",
    "RunOptions": "bineval.judging.job",
    "Scripted": "bineval.models.scripted",
    "SingleJudge": "bineval.judging.plans",
    "Store": "bineval.store.database",
    "Verdict": "bineval.types",
    "align": "bineval.optimize.align",
    "calibrate": "bineval.methods.calibrate",
    "evaluate": "bineval.methods.evaluate",
    "examples_from": "bineval.io.examples",
    "generate": "bineval.generation.decompose:decompose",
    "import_scores": "bineval.methods.recorded",
    "lint": "bineval.generation.lint",
    "load_calibration": "bineval.io.calibrations",
    "load_checklist": "bineval.io.checklists",
    "meta": "bineval.methods.meta",
    "open_model": "bineval.models.catalog",
    "read_examples": "bineval.io.examples",
    "save_checklist": "bineval.io.checklists",
    "score_rows": "bineval.scoring",
    "summarize": "bineval.judging.summary",
}

__all__ = [
    "Alignment",
    "Budget",
    "CallPolicy",
    "CascadePlan",
    "CascadeSettings",
    "ChatJudge",
    "ChatSettings",
    "Checklist",
    "DecisionSettings",
    "Dimension",
    "Example",
    "ExplainSettings",
    "GenerateSettings",
    "JudgeOptions",
    "Limits",
    "LogprobJudge",
    "LogprobSettings",
    "LoopSettings",
    "MetaOptions",
    "MethodOptions",
    "ModelOptions",
    "PanelPlan",
    "PanelSettings",
    "Price",
    "Question",
    "Run",
    "RunOptions",
    "Scripted",
    "SingleJudge",
    "Store",
    "Verdict",
    "__version__",
    "align",
    "calibrate",
    "evaluate",
    "examples_from",
    "generate",
    "import_scores",
    "lint",
    "load_calibration",
    "load_checklist",
    "meta",
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
