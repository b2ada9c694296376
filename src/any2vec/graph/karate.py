"""The small graph that comes with any2vec: Zachary's karate club."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["KarateClub", "karate_club"]


class KarateClub(NamedTuple):
    """The files of Zachary's karate club: an edge list of 34 vertices and 78 edges, and two labels."""

    edges: Path
    labels: Path


def karate_club() -> KarateClub:
    """Return where the files of Zachary's karate club are.

    Returns
    -------
    KarateClub
        Paths for `read_graph` and for `read_labels`.
    """
    folder = Path(__file__).parent
    return KarateClub(folder / "karate.edges", folder / "karate.labels")
