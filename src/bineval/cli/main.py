"""The `bineval` command: finds the sub-command, and turns errors into messages and exit codes."""

import difflib
import importlib
import os
import sys

import click

from bineval.cli.output import escape_unencodable, say
from bineval.errors import BinevalError, BudgetExceeded
from bineval.version import __version__

EXIT_ERROR, EXIT_BUDGET, EXIT_INTERRUPTED = 1, 5, 130

_COMMANDS = {
    "align": "bineval.cli.align:align",
    "band": "bineval.cli.band:band",
    "bench": "bineval.cli.bench:bench",
    "calibrate": "bineval.cli.calibrate:calibrate",
    "demo": "bineval.cli.demo:demo",
    "diagnose": "bineval.cli.diagnose:diagnose",
    "export": "bineval.cli.export:export",
    "generate": "bineval.cli.generate:generate",
    "improve": "bineval.cli.improve:improve",
    "import-scores": "bineval.cli.import_scores:import_scores",
    "lint": "bineval.cli.lint:lint",
    "meta": "bineval.cli.meta:meta",
    "models": "bineval.cli.models:models",
    "run": "bineval.cli.run:run",
    "show": "bineval.cli.show:show",
    "weights": "bineval.cli.weights:weights",
}


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command is named or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module_name, _, attribute = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module_name), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and (near := difflib.get_close_matches(args[0], _COMMANDS)):
            ctx.fail(f"No such command {args[0]!r}; did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="bineval")
def cli() -> None:
    """Evaluate text by asking small questions whose answer is yes or no."""


def main() -> None:
    """Entry point; the only place that catches `BinevalError`.

    Exit codes: 0 ok, 1 error, 2 usage, 3 gate failed, 4 unanswered or unfinished, 5 budget reached, 130 interrupted.
    """
    escape_unencodable()
    try:
        code = cli.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        _say_with_notes("interrupted", error.__cause__ or error)
        # Threads may still wait for replies; everything finished is saved, so there is nothing to wait for.
        os._exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except BudgetExceeded as error:
        _say_with_notes(f"budget reached: {error}", error)
        code = EXIT_BUDGET
    except BinevalError as error:
        _say_with_notes(f"error: {error}", error)
        code = EXIT_ERROR
    sys.exit(code if isinstance(code, int) else 0)


def _say_with_notes(text: str, error: BaseException | None) -> None:
    say(text)
    for note in getattr(error, "__notes__", []):
        say(note)
