"""Reading graphs and labels for commands: what is to be known of how they were read is said on one line."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console

from any2vec.cli.errors import in_options
from any2vec.graph.readers import GraphWarning

__all__ = ["saying"]


@contextmanager
def saying(say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Say warnings of readers, in the words of the command line: by `say`, or on the standard error."""
    context = click.get_current_context(silent=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", GraphWarning)
        yield
    for warning in found:
        if issubclass(warning.category, GraphWarning):
            line = in_options(str(warning.message), context.command.params if context else [])
            (say or _print)(line)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _print(line: str) -> None:
    Console(stderr=True).print(f"any2vec: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
