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
    """Return each vertex's sorted (neighbour, weight); equal ones are added up, the lightest first.

    Undirected edges that are listed in both directions count once, if all of them have the same weights in both.
    """
    rows = [[] for _ in range(count)]
    for source, target, weight in edges:
        if source == target and not loops:
            continue
        rows[source].append((target, weight, source < target))
        if not directed and source != target:
            rows[target].append((source, weight, source < target))
    rows = [sorted(row, key=lambda entry: entry[0]) for row in rows]
    if not merge:
        return [[entry[:2] for entry in row] for row in rows]
    totals = [{} for _ in rows]
    for total, row in zip(totals, rows, strict=True):
        for neighbour, weight, rising in row:
            total.setdefault(neighbour, ([], []))[rising].append(weight)
    two = [(sorted(a), sorted(b)) for total in totals for a, b in total.values() if a and b]
    once = not directed and all(a == b for a, b in two)
    return [
        [(other, _sum(a, b, once=once) if weighted else 1.0) for other, (a, b) in total.items()] for total in totals
    ]


def _sum(falling, rising, *, once):
    same = sorted(falling) == sorted(rising)
    total = float(np.float32(sum(sorted(rising if same else falling + rising))))
    return total if once or not same else 2 * total


def rows_of_graph(graph):
    """Return a Graph's rows in the same form."""
    ends = graph.indptr.tolist()
    weights = [1.0] * len(graph.indices) if graph.weights is None else graph.weights.tolist()
    entries = list(zip(graph.indices.tolist(), weights, strict=True))
    return [entries[ends[i] : ends[i + 1]] for i in range(len(graph))]
