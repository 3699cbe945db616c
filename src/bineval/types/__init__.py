"""The words of bineval as frozen types: examples, checklists, verdicts and scores, calls."""

from bineval.types.calls import FinishReason, Message, Price, Reply, Request, Role, TokenLogprob, Usage
from bineval.types.checklists import OVERALL, Checklist, Dimension, Question, Scale, checklist_from_json
from bineval.types.examples import Example
from bineval.types.verdicts import Answer, Estimate, Evidence, Reason, Score, Verdict, VerdictRow

__all__ = [
    "OVERALL",
    "Answer",
    "Checklist",
    "Dimension",
    "Estimate",
    "Evidence",
    "Example",
    "FinishReason",
    "Message",
    "Price",
    "Question",
    "Reason",
    "Reply",
    "Request",
    "Role",
    "Scale",
    "Score",
    "TokenLogprob",
    "Usage",
    "Verdict",
    "VerdictRow",
    "checklist_from_json",
]
