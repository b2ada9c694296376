"""A graph in parts: each host reads a part of the edges, and has the rows of some vertices; none holds the whole graph.

- `placing`: whether hosts have the whole graph, or parts of it.
- `share`: `GraphShare`, the rows of a host's vertices. `reader`: `read_share`, the whole way.
- `edge_parts`, `text_part`, `parquet_part`: a host's part of the edges.
- `build`: from these parts to shares. `host_vertices`: numbers for the vertices of all hosts, in the order of the text.
  `rows`: entries to sorted rows.
"""
