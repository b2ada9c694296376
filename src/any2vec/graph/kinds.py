"""`Kinds`: the kind of each vertex of a graph, such as author, paper or venue."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.memory import read_only

__all__ = ["MOST_KINDS", "Kinds"]

MOST_KINDS = 255
"""Kinds in a graph."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of a graph's vertices.

    Attributes
    ----------
    names : tuple of str, length T
        Names of the kinds, at most 255.
    of : uint8 array, shape (V,)
        The kind of each vertex, an index into `names`.

    Raises
    ------
    Any2VecError
        If there are more kinds, a name is empty or occurs twice, or a number is no kind's.
    """

    names: tuple[str, ...]
    of: NDArray[Any]

    def __post_init__(self) -> None:
        if len(self.names) > MOST_KINDS:
            first = ", ".join(map(repr, self.names[:3]))
            raise Any2VecError(
                f"vertices have {len(self.names):,} kinds, {first} and so on; there may be {MOST_KINDS} at most"
            )
        if len(set(self.names)) < len(self.names) or not all(self.names):
            raise Any2VecError(f"kinds must have names that differ and are not empty, unlike {self.names}")
        found = np.asarray(self.of)
        if found.ndim != 1 or found.dtype.kind not in "iu" or (len(found) and found.min() < 0):
            raise Any2VecError(f"kinds of vertices must be a list of whole numbers from 0, not {found.dtype}")
        if len(found) and found.max() >= len(self.names):
            raise Any2VecError(f"kinds of vertices are below {len(self.names)}, their number; {found.max()} is not")
        object.__setattr__(self, "of", read_only(found.astype(np.uint8)))

    @classmethod
    def of_vertices(cls, kinds: Iterable[str]) -> "Kinds":
        """Make them of the name of each vertex's kind; kinds are in the order in which they first occur."""
        numbers: dict[str, int] = {}

        def number_of(kind: str) -> int:
            if kind not in numbers and len(numbers) < MOST_KINDS + 1:  # one too many: refused, with its name
                numbers[kind] = len(numbers)
            return numbers.get(kind, 0)

        found = np.fromiter(map(number_of, kinds), np.uint16)
        return cls(tuple(numbers), found)

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, vertex: int) -> str:
        """Return the name of a vertex's kind."""
        return self.names[self.of[vertex]]

    def __iter__(self) -> Iterator[str]:
        return (self.names[kind] for kind in self.of.tolist())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Vertices of each kind, shape (T,)."""
        return np.bincount(self.of, minlength=len(self.names))

    def __str__(self) -> str:
        """List how many vertices there are of each kind: of five kinds at most."""
        named = sorted(zip(self.counts.tolist(), self.names, strict=True), key=lambda kind: -kind[0])
        more = f" and {len(named) - 5:,} more kinds" if len(named) > 5 else ""
        return ", ".join(f"{count:,} {name}" for count, name in named[:5]) + more

    def __repr__(self) -> str:
        return f"<Kinds: {self}>"
