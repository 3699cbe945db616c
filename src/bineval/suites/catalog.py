"""The suites by name, each with its protocol (levels as the papers have them, never guessed from the data)."""

from bineval.errors import UnknownNameError
from bineval.suites.base import Suite

IFBENCH = "ifbench"
"""The suite whose outputs a program verifies; it has no human labels, and so no protocol here."""

_QAGS_NOTE = "its rows hold no reference: metrics compare the summary with the article"

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="summeval",
            title="SummEval",
            level="group",
            checklist_file="summeval.yaml",
            against="reference",
            hub="mteb/summeval",
        ),
        Suite(
            name="topical-chat",
            title="Topical-Chat",
            level="pooled",
            checklist_file="topical-chat.yaml",
            against="reference",
            reference_system="Original Ground Truth",
            notes=(
                "metrics compare with the turn that was really said in the conversation, and leave its own rows out",
                "published rows are as the paper prints them; tau above rho, as in several of them, hardly happens: "
                "those columns look like Pearson's r and Spearman's rho",
            ),
        ),
        Suite(
            name="qags-cnn",
            title="QAGS-CNN",
            level="pooled",
            checklist_file="qags.yaml",
            against="input",
            notes=(_QAGS_NOTE,),
        ),
        Suite(
            name="qags-xsum",
            title="QAGS-XSum",
            level="pooled",
            checklist_file="qags.yaml",
            against="input",
            notes=(_QAGS_NOTE,),
        ),
        Suite(
            name="hanna",
            title="HANNA",
            level="group",
            checklist_file="hanna.yaml",
            against="reference",
            reference_system="Human",
            left_out=("Human",),
            notes=("stories by people are left out of the correlations and serve metrics as references",),
        ),
    )
}


def find_suite(name: str) -> Suite:
    """The suite called `name`.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in SUITES:
        raise UnknownNameError("suite", name, [*SUITES, IFBENCH])
    return SUITES[name]
