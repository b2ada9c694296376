"""From files and objects to a `Graph`: every source makes an `EdgeTable`, and `build_graph` sorts it into rows.

The modules, in the order in which edges pass through them:

- `readers`: `read_graph`, the whole way, and `FILE_FORMATS`. `reading`: its options, checked.
- `edgelist`: edge lists and adjacency lists, files of text, written in a `dialect`, in blocks that `parse`
  turns into edges.
- `sources`: objects of Python, tables, matrices, and graphs of other libraries.
- `numbering`: vertices by first occurrence.
- `build`: `EdgeTable` to `Graph`, with `csr` (sorted rows).
- `graph`: what the user gets, with names and kinds of vertices; `vertex_kinds` reads the kinds.
- `shares` is for hosts none of which holds the whole graph.
- `vertex_labels` reads the classes of vertices, for evaluation alone.
"""

from any2vec.graph.graph import Graph, Kinds
from any2vec.graph.readers import karate_club, read_graph
from any2vec.graph.vertex_labels import VertexLabels, read_labels

__all__ = ["Graph", "Kinds", "VertexLabels", "karate_club", "read_graph", "read_labels"]
