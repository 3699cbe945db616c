"""The words of bineval as frozen types: examples, checklists, verdicts and scores, calls."""

from bineval.types.calls import FinishReason, Message, Predicate, Price, Reply, Request, Role, TokenLogprob, Usage
from bineval.types.checklists import (
    OVERALL,
    USUAL_LANGUAGE,
    USUAL_THRESHOLD,
    Asks,
    Checklist,
    Dimension,
    OverSentences,
    Question,
    Scale,
    Unit,
    check_scale,
    checklist_from_json,
)
from bineval.types.examples import Example
from bineval.types.verdicts import Answer, Estimate, Evidence, Reason, Score, Side, Verdict, VerdictRow

__all__ = [
    "OVERALL",
    "USUAL_LANGUAGE",
    "USUAL_THRESHOLD",
    "Answer",
    "Asks",
    "Checklist",
    "Dimension",
    "Estimate",
    "Evidence",
    "Example",
    "FinishReason",
    "Message",
    "OverSentences",
    "Predicate",
    "Price",
    "Question",
    "Reason",
    "Reply",
    "Request",
    "Role",
    "Scale",
    "Score",
    "Side",
    "TokenLogprob",
    "Unit",
    "Usage",
    "Verdict",
    "VerdictRow",
    "check_scale",
    "checklist_from_json",
]
