"""The `bineval` command: finds the sub-command, and turns errors into messages and exit codes."""

import importlib
import os
import sys

import click

from bineval.cli.output import say
from bineval.errors import BinevalError, BudgetExceeded
from bineval.version import __version__

EXIT_ERROR, EXIT_BUDGET, EXIT_INTERRUPTED = 1, 5, 130

_COMMANDS = {
    "demo": "bineval.cli.demo:demo",
    "export": "bineval.cli.export:export",
    "generate": "bineval.cli.generate:generate",
    "lint": "bineval.cli.lint:lint",
    "models": "bineval.cli.models:models",
    "run": "bineval.cli.run:run",
    "show": "bineval.cli.show:show",
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
    try:
        code = cli.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        say("interrupted")
        # Threads may still wait for replies; everything finished is saved, so there is nothing to wait for.
        os._exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except BudgetExceeded as error:
        code = _fail("budget reached", error, EXIT_BUDGET)
    except BinevalError as error:
        code = _fail("error", error, EXIT_ERROR)
    except BrokenPipeError:
        # The reader of our output went away (`bineval show NAME | head`): that is no error of ours.
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _fail(what: str, error: BinevalError, code: int) -> int:
    say(f"{what}: {error}")
    for note in getattr(error, "__notes__", []):
        say(note)
    return code
