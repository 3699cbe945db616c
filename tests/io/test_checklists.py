import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bineval.errors import ConfigError, DataError
from bineval.io.checklists import dump_checklist, load_checklist, parse_checklist, save_checklist
from bineval.types import Checklist, Dimension, OverSentences, Question, Unit

FULL = """\
name: summary-quality
task: |
  Summarize the article.
  Use three sentences.
scale: [0, 10]
threshold: 0.4
language: de
dimensions:
  consistency:
    scale: [1, 5]
    description: Says only what the article says.
    questions:
      - id: con-names
        text: Are all names used as in the article?
        violation: The summary names the wrong minister.
        requirement: Names must be right.
        weight: 2
        threshold: 0.7
        source: generated
      - text: Are all numbers those of the article?
        may_not_apply: true
        per: output
  fluency:
    questions:
      - text: Is the sentence grammatical?
        per: sentence
        over_sentences: mean
      - text: Is the sentence short?
        per: sentence
        over_sentences: min
provenance:
  model: openai/some-model
  rounds: 2
"""


def error(text: str) -> DataError:
    with pytest.raises(DataError) as caught:
        parse_checklist(text, source="c.yaml")
    assert str(caught.value).startswith("c.yaml")
    return caught.value


def questions(*lines: str) -> str:
    """A checklist whose questions begin in line 4."""
    return "\n".join(["name: n", "dimensions:", "  clarity:", "    questions:", *(f"      {line}" for line in lines)])


def test_a_full_file_is_read() -> None:
    assert parse_checklist(FULL) == Checklist(
        name="summary-quality",
        task="Summarize the article.\nUse three sentences.\n",
        scale=(0.0, 10.0),
        threshold=0.4,
        language="de",
        dimensions={
            "consistency": Dimension(scale=(1.0, 5.0), description="Says only what the article says."),
            "fluency": Dimension(),
        },
        questions=(
            Question(
                id="con-names",
                text="Are all names used as in the article?",
                dimension="consistency",
                weight=2.0,
                violation="The summary names the wrong minister.",
                requirement="Names must be right.",
                threshold=0.7,
                source="generated",
            ),
            Question(
                id="con-2", text="Are all numbers those of the article?", dimension="consistency", may_not_apply=True
            ),
            Question(
                id="flu-1",
                text="Is the sentence grammatical?",
                dimension="fluency",
                per="sentence",
                over_sentences="mean",
            ),
            Question(id="flu-2", text="Is the sentence short?", dimension="fluency", per="sentence"),
        ),
        provenance={"model": "openai/some-model", "rounds": 2},
    )


def test_a_full_file_is_written_as_a_person_would_without_what_is_usual() -> None:
    written = FULL.replace("        per: output\n", "").replace("        over_sentences: min\n", "")
    for made, text in (("con-2", "Are all numbers"), ("flu-1", "Is the sentence gr"), ("flu-2", "Is the sentence sh")):
        written = written.replace(f"      - text: {text}", f"      - id: {made}\n        text: {text}")
    assert dump_checklist(parse_checklist(FULL)) == written


def test_norwegian_is_a_language_and_no_truth_value() -> None:
    assert parse_checklist(questions("- text: Clear?") + "\nlanguage: no").language == "no"


def test_without_a_name_a_file_is_called_as_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "support.v2.yaml"
    path.write_text(questions("- text: Clear?").removeprefix("name: n\n"), encoding="utf-8")
    assert load_checklist(path).name == "support"
    found = error(questions("- text: Clear?").removeprefix("name: n\n"))
    assert (found.field, found.problem) == ("name", "is required")


