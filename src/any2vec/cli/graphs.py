"""Reading graphs and labels for commands: what is to be known of how they were read is said on one line."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from any2vec.errors import respelled
from any2vec.graph.readers import GraphWarning

__all__ = ["saying"]


@contextmanager
def saying(say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Say warnings of readers, in the words of the command line: by `say`, or on the standard error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", GraphWarning)
        yield
    for warning in found:
        if issubclass(warning.category, GraphWarning):
            (say or _print)(respelled(str(warning.message), lambda name, _: f"--{name}"))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _print(line: str) -> None:
    Console(stderr=True).print(f"any2vec: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
