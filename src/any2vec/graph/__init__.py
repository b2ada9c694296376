"""Graphs: sources (edge lists, matrices, objects) -> EdgeTable -> build_graph -> Graph, in compressed sparse rows."""

from any2vec.graph.graph import Graph
from any2vec.graph.karate import karate_club
from any2vec.graph.readers import read_graph
from any2vec.graph.vertex_labels import Labels, VertexLabels, read_labels

__all__ = ["Graph", "Labels", "VertexLabels", "karate_club", "read_graph", "read_labels"]
