"""The graph room: from files and other libraries' objects to a graph."""

from any2vec.graph.graph import Graph
from any2vec.graph.karate import karate_club
from any2vec.graph.readers import read_graph
from any2vec.graph.vertex_labels import Labels, read_labels

__all__ = ["Graph", "Labels", "karate_club", "read_graph", "read_labels"]
