"""Reading graphs and labels for commands: the options, and what is to be known of how they were read, on one line."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from any2vec.cli.options import DATA, from_fields
from any2vec.errors import respelled
from any2vec.graph.readers import FORMATS, GraphWarning
from any2vec.io.shown import Console
from any2vec.options import option

COMMENTS = "#%"


@dataclass
class _GraphFile:
    """How a file of a graph is read: options of `read_graph`."""

    format: str = option("auto", f"format of GRAPH: {', '.join(FORMATS)}", choices=FORMATS, panel=DATA)
    directed: bool = option(False, "edges have a direction", panel=DATA)
    weighted: bool | None = option(
        None, "whether lines have a weight", unset="by the first line", flag="--weighted/--unweighted", panel=DATA
    )
    delimiter: str | None = option(
        None, "separator of the fields of a line: one character, or \\t", unset="by the first line", panel=DATA
    )
    comments: str = option(COMMENTS, "lines that begin with one of these are skipped; '' for none", panel=DATA)
    header: bool = option(False, "skip the first line, a header", panel=DATA)
    columns: str | None = option(
        None,
        "columns of a Parquet file: source,target or source,target,weight",
        unset="all, if two or three, else by usual names",
        panel=DATA,
    )
    bipartite: str | None = option(
        None,
        "kinds of the two ends of edges, such as user,item: 5 and 5 are then user:5 and item:5",
        unset="one set of vertices, unless a matrix is not square",
        panel=DATA,
    )
    kinds: Path | None = option(
        None,
        "kinds of vertices, for --metapath: a file of lines of a vertex and its kind",
        unset="none",
        path="file",
        panel=DATA,
    )
    kind_prefix: str | None = option(
        None,
        "what stands between the kind and the rest of each vertex's name, such as : for author:12",
        unset="none",
        panel=DATA,
    )


def graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `how`, options of `read_graph`, by options of the command line."""

    @wraps(command)
    def run(how: dict[str, Any], **given: Any) -> None:
        how |= {"directed": how["directed"] or None, "delimiter": sign(how["delimiter"])}
        command(**given, how=how)

    return from_fields(_GraphFile, into="how")(run)


def sign(delimiter: str | None) -> str | None:
    """Return the character that an option names; a tab is hard to type in a shell."""
    return "\t" if delimiter == r"\t" else delimiter


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
