import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from bineval.cli.composition_tables import composition_json, print_composition
from bineval.judging.composition import Agreement, CascadeFacts, MemberPair, PanelFacts, QuestionSplit
from bineval.types import Usage

CASCADE = CascadeFacts(
    cheap="llamacpp/small",
    strong="openai/large",
    n_kept=90,
    n_escalated=10,
    n_audited=9,
    n_unreached=0,
    on_escalated=Agreement(n=8, n_equal=5),
    on_audited=Agreement(n=9, n_equal=9),
    cheap_usage=Usage(input_tokens=1000, output_tokens=100, calls=100, cost_usd=0.0),
    strong_usage=Usage(input_tokens=400, output_tokens=50, calls=19, cost_usd=0.0125),
)
PANEL = PanelFacts(
    judges=("a", "b"),
    n=40,
    n_ties=3,
    n_below_quorum=2,
    n_unreached=1,
    questions=(
        QuestionSplit(question_id="con-1", n=20, n_split=1),
        QuestionSplit(question_id="flu-1", n=18, n_split=9),
    ),
    pairs=(MemberPair(first="a", second="b", agreement=Agreement(n=38, n_equal=28)),),
)
NOTHING = CascadeFacts(
    cheap="a",
    strong="b",
    n_kept=0,
    n_escalated=0,
    n_audited=0,
    n_unreached=4,
    on_escalated=Agreement(n=0, n_equal=0),
    on_audited=Agreement(n=0, n_equal=0),
    cheap_usage=Usage(),
    strong_usage=Usage(cost_usd=None),
)


def printed(facts: CascadeFacts | PanelFacts) -> str:
    stream = io.StringIO()
    print_composition(facts, Console(file=stream, width=120, highlight=False))
    return stream.getvalue()


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_cascade_is_shown_with_shares_agreement_and_cost_of_both_judges() -> None:
    text = printed(CASCADE)
    assert text.startswith("cascade: cheap llamacpp/small, strong openai/large\n")
    assert ["cheap", "90", "0.900", "100", "1000", "100", "$0.0000"] in cells(text)
    assert ["strong", "10", "0.100", "19", "400", "50", "$0.0125"] in cells(text)
    assert "agreement where the strong judge took over: 5 of 8 (0.625)\n" in text
    assert "agreement on the audited answers of the cheap judge: 9 of 9 (1.000)\n" in text
    assert "missing" not in text


def test_what_is_undefined_or_unknown_is_no_number() -> None:
    text = printed(NOTHING)
    assert ["cheap", "0", "–", "0", "0", "0", "$0.0000"] in cells(text)
    assert ["strong", "0", "–", "0", "0", "0", "unknown"] in cells(text)
    assert "took over: 0 of 0 (–)\n" in text
    assert "audited" not in text
    assert "missing because a judge could not be reached: 4; the same command asks again\n" in text


def test_a_panel_is_shown_with_failures_agreement_and_the_questions_it_disagrees_about_most() -> None:
    text = printed(PANEL)
    assert text.startswith("panel of 2 judges, 40 verdicts\n")
    assert "without an answer because of a tie: 3\n" in text
    assert "without an answer because too few judges had one (quorum): 2\n" in text
    assert "reached: 1;" in text
    assert ["a", "b", "28", "38", "0.737"] in cells(text)
    assert [line for line in cells(text) if line and line[0] in ("con-1", "flu-1")] == [
        ["flu-1", "9", "18", "0.500"],
        ["con-1", "1", "20", "0.050"],
    ]


def test_of_many_questions_the_ten_worst_are_shown() -> None:
    questions = tuple(QuestionSplit(question_id=f"q{i}", n=20, n_split=i) for i in range(12))
    text = printed(replace(PANEL, questions=questions))
    assert "(10 of 12)" in text
    assert "q11" in text
    assert ["q1", "1", "20", "0.050"] not in cells(text)


@pytest.mark.parametrize("name", ["\x1b[2Jevil", "[bold]loud[/bold]", "[/]"])
def test_names_cannot_command_the_terminal(name: str) -> None:
    facts = PanelFacts(
        judges=(name, "b"),
        n=1,
        n_ties=0,
        n_below_quorum=0,
        n_unreached=0,
        questions=(QuestionSplit(question_id=name, n=1, n_split=0),),
        pairs=(MemberPair(first=name, second="b", agreement=Agreement(n=1, n_equal=1)),),
    )
    text = printed(facts)
    assert "\x1b" not in text
    assert text.count(name.replace("\x1b", "\\x1b")) == 2


def test_a_cascade_in_json_has_all_that_the_tables_show() -> None:
    value = json.loads(json.dumps(composition_json(CASCADE), allow_nan=False))
    assert value["kind"] == "cascade"
    assert (value["cheap"], value["n"], value["n_kept"], value["share_kept"], value["share_escalated"]) == (
        "llamacpp/small", 100, 90, 0.9, 0.1,
    )  # fmt: skip
    assert value["on_escalated"] == {"n": 8, "n_equal": 5, "share": 0.625}
    assert value["strong_usage"]["cost_usd"] == 0.0125
    assert composition_json(NOTHING)["share_kept"] is None
    assert composition_json(NOTHING)["on_audited"] == {"n": 0, "n_equal": 0, "share": None}


def test_a_panel_in_json_has_all_that_the_tables_show() -> None:
    value = json.loads(json.dumps(composition_json(PANEL), allow_nan=False))
    assert (value["kind"], value["judges"], value["n_ties"]) == ("panel", ["a", "b"], 3)
    assert value["questions"][1] == {"question_id": "flu-1", "n": 18, "n_split": 9, "share": 0.5}
    assert value["pairs"] == [{"first": "a", "second": "b", "n": 38, "n_equal": 28, "share": 28 / 38}]
