"""The command line: a file for each command."""

import sys

import typer

from any2vec.cli import evaluate
from any2vec.cli.analogy import analogy
from any2vec.cli.cluster import fail
from any2vec.cli.demo import demo
from any2vec.cli.nodes import nodes, walks
from any2vec.cli.similar import similar
from any2vec.cli.words import words
from any2vec.errors import Any2VecError

__all__ = ["app", "main"]

app = typer.Typer(
    name="any2vec",
    help="Train embeddings of anything that comes in sequences.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (words, nodes, similar, analogy, walks, demo):
    app.command()(command)
app.add_typer(evaluate.app, name="evaluate")


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and status 1."""
    try:
        app()
    except Any2VecError as error:
        fail(error)
    except BrokenPipeError:  # the reader of our output has gone: nothing is left to tell it
        sys.stderr.close()
        sys.exit(1)