def test_json_is_read_too(tmp_path: Path) -> None:
    value = {
        "name": "j/n",
        "dimensions": {"clarity": {"questions": [{"text": 'A "quoted" \\ 😀 word?', "weight": 1e-05}]}},
    }
    for indent in (None, 2, "\t"):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(value, indent=indent).replace("j/n", "j\\/n"), encoding="utf-8")
        checklist = load_checklist(str(path))
        assert checklist.name == "j/n"
        assert checklist.questions == (
            Question(id="cla-1", text='A "quoted" \\ 😀 word?', dimension="clarity", weight=1e-05),
        )


def test_text_that_looks_like_another_type_stays_as_written() -> None:
    text = questions("- {id: no, text: yes, violation: 007, source: 2026-01-01}", "- {id: 1.50, text: on}")
    first, second = parse_checklist(text.replace("name: n", "name: 12").replace("clarity", "off")).questions
    assert (first.id, first.text, first.violation, first.source) == ("no", "yes", "007", "2026-01-01")
    assert (second.id, second.text, second.dimension) == ("1.50", "on", "off")


def test_null_is_a_key_left_out() -> None:
    assert parse_checklist(questions("- {id: ~, text: Clear?, violation: null}")).questions[0] == Question(
        id="cla-1", text="Clear?", dimension="clarity"
    )


def test_made_ids_never_meet_given_ones() -> None:
    text = """\
name: n
dimensions:
  consistency:
    questions: [{text: a?}, {text: b?, id: con-3}]
  conciseness:
    questions: [{text: c?}, {text: d?}]
  "!":
    questions: [{text: e?}]
"""
    assert [question.id for question in parse_checklist(text).questions] == ["con-1", "con-3", "con-4", "con-5", "q-1"]


def test_a_dimension_may_be_without_questions() -> None:
    checklist = parse_checklist(questions("- text: Clear?") + "\n  empty: {}\n")
    assert checklist.by_dimension()["empty"] == []


