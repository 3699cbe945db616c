"""`bineval lint`: checks a checklist for questions that a judge cannot answer well."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bineval.cli.options import json_option
from bineval.cli.output import emit, emit_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bineval.generation.lint import Finding
    from bineval.types import Checklist

EXIT_FOUND = 1


@click.command()
@click.argument("checklist", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--strict", is_flag=True, help="Let warnings count as errors.")
@json_option
def lint(checklist: Path, strict: bool, as_json: bool) -> None:
    """Check the questions of CHECKLIST; no model is asked.

    Exit codes: 0 nothing found that counts, 1 an error (with --strict also: a warning).
    """
    from bineval.generation.lint import lint as lint_checklist
    from bineval.io.checklists import load_checklist

    loaded = load_checklist(checklist)
    findings = lint_checklist(loaded)
    if as_json:
        emit_json([finding.to_json() for finding in findings])
    else:
        emit("".join(f"{line}\n" for line in finding_lines(loaded, findings)))
    n_errors = sum(finding.severity == "error" for finding in findings)
    n_warnings = len(findings) - n_errors
    say(f"{len(loaded.questions)} questions, {n_errors} errors, {n_warnings} warnings")
    if n_errors or (strict and n_warnings):
        click.get_current_context().exit(EXIT_FOUND)


def finding_lines(checklist: "Checklist", findings: "Sequence[Finding]") -> list[str]:
    """One line a finding: where, how grave, which rule, what; below it the question's text."""
    texts = {question.id: question.text for question in checklist.questions}
    lines = []
    for finding in findings:
        place = finding.question_id or finding.dimension or checklist.name
        lines.append(f"{place}: {finding.severity}: {finding.rule}: {finding.message}")
        if finding.question_id is not None:
            lines.append(f"    {texts[finding.question_id]}")
    return lines
