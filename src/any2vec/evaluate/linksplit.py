"""Hide edges of a graph, to be predicted from vectors trained on the rest."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, is_installed, missing_extra, shown
from any2vec.graph.graph import Graph, Kinds
from any2vec.io.outputs import Kind, check_writable, replacing, start_of
from any2vec.options import as_path, fraction, whole_number

_DENSE = 4  # with this many possible pairs per pair taken, or fewer, they are listed; else drawn, edges rejected

_SEPARATORS = re.compile(r"^[#%\"]|[\s,]")
"""What a name in a text file of edges cannot contain."""

_TOO_DENSE = "the graph is too dense for link prediction"

PARTS = ("train.edges", "hidden.edges", "absent.edges")
"""The files of a saved split."""

Link: TypeAlias = tuple[str, str]
"""Names of two vertices."""

_Keys = NDArray[np.int64]
"""A pair of vertices as one number: the smaller * V + the larger."""


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A graph without some of its edges, these edges, and as many pairs without an edge.

    Attributes
    ----------
    train : Graph
        The graph to train vectors on: all vertices, the remaining edges.
    hidden, absent : int64 array, shape (m, 2)
        Pairs of vertices with a hidden edge, and pairs without an edge in the whole graph.
    """

    train: Graph
    hidden: NDArray[np.int64]
    absent: NDArray[np.int64]

    @property
    def positives(self) -> list[Link]:
        """The hidden edges as pairs of names."""
        return self._named(self.hidden)

    @property
    def negatives(self) -> list[Link]:
        """The pairs without an edge, as names."""
        return self._named(self.absent)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write ``train.edges``, to train on, and ``hidden.edges`` and ``absent.edges``, for `evaluate_links`.

        Parameters
        ----------
        folder : str or path
            A split that was saved before is replaced. A folder that holds other files than these never is.
        force : bool
            Replace files with these names that are no split, too.

        Raises
        ------
        Any2VecError
            If it cannot be written, holds something else, or a name would not be read back as one.
        """
        folder = as_path(folder)
        check_split_folder(folder, force)
        for name in self.train.names:
            if _SEPARATORS.search(name):
                reason = f"the vertex {name!r} holds whitespace or a comma or begins with #, % or a quote"
                raise Any2VecError(f"{folder}: {reason}, so text files cannot hold it; use split_links from Python")
        with replacing(folder, folder=True) as part:
            for name, lines in zip(PARTS, (self._train_lines(), self.positives, self.negatives), strict=True):
                with (part / name).open("w", encoding="utf-8", newline="\n") as file:
                    file.writelines("\t".join(link) + "\n" for link in lines)

    def _train_lines(self) -> Iterator[tuple[str, ...]]:
        names, weights = list(self.train.names), self.train.weights
        for vertex, (start, end) in enumerate(pairwise(self.train.indptr.tolist())):
            for entry, other in enumerate(self.train.indices[start:end].tolist(), start):
                if self.train.directed or vertex <= other:
                    weight = () if weights is None else (f"{weights[entry]:.9g}",)
                    yield names[vertex], names[other], *weight

    def _named(self, pairs: NDArray[np.int64]) -> list[Link]:
        names = list(self.train.names)
        return [(names[a], names[b]) for a, b in pairs.tolist()]


def check_split_folder(folder: Path, force: bool = False) -> None:
    """Raise now if `LinkSplit.save` could not write to a folder, or would lose other files in it."""
    check_writable(folder, _SPLIT, folder=True, force=force)


def _holds_split(folder: Path) -> bool:
    """Recognize the three files by their lines: names, separated by a tab, and of the first also a weight."""
    for name, most in zip(PARTS, (3, 2, 2), strict=True):
        content, whole = start_of(folder / name, 1 << 16)
        *lines, rest = content.split(b"\n")
        cut_off = rest and (whole or not lines)
        if cut_off or not all(2 <= len(line.split(b"\t")) <= most for line in lines):
            return False
    return True


_SPLIT = Kind("a split of a graph's edges", _holds_split, files=PARTS)


def split_links(graph: Graph, share: float = 0.5, seed: int = 1) -> LinkSplit:
    """Hide edges of a graph, keeping its connected components, and draw as many pairs without an edge.

    A random spanning forest remains; hidden edges are drawn uniformly from the others. If these are fewer than
    `share` asks for, all of them are hidden. Self loops remain. Pairs without an edge are drawn uniformly from the
    vertices that have an edge. If vertices have kinds, such pairs join the kinds that hidden edges join, each as often:
    users and items, but never two users. They are drawn from the vertices that have an edge of these kinds.

    An edge of a directed graph and its reverse are one for all of this, as `evaluate_links` cannot tell them apart:
    they are hidden together, and a pair without an edge has none in either direction. Of pairs without an edge, as many
    are in both directions as of the hidden ones.

    Parameters
    ----------
    graph : Graph
        The whole graph. Parallel edges count as one and are hidden together.
    share : float
        Fraction of the edges (self loops not counted) to hide, between 0 and 1.
    seed : int
        Of all draws.

    Returns
    -------
    LinkSplit
        Hidden and absent pairs in ascending order.

    Raises
    ------
    Any2VecError
        If an argument is invalid, no edge can be hidden, there are too few pairs without an edge, or SciPy is not
        installed.
    """
    if not isinstance(graph, Graph):
        raise Any2VecError(f"graph: a Graph is expected, such as read_graph returns, not {shown(graph)}")
    fraction("share", share, "0.5 hides half of the edges")
    whole_number("seed", seed, 0)
    if not is_installed("scipy"):
        raise missing_extra("scipy", "graphs")
    number = len(graph)
    heads, tails = np.repeat(np.arange(number), graph.degrees), graph.indices.astype(np.int64)
    entries = np.minimum(heads, tails) * number + np.maximum(heads, tails)
    links = np.unique(entries[heads != tails])
    random = np.random.default_rng(seed)
    free = links[~_forest(links, number, random)]
    if not len(free):
        why = "removing any of its edges would disconnect it" if len(links) else "no edge joins two vertices"
        raise Any2VecError(f"the graph of {number:,} vertices and {len(links):,} edges has nothing to hide: {why}")
    hidden = np.sort(random.choice(free, min(max(1, round(share * len(links))), len(free)), replace=False))
    kinds = graph.kinds or Kinds(("vertex",), np.zeros(number, np.uint8))
    hidden, absent = _absent_of_kinds(links, hidden, kinds, random)
    kept, found = ~np.isin(entries, hidden), (_pairs(hidden, number), _pairs(absent, number))
    weights = None if graph.weights is None else graph.weights[kept]
    starts = np.concatenate([[0], np.cumsum(kept)])[graph.indptr]
    train = Graph(starts, graph.indices[kept], weights, graph.names, graph.directed, graph.kinds)
    if graph.directed:
        found = _in_directions(*found, heads * number + tails, kinds, random)
    hidden, absent = (pairs[np.lexsort(pairs.T[::-1])] for pairs in found)
    return LinkSplit(train, hidden, absent)


def _in_directions(
    hidden: NDArray[np.int64], absent: NDArray[np.int64], entries: _Keys, kinds: Kinds, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the directed edges between hidden pairs, and absent pairs in directions as those between the same kinds.

    Pairs of `hidden` and `absent` in one place join the same kinds.
    """
    hidden, absent = _by_kind(hidden, kinds), _by_kind(absent, kinds)
    groups = kinds.of[hidden].astype(np.int64) @ [len(kinds.names), 1]
    like = np.arange(len(hidden))
    for group in np.unique(groups):
        like[groups == group] = random.permutation(like[groups == group])
    ways = [np.isin(pairs @ [len(kinds), 1], entries) for pairs in (hidden, hidden[:, ::-1])]

    def directed(pairs: NDArray[np.int64], there: NDArray[np.bool_], back: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.concatenate([pairs[there], pairs[back][:, ::-1]])

    return directed(hidden, *ways), directed(absent, *(way[like] for way in ways))


def _forest(links: _Keys, number: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which edges are in a random spanning forest: the minimum one for random weights."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    ranks = random.permutation(len(links))
    weighted = coo_array((ranks + 1.0, np.divmod(links, max(1, number))), shape=(number, number))
    kept = np.zeros(len(links), np.bool_)
    if len(links):
        kept[minimum_spanning_tree(weighted.tocsr()).data.astype(np.int64) - 1] = True
    return kept[ranks]


def _absent(
    links: _Keys, wanted: int, sides: list[NDArray[np.int64]], what: str, number: int, random: np.random.Generator
) -> _Keys:
    """Draw distinct pairs without an edge: an end of each side or, in ascending order, both ends of one side alone."""
    one, other, alone = sides[0], sides[-1], len(sides) == 1
    possible = len(one) * (len(one) - 1) // 2 if alone else len(one) * len(other)
    if possible - len(links) < wanted:
        few = f"only {possible - len(links):,} pairs of {what} have no edge, and {wanted:,} are needed"
        raise Any2VecError(f"{_TOO_DENSE}: {few}; hide a smaller share")

    def keys_of(a: NDArray[np.int64], b: NDArray[np.int64]) -> _Keys:
        return (np.minimum(a, b) * number + np.maximum(a, b))[a != b]

    def draw(several: int) -> _Keys:
        if alone:
            return keys_of(*one[random.integers(len(one), size=(several, 2))].T)
        return keys_of(*(random.choice(side, several) for side in sides))

    if possible <= _DENSE * (len(links) + wanted):
        first, second = np.triu_indices(len(one), 1) if alone else np.indices((len(one), len(other))).reshape(2, -1)
        keys = keys_of(one[first], other[second])
        keys = random.choice(keys[~np.isin(keys, links)], wanted, replace=False)
    else:
        keys = _drawn(draw, links, wanted)
    return np.sort(keys) if alone else keys


def _drawn(draw: Callable[[int], _Keys], links: _Keys, wanted: int) -> _Keys:
    """Draw pairs until there are enough that differ and have no edge."""
    drawn = np.empty(0, np.int64)
    while len(drawn) < wanted:
        keys = draw(wanted - len(drawn) + 16)
        keys = np.concatenate([drawn, keys[~np.isin(keys, links)]])
        drawn = keys[np.sort(np.unique(keys, return_index=True)[1])][:wanted]  # in the order of the draws
    return drawn


def _absent_of_kinds(links: _Keys, hidden: _Keys, kinds: Kinds, random: np.random.Generator) -> tuple[_Keys, _Keys]:
    """Draw as many distinct pairs without an edge as are hidden, between each two kinds; return both in like order."""
    number = len(kinds)
    ends, hidden_ends = (_by_kind(_pairs(keys, number), kinds) for keys in (links, hidden))
    joined, hidden_joined = (kinds.of[pairs].astype(np.int64) @ [len(kinds.names), 1] for pairs in (ends, hidden_ends))
    found = []
    for both in np.unique(hidden_joined).tolist():
        one, other = divmod(both, len(kinds.names))
        of_both, wanted = joined == both, int(np.count_nonzero(hidden_joined == both))
        sides = [np.unique(ends[of_both])] if one == other else [np.unique(column) for column in ends[of_both].T]
        what = "vertices" if one == other else f"{kinds.names[one]} and {kinds.names[other]}"
        found.append(_absent(links[of_both], wanted, sides, what, number, random))
    return hidden[np.argsort(hidden_joined, kind="stable")], np.concatenate(found)


def _by_kind(pairs: NDArray[np.int64], kinds: Kinds) -> NDArray[np.int64]:
    """Order the ends of pairs by their kinds."""
    turned = kinds.of[pairs[:, 0]] > kinds.of[pairs[:, 1]]
    return np.where(turned[:, None], pairs[:, ::-1], pairs)


def _pairs(keys: _Keys, number: int) -> NDArray[np.int64]:
    return np.stack(np.divmod(keys, max(1, number)), axis=1)
