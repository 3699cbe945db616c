from pathlib import Path

import pytest

from bineval.errors import TemplateError, UnknownNameError
from bineval.templates import Prompt, builtin_prompts, load_prompt
from bineval.types import Message

HEAD = '+++\nsource = "mine"\nreply = "text"\n+++\n'
NAMES = frozenset({"x", "y"})


def load(path: Path, text: str | bytes, *, required: frozenset[str] = frozenset()) -> Prompt:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_prompt("judge_one", given=path, variables=NAMES, required=required)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own.md"


def test_a_file_has_a_source_a_kind_of_reply_and_sections(path: Path) -> None:
    prompt = load(path, f"{HEAD}## system\nBe $x.\n\n## user\n${{y}}!\n")
    assert (prompt.name, prompt.source, prompt.reply, prompt.variables) == ("judge_one", "mine", "text", NAMES)
    assert prompt.fill({"x": "brief", "y": "Hi", "z": "unused"}) == (
        Message(role="system", content="Be brief."),
        Message(role="user", content="Hi!"),
    )


def test_values_are_never_read_as_templates_and_braces_stay(path: Path) -> None:
    prompt = load(path, f'{HEAD}## user\n{{"a": {{}}}} $x costs $$5')
    assert prompt.fill({"x": "$y ${y} $$ {x} \\1 %s"})[0].content == '{"a": {}} $y ${y} $$ {x} \\1 %s costs $5'


def test_a_placeholder_without_a_value_is_named(path: Path) -> None:
    prompt = load(path, f"{HEAD}## user\n$x $y")
    with pytest.raises(TemplateError, match=r"prompt judge_one: no value for \$y"):
        prompt.fill({"x": "1"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## user\nHi", "must begin with TOML front matter"),
        ("hello\n" + HEAD + "## user\nHi", "must begin with TOML front matter"),
        ("+++\nsource = \n+++\n## user\nHi", "front matter: "),
        ('+++\nsource = "s"\n+++\n## user\nHi', "front matter needs"),
        ('+++\nsource = "s"\nreply = "xml"\n+++\n## user\nHi', "front matter needs"),
        ('+++\nreply = "text"\n+++\n## user\nHi', "front matter needs"),
        (HEAD + "Hi", "each once"),
        (HEAD + "Hi\n## user\nHo", "each once"),
        (HEAD + "## user\nHi\n## user\nHo", "each once"),
        (HEAD + "## rules\nBe kind.", "each once"),
        (HEAD + "## rules\nBe kind.\n## user\nHi", "a '## rules' section and one \\$rules in another go together"),
        (HEAD + "## rules\n\n## user\n$rules", "go together"),
        (HEAD + "## user\n$rules", "go together"),
        (HEAD + "## rules\nBe kind.\n## user\n$rules ${rules}", "go together"),
        (HEAD + "## user\nIt costs $5", r"a lone \$ must be written \$\$"),
        (HEAD + "## user\n$x $zz $qq", r"unknown variable \$qq, \$zz; available: \$x, \$y"),
        (HEAD.encode() + b"## user\n\xff", "cannot be read as a prompt"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_path(path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(TemplateError, match=rf"own\.md: .*{words}"):
        load(path, text)


RULED = f"{HEAD}## rules\n- It costs $5.\n- Be kind to $x.\n## system\nObey:\n$rules\nAnd $x.\n## user\n$y"


def test_rules_stand_where_they_are_named_and_are_no_template(path: Path) -> None:
    prompt = load(path, RULED)
    assert (prompt.rules, prompt.variables) == ("- It costs $5.\n- Be kind to $x.", NAMES)
    assert prompt.fill({"x": "1", "y": "2"})[0].content == "Obey:\n- It costs $5.\n- Be kind to $x.\nAnd 1."


def test_other_rules_make_another_prompt_that_can_be_given_in_place_of_a_file(path: Path) -> None:
    prompt = load(path, RULED)
    other = prompt.with_rules("\nBe brief.\n")
    assert (other.rules, other.name) == ("Be brief.", "judge_one")
    assert other.text == RULED.replace(str(prompt.rules), "Be brief.")
    assert other.hash != prompt.hash
    assert other.with_rules("Be kind.").text == prompt.with_rules("Be kind.").text, "what it was leaves no trace"
    assert load_prompt("judge_one", given=other, variables=NAMES) is other
    assert load(path, other.text).hash == other.hash
    with pytest.raises(TemplateError, match=r"prompt judge_one: unknown variable \$y"):
        load_prompt("judge_one", given=other, variables=frozenset({"x"}))


@pytest.mark.parametrize("rules", ["", " \n", "Be kind.\n## user\nHi"])
def test_rules_that_would_break_the_file_are_refused(path: Path, rules: str) -> None:
    with pytest.raises(TemplateError, match="rules must be text without a title"):
        load(path, RULED).with_rules(rules)


def test_a_prompt_without_rules_cannot_have_others(path: Path) -> None:
    with pytest.raises(TemplateError, match="has no '## rules' section"):
        load(path, f"{HEAD}## user\n$x").with_rules("Be kind.")


def test_a_file_that_lacks_a_required_variable_is_refused(path: Path) -> None:
    assert load(path, f"{HEAD}## user\n$x", required=frozenset({"x"})).variables == {"x"}
    with pytest.raises(TemplateError, match=r"own\.md: must use \$x, \$y"):
        load(path, f"{HEAD}## user\nHi", required=NAMES)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"none\.md: cannot be read as a prompt"):
        load_prompt("judge_one", given=tmp_path / "none.md", variables=NAMES)


def test_a_built_in_prompt_that_does_not_exist_comes_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean judge_one"):
        load_prompt("judge_on", variables=NAMES)
    assert builtin_prompts() == sorted(builtin_prompts())
    assert {"judge_one", "judge_several", "judge_again"} <= set(builtin_prompts())


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(path: Path) -> None:
    text = f"{HEAD}## user\nHi\nthere $x"
    plain = load(path, text)
    windows = load(path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert windows.fill({"x": "1"}) == plain.fill({"x": "1"})
    assert windows.hash == plain.hash


def test_the_hash_covers_the_whole_file(path: Path) -> None:
    hashes = {load(path, text).hash for text in (f"{HEAD}## user\nHi", f"{HEAD}## user\nHi ", f"{HEAD}## system\nHi")}
    assert len(hashes) == 3
