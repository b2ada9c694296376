"""A small graph that comes with any2vec: Zachary's karate club."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["KarateClub", "karate_club"]


class KarateClub(NamedTuple):
    """Files of Zachary's karate club: an edge list of 34 vertices and 78 edges, and two class labels."""

    edges: Path
    labels: Path


def karate_club() -> KarateClub:
    """Return the files of Zachary's karate club.

    Returns
    -------
    KarateClub
        Paths for `read_graph` and for `read_labels`.
    """
    folder = Path(__file__).parent
    return KarateClub(folder / "karate.edges", folder / "karate.labels")
