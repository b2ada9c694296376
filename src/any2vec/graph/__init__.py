"""From files and objects to a `Graph`: every source makes an `EdgeTable`, and `build_graph` sorts it into rows.

The modules, in the order in which edges pass through them:

- `readers`: `read_graph`, the whole way, and `FILE_FORMATS`. `reading`: its options, checked.
- `edgelist`: edge lists and adjacency lists, files of text.
- `lines`: their blocks. `beginning`: the first edge. `dialect`: how lines are written. `foreign`: other formats.
- `line_parser`, `parse`: bytes to edges. `quotes`: fields of CSV. `numbering`: vertices by first occurrence.
- `name_writer`: from the numbers and strings that stand for vertices to their names.
- `pairs` (pairs, dicts), `arrays`, `tables` (data frames): objects of Python. `names`: what a vertex is called.
- `arrow`: Parquet files and Arrow's tables. `columns`: their vertices. `chosen_columns`: which columns are read.
- `tensors` (PyTorch Geometric), `objects` (networkx, igraph), `matrices` (SciPy, .npz, Matlab, Matrix Market).
- `hetero`: edges by the kinds that they join. `bipartite`: sources and targets of two kinds. `own_names`: user:5.
- `undirected`: edges that a source lists in both directions.
- `build`: `EdgeTable` to `Graph`, with `csr` (sorted rows) and `weights`.
- `graph`: what the user gets, with the `kinds` of vertices. `karate`: an example.
- `vertex_kinds`: reads the kinds of a graph's vertices from a file or their names.

`shares` is for hosts none of which holds the whole graph.

`vertex_labels` reads the classes of vertices, for evaluation alone. `fields`: lines that say something of vertices.
"""

from any2vec.graph.graph import Graph, Kinds
from any2vec.graph.readers import karate_club, read_graph
from any2vec.graph.vertex_labels import VertexLabels, read_labels

__all__ = ["Graph", "Kinds", "VertexLabels", "karate_club", "read_graph", "read_labels"]
