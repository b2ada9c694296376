"""`Reading`: what a user asks of the reader of a graph, checked."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError, shown
from any2vec.graph.bipartite import checked_bipartite
from any2vec.graph.build import ReadOptions
from any2vec.graph.chosen_columns import checked_columns
from any2vec.io.inputs import STANDARD_INPUT, InputFile, files_of

__all__ = ["Reading", "checked_reading", "checked_text", "graph_file"]


class Reading(NamedTuple):
    """Options of `read_graph`; those of sources are in `options`, and a file of kinds is open."""

    options: ReadOptions
    format: str
    directed: bool | None
    merge: bool
    loops: bool
    vertices: Iterable[Any] | None
    kinds: Any
    kind_prefix: str | None
    names: Any


def checked_reading(
    source: Any,
    *,
    format: str = "auto",  # noqa: A002 (as of `read_graph`)
    directed: bool | None = None,
    weighted: bool | None = None,
    merge: bool = True,
    loops: bool = True,
    vertices: Iterable[Any] | None = None,
    kinds: Any = None,
    kind_prefix: str | None = None,
    comments: str | None = "#%",
    delimiter: str | None = None,
    header: bool = False,
    key: str = "network",
    columns: str | Sequence[str] | None = None,
    bipartite: bool | str | tuple[str, str] | None = None,
    names: Any = None,
    kind: str | None = None,
    threads: int | None = None,
) -> Reading:
    """Check the options of `read_graph`, all but whether there is such a format; raise an error if one is wrong."""
    _check_flags(("directed", directed), ("weighted", weighted))
    _check_flags(("merge", merge), ("loops", loops), ("header", header), optional=False)
    comments, delimiter = checked_text("comments", comments) or "", checked_text("delimiter", delimiter)
    if threads is not None and (isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1):
        raise Any2VecError(f"`threads` is {shown(threads)}: must be at least 1")
    threads = int(threads or usable_cores())
    kinds = _checked_kinds(source, kinds, kind_prefix)
    options = ReadOptions(directed, weighted, comments, delimiter, header, key, threads)
    kind = checked_text("kind", kind)
    options = options._replace(bipartite=checked_bipartite(bipartite), columns=checked_columns(columns), kind=kind)
    return Reading(options, format, directed, merge, loops, vertices, kinds, kind_prefix, names)


def _check_flags(*flags: tuple[str, Any], optional: bool = True) -> None:
    """Raise if an option that is True or False, or None if `optional`, is something else."""
    for name, value in flags:
        if not isinstance(value, bool | np.bool) and not (optional and value is None):
            raise Any2VecError(
                f"`{name}` is {shown(value)}: give {'True, False or None' if optional else 'True or False'}"
            )


def checked_text(name: str, value: Any) -> str | None:
    """Return an option that is a string or None; raise if it is something else."""
    if not isinstance(value, str | None):
        raise Any2VecError(f"`{name}` is {shown(value)}: give a string")
    return value


def graph_file(path: str | os.PathLike[str]) -> InputFile:
    """Return the one file of a path, or standard input; raise if it is missing or a directory."""
    if path != STANDARD_INPUT and Path(path).is_dir():
        raise Any2VecError(f"{path}: is a directory; give a file")
    return files_of(path if isinstance(path, str) else Path(path))[0]


def _checked_kinds(source: Any, kinds: Any, prefix: str | None) -> Any:
    """Open the file of kinds, if it is one; raise an error unless they are given in one way."""
    if kinds is not None and prefix is not None:
        raise Any2VecError("`kinds` and `kind_prefix` are given; give one")
    if isinstance(source, str) and isinstance(kinds, str) and source == kinds == STANDARD_INPUT:
        raise Any2VecError("the graph and `kinds` cannot both be standard input; give a file of one")
    checked_text("kind_prefix", prefix)
    return graph_file(kinds) if isinstance(kinds, str | os.PathLike) else kinds
