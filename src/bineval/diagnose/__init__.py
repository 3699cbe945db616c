"""Numbers about the questions of a run, from its saved verdicts alone, and what they mean in words."""

from bineval.diagnose.dimensions import DimensionDiagnosis
from bineval.diagnose.facts import QuestionFacts, question_facts
from bineval.diagnose.findings import Finding
from bineval.diagnose.pairs import PhiMatrix, QuestionPair
from bineval.diagnose.questions import QuestionDiagnosis

__all__ = [
    "DimensionDiagnosis",
    "Finding",
    "PhiMatrix",
    "QuestionDiagnosis",
    "QuestionFacts",
    "QuestionPair",
    "question_facts",
]
