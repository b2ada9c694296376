"""The command line: a file for each command."""

import sys
from typing import Annotated

import typer

from any2vec.cli.commands import Commands
from any2vec.cli.errors import UsageError, fail, usage
from any2vec.cli.help import ALL
from any2vec.cli.standard_streams import ignore_errors, name_errors, one_line_warnings
from any2vec.errors import Any2VecError
from any2vec.signals import INTERRUPTED, exit_now, quit_at_once, raise_interrupts
from any2vec.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="any2vec",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h", ALL]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"any2vec {__version__}")
        raise typer.Exit


@app.callback()
def _any2vec(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train embeddings of anything that comes in sequences."""
    raise_interrupts()


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and status 1, or 2 if it does not parse."""
    name_errors()
    ignore_errors()
    one_line_warnings()
    try:
        try:
            status = app(standalone_mode=False)
        finally:
            if sys.stdout:
                sys.stdout.flush()
        if status == INTERRUPTED:
            exit_now(status)
        sys.exit(status)
    except Any2VecError as error:
        fail(error)
    except UsageError as error:
        if not error.format_message():  # no arguments: the help was shown
            sys.exit(error.exit_code)
        fail(Any2VecError(usage(error)), error.exit_code)
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        exit_now(INTERRUPTED)
    finally:
        quit_at_once()
