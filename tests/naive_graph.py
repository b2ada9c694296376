"""What the graph readers should do, in plain Python."""

from typing import NamedTuple

import numpy as np


class NaiveGraph(NamedTuple):
    """Rows as lists of (neighbour, weight), sorted; the edges that rows come from."""

    names: list
    rows: list
    edges: int


def fields_of_lines(text, delimiter=None, comments="#%"):
    """Yield the fields of each line that is neither blank nor a comment."""
    for line in text.removeprefix("\ufeff").split("\n"):
        stripped = line.strip(" \t\r\v\f")
        if stripped and stripped[0] not in comments:
            yield [field.strip(" \t\r\v\f") for field in stripped.split(delimiter)]


def edges_of_text(text, *, weighted, adjacency=False, delimiter=None, comments="#%"):
    """Return vertices in the order of their first occurrence, and (source, target, weight)."""
    names, edges = {}, []
    for vertex, *others in fields_of_lines(text, delimiter, comments):
        source = names.setdefault(vertex, len(names))
        if adjacency:
            edges += [(source, names.setdefault(other, len(names)), 1.0) for other in others]
        else:
            weight = float(np.float32(float(others[1]))) if weighted else 1.0
            edges.append((source, names.setdefault(others[0], len(names)), weight))
    return list(names), edges


def rows_of_edges(count, edges, *, directed, merge=True, loops=True, weighted=True):
    """Return each vertex's sorted (neighbour, weight); equal ones are added up, the lightest first."""
    rows = [[] for _ in range(count)]
    for source, target, weight in edges:
        if source == target and not loops:
            continue
        rows[source].append((target, weight))
        if not directed and source != target:
            rows[target].append((source, weight))
    rows = [sorted(row, key=lambda entry: entry[0]) for row in rows]
    return [_merged(row, weighted) for row in rows] if merge else rows


def _merged(row, weighted):
    totals = {}
    for neighbour, weight in row:
        totals.setdefault(neighbour, []).append(weight)
    sums = {neighbour: float(np.float32(sum(sorted(found)))) for neighbour, found in totals.items()}
    return [(neighbour, total if weighted else 1.0) for neighbour, total in sums.items()]


def rows_of_graph(graph):
    """Return a Graph's rows in the same form."""
    ends = graph.indptr.tolist()
    weights = [1.0] * len(graph.indices) if graph.weights is None else graph.weights.tolist()
    entries = list(zip(graph.indices.tolist(), weights, strict=True))
    return [entries[ends[i] : ends[i + 1]] for i in range(len(graph))]