@pytest.mark.parametrize(
    ("text", "line", "field", "words"),
    [
        (
            questions("- text: Clear?", "  wieght: 2"),
            6,
            "dimensions.clarity.questions[0].wieght",
            "did you mean weight?",
        ),
        (questions("- text: Clear?", "  violation: x", "  weight: -1"), 7, "…weight", "signed rubric"),
        (questions("- text: Clear?", "  weight: 0"), 6, "…weight", "positive"),
        (questions("- text: Clear?", "  weight: .inf"), 6, "…weight", "finite"),
        (questions("- text: Clear?", "  weight: .nan"), 6, "…weight", "finite"),
        (questions("- text: Clear?", "  weight: heavy"), 6, "…weight", "must be a number"),
        (questions("- text: Clear?", "  weight: '2'"), 6, "…weight", "must be a number"),
        (questions("- text: Clear?", "  per: outptu"), 6, "…per", "did you mean output?"),
        (questions("- text: Clear?", "  may_not_apply: maybe"), 6, "…may_not_apply", "true or false"),
        (questions("- text: Clear?", "- id: a"), 6, "…[1].text", "is required"),
        (questions("- text: ' '"), 5, "…text", "must not be empty"),
        (questions("- text:"), 5, "…text", "must be text"),
        (questions("- text: [a]"), 5, "…text", "must be text"),
        (questions("- Clear?"), 5, "…questions[0]", "keys with values"),
        (questions("- {text: a?, id: x}", "- text: b?", "  id: x"), 7, "…[1].id", "already used in line 5"),
        (questions("- text: Clear?") + "\n  Overall: {}", 6, "dimensions.Overall", "no dimension may be named"),
        (questions("- text: Clear?") + "\n  '': {}", 6, "dimensions.", "must not be empty"),
        (questions("- text: Clear?") + "\n  other:", 6, "dimensions.other", "keys with values"),
        (questions("- text: Clear?") + "\n    scale: [5, 1]", 6, "dimensions.clarity.scale", "a < b"),
        (questions("- text: Clear?") + "\n    scale: [1]", 6, "dimensions.clarity.scale", "two numbers"),
        (questions("- text: Clear?") + "\nscale: 5", 6, "scale", "must be a list"),
        (questions("- text: Clear?", "  per: [output]"), 6, "…per", "must be text"),
        (questions("- text: Clear?", "  over_sentences: min"), 6, "…over_sentences", "goes with 'per: sentence' only"),
        (
            questions("- text: Clear?", "  over_sentences: mean", "  per: output"),
            6,
            "…[0].over_sentences",
            "goes with 'per: sentence' only",
        ),
        (
            questions("- {text: Clear?, per: sentence,", "   over_sentences: maen}"),
            6,
            "…over_sentences",
            "unknown way 'maen'; did you mean mean?",
        ),
        (questions("- text: Clear?", "  threshold: 1"), 6, "…threshold", "between 0 and 1"),
        (questions("- text: Clear?", "  threshold: half"), 6, "…threshold", "must be a number"),
        (questions("- text: Clear?") + "\nthreshold: 0", 6, "threshold", "the answer is yes above it"),
        (questions("- text: Clear?") + "\nlanguage: ' '", 6, "language", "must not be empty"),
        (questions("- text: Clear?") + "\nlanguag: en", 6, "languag", "did you mean language?"),
        (questions("- text: Clear?") + "\nname: again", 6, "name", "stands twice, first in line 1"),
        (questions("- text: a?", "  text: b?"), 6, "…text", "stands twice, first in line 5"),
        ("name: n", 1, "dimensions", "is required"),
        ("name: n\ndimensions: {a: {questions: []}}", 2, "dimensions", "no question"),
        ("- a\n- b", 1, None, "keys with values"),
        ("# nothing\n", None, None, "is empty"),
        ("name: n\ndimensions: [a\n", 3, None, "not YAML"),
        ("name: n\n\tdimensions: 1", 2, None, "not YAML"),
        ("name: n\n---\nname: m", 2, None, "not YAML"),
        ("name: n\ntask: a\x07b", 2, None, "character"),
        ("name: n\ntask: a\ud800b", 2, None, "character"),
        ("name: n\ntask: &t x\nscale: *t", 3, "scale", "alias"),
        ("name: n\ntask: !!python/name:os.system x", 2, "task", "tag"),
        ("name: n\nscale: !!set {a}", 2, "scale", "tag"),
        ("name: n\nscale: [!!int five]", 2, "scale[0]", "five"),
        ("name: n\n? [a]\n: b", 2, None, "a key must be plain text"),
        ("name: n\nprovenance: " + "[" * 600 + "]" * 600, None, None, "nested too deeply"),
        ("name: n\nprovenance: " + "[" * 5000, 2, None, "not YAML"),
    ],
)
def test_an_error_names_line_and_field(text: str, line: int | None, field: str | None, words: str) -> None:
    found = error(text)
    assert words in found.problem
    assert found.line == line
    if field is None or not field.startswith("…"):
        assert found.field == field
    else:
        assert found.field is not None
        assert found.field.endswith(field.removeprefix("…"))


def test_several_faults_are_counted_and_the_first_in_the_file_is_told() -> None:
    found = error("nmae: n\n" + questions("- text: Clear?", "  weight: -1", "  foo: 1").removeprefix("name: n\n"))
    assert found.line == 1
    assert "did you mean name?" in found.problem
    assert "and 3 more problems" in found.problem


def test_braces_in_what_a_person_wrote_do_not_disturb_the_message() -> None:
    assert "unknown unit '{x}'" in error(questions("- text: Clear?", "  per: '{x}'")).problem


def test_a_file_that_is_not_utf8_or_absent_is_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"name: n\ntask: caf\xe9\n")
    with pytest.raises(DataError, match=rf"{path}:2: byte 0xe9"):
        load_checklist(path)
    with pytest.raises(DataError, match="No such file"):
        load_checklist(tmp_path / "absent.yaml")


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert load_checklist(path) == parse_checklist(FULL)


# Writing


