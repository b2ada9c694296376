"""Class labels of vertices, by which embeddings are judged."""

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.dialect import delimiter_byte, quoted
from any2vec.graph.lines import block_size, read_blocks
from any2vec.graph.matrices import load_mat
from any2vec.graph.parse import SPACES
from any2vec.graph.readers import detect_format, graph_file
from any2vec.io.inputs import InputFile

__all__ = ["LABEL_FORMATS", "Labels", "VertexLabels", "read_labels"]

LABEL_FORMATS = ("auto", "vertices", "labels", "mat")


@dataclass(frozen=True, eq=False)
class VertexLabels:
    """Which vertices have which class labels.

    Attributes
    ----------
    names : list of str, length n
        The vertices that have a label.
    matrix : bool array, shape (n, L)
        Whether vertex i has label j.
    labels : list of str, length L
        Names of the labels.
    source : str
        Where they come from, for errors.
    lines : sequence of int, length n or 0
        Line, from 1, in which each vertex is first named, in a file of lines.
    """

    names: list[str]
    matrix: NDArray[np.bool_]
    labels: list[str]
    source: str = "the labels"
    lines: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.names)

    def where(self, vertex: int) -> str:
        """Return the name of a vertex, by its number, and its line, for errors."""
        return repr(self.names[vertex]) + (f" (line {self.lines[vertex]:,})" if len(self.lines) else "")

    def places(self, vertices: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of the labelled vertices in a sequence of names.

        Parameters
        ----------
        vertices : sequence of str
            Names, of a graph or of vectors.

        Returns
        -------
        int64 array, shape (n,)
            For each of `names`, its position in `vertices`.

        Raises
        ------
        Any2VecError
            If a labelled vertex is not among them.
        """
        known = {name: place for place, name in enumerate(vertices)}
        unknown = [vertex for vertex, name in enumerate(self.names) if name not in known]
        if unknown:
            raise Any2VecError(
                f"{self.source}: {len(unknown):,} of {len(self.names):,} labelled vertices are not in the graph, the "
                f"first is {self.where(unknown[0])}; do the labels belong to this graph?"
            )
        return np.array([known[name] for name in self.names], np.int64)


Labels = VertexLabels  # its former name


def read_labels(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 (as read_graph)
    comments: str = "#%",
    delimiter: str | None = None,
    key: str = "group",
) -> VertexLabels:
    """Read class labels of vertices.

    Parameters
    ----------
    path : str or Path
        A file, also compressed.
    format : str
        ``vertices``: each line is a vertex and its labels; ``labels``: line i, from 0, lists the vertices of label i;
        ``mat``: Matlab, a row for each vertex and a column for each label; ``auto``: by the ending, ``.mat`` (also
        compressed) or else ``vertices``.
    comments : str
        Lines that begin with one of these characters are skipped, and not counted.
    delimiter : str, optional
        The character between two fields. By default whitespace.
    key : str
        Name of the matrix in a ``.mat`` file.

    Returns
    -------
    VertexLabels
        Vertices are in the order in which they first occur; labels are sorted, as numbers if all are.

    Raises
    ------
    Any2VecError
        If the file cannot be read.
    """
    if format not in LABEL_FORMATS:
        raise Any2VecError(f"`format` is {format!r}; known are {', '.join(LABEL_FORMATS)}")
    file = graph_file(path)
    if format == "mat" or (format == "auto" and detect_format(file) == "mat"):
        return _labels_of_mat(file, key)
    lines = _fields_of_lines(file, comments, delimiter)
    pairs: list[tuple[str, str, int]]
    if format == "labels":
        while lines and not lines[-1][1]:  # what follows the last label
            lines.pop()
        pairs = [(vertex, str(label), at) for label, (at, fields) in enumerate(lines) for vertex in fields]
        labels = [str(label) for label in range(len(lines))]
    else:
        pairs = []
        for number, fields in lines:
            if not fields:
                continue
            if len(fields) == 1:
                raise Any2VecError(
                    f"{file.name}, line {number:,}: {fields[0]!r} has no label; expected a vertex and its labels"
                )
            pairs += [(fields[0], label, number) for label in fields[1:]]
        labels = _sorted({label for _, label, _ in pairs})
    return _labels_of_pairs(file.name, pairs, labels)


def _labels_of_pairs(source: str, pairs: Sequence[tuple[str, str, int]], labels: list[str]) -> VertexLabels:
    if not pairs:
        raise Any2VecError(f"{source}: has no labels; expected lines of a vertex and its labels")
    lines: dict[str, int] = {}
    for vertex, _, line in pairs:
        lines.setdefault(vertex, line)
    names = {name: place for place, name in enumerate(lines)}
    columns = {label: column for column, label in enumerate(labels)}
    matrix = np.zeros((len(names), len(labels)), np.bool_)
    for vertex, label, _ in pairs:
        matrix[names[vertex], columns[label]] = True
    return VertexLabels(list(names), matrix, labels, source, list(lines.values()))


def _labels_of_mat(file: InputFile, key: str) -> VertexLabels:
    entries = load_mat(file, key).tocoo()
    held = np.asarray(entries.data) != 0
    if not held.any():
        raise Any2VecError(
            f"{file.name}, {key!r}: has no labels; expected a row for each vertex and a column for each label"
        )
    vertices, places = np.unique(entries.row[held], return_inverse=True)
    matrix = np.zeros((len(vertices), entries.shape[1]), np.bool_)
    matrix[places, entries.col[held]] = True
    labels = [str(label) for label in range(entries.shape[1])]
    return VertexLabels([str(vertex) for vertex in vertices.tolist()], matrix, labels, f"{file.name}, {key!r}")


def _fields_of_lines(file: InputFile, comments: str, delimiter: str | None) -> list[tuple[int, list[str]]]:
    """Split each line that is not a comment; lines are numbered from 1."""
    found: list[tuple[int, list[str]]] = []
    number = 0
    skipped = tuple(character.encode() for character in comments)
    byte = SPACES if delimiter is None else delimiter_byte(delimiter)
    separator = None if byte == SPACES else bytes([byte])
    with closing(read_blocks(file, block_size(file))) as blocks:
        for block in blocks:
            for raw in block.text[block.begin : block.end].tobytes().split(b"\n")[:-1]:
                number += 1
                line = raw.strip()
                if skipped and line.startswith(skipped):
                    continue
                try:  # bytes are split at ASCII whitespace only, as edge lists are
                    fields = [field.strip().decode() for field in line.split(separator)] if line else []
                except UnicodeDecodeError as error:
                    where = f"{file.name}, line {number:,}: {quoted(raw)}"
                    raise Any2VecError(f"{where}: is not UTF-8; save the file as UTF-8") from error
                found.append((number, [field for field in fields if field]))
    return found


def _sorted(labels: Iterable[str]) -> list[str]:
    labels = sorted(labels)
    return sorted(labels, key=int) if all(label.isdecimal() for label in labels) else labels
