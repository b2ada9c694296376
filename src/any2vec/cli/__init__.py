"""The command line: a file for each command."""

import sys
from typing import Annotated

import typer

from any2vec.cli import evaluate
from any2vec.cli.analogy import analogy
from any2vec.cli.demo import demo
from any2vec.cli.errors import Commands, fail
from any2vec.cli.nodes import nodes, walks
from any2vec.cli.phrases import phrases
from any2vec.cli.similar import similar
from any2vec.cli.word2vec import word2vec
from any2vec.cli.words import words
from any2vec.errors import Any2VecError
from any2vec.signals import INTERRUPTED, quit_at_once, raise_interrupts
from any2vec.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(name="any2vec", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


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


for command in (words, phrases, nodes, similar, analogy, walks, demo):
    app.command()(command)
app.command(add_help_option=False, context_settings={"ignore_unknown_options": True})(word2vec)
app.add_typer(evaluate.app, name="evaluate", cls=Commands)


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and status 1."""
    try:
        app()
    except Any2VecError as error:
        fail(error)
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        quit_at_once()