def test_long_text_is_a_block_and_unicode_is_kept() -> None:
    long = (
        "Does the reply: (a) greet the customer, (b) answer each question in the customer's mail, (c) say 'grüezi' 😀?"
    )
    text = dump_checklist(
        Checklist(
            name="n",
            questions=(
                Question(id="a", text=long, dimension="d"),
                Question(id="b", text="Is it 'fine' 😀?\n- really?", dimension="d"),
            ),
            dimensions={"d": Dimension()},
        )
    )
    assert f"        text: |-\n          {long}\n" in text
    assert "        text: |-\n          Is it 'fine' 😀?\n          - really?\n" in text


def test_what_yaml_cannot_hold_is_replaced_when_written() -> None:
    checklist = Checklist(
        name="n", questions=(Question(id="a", text="x\ud800\0?", dimension="d"),), dimensions={"d": Dimension()}
    )
    assert parse_checklist(dump_checklist(checklist)).questions[0].text == "x\ufffd\ufffd?"


def test_a_saved_checklist_is_loaded_back(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    save_checklist(parse_checklist(FULL), path)
    assert load_checklist(path) == parse_checklist(FULL)
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.yaml"]


def test_a_folder_that_does_not_exist_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file or directory"):
        save_checklist(parse_checklist(FULL), tmp_path / "absent" / "c.yaml")


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
tricky = st.sampled_from(
    ["yes", "null", "~", "1e3", "007", "2026-01-01", "=", "<<", "- a", "a: b", "#", " x ", "\n x\n\n", "x\x85y\r", "\t"]
)
texts = st.text(characters) | tricky | st.text(st.sampled_from(" \n\t-:#'\"|>a\u2028é😀"), max_size=150)
nonblank = texts.filter(lambda text: bool(text.strip()))
numbers = st.floats(allow_nan=False, allow_infinity=False)
thresholds = st.floats(0, 1, exclude_min=True, exclude_max=True)
scales = st.none() | st.tuples(numbers, numbers).filter(lambda scale: scale[0] < scale[1])
provenances = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.integers() | numbers | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)


@st.composite
def checklists(draw: st.DrawFn) -> Checklist:
    names = draw(st.lists(nonblank.filter(lambda n: n.casefold() != "overall"), min_size=1, max_size=3, unique=True))
    ids = draw(st.lists(nonblank, min_size=1, max_size=5, unique=True))
    places = sorted(draw(st.lists(st.sampled_from(range(len(names))), min_size=len(ids), max_size=len(ids))))
    optional = st.none() | texts
    per = draw(st.sampled_from(get_args(Unit)))
    return Checklist(
        name=draw(nonblank),
        task=draw(optional),
        scale=draw(scales),
        threshold=draw(thresholds),
        language=draw(nonblank),
        dimensions={name: Dimension(scale=draw(scales), description=draw(optional)) for name in names},
        questions=tuple(
            Question(
                id=made,
                text=draw(nonblank),
                dimension=names[place],
                weight=draw(st.floats(min_value=0, exclude_min=True, allow_infinity=False)),
                violation=draw(optional),
                requirement=draw(optional),
                may_not_apply=draw(st.booleans()),
                per=per,
                over_sentences=draw(st.sampled_from(get_args(OverSentences))) if per == "sentence" else "min",
                threshold=draw(st.none() | thresholds),
                source=draw(optional),
            )
            for made, place in zip(ids, places, strict=True)
        ),
        provenance=draw(provenances),
    )


@given(checklist=checklists())
def test_what_is_written_is_read_back(checklist: Checklist) -> None:
    assert parse_checklist(dump_checklist(checklist)) == checklist


def test_a_text_with_an_unquoted_colon_is_told_to_be_quoted() -> None:
    text = "name: a\ndimensions:\n  d:\n    questions:\n      - text: Is it: fine?\n"
    with pytest.raises(DataError, match=r"<checklist>:5: .*needs quotes around it"):
        parse_checklist(text)
