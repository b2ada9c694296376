"""A graph in parts: each host reads a part of the edges, and has the rows of some vertices; none holds the whole graph.

- `share`: `GraphShare`, the rows of a host's vertices, from entries in any order; whether hosts have the whole graph,
  or parts of it.
- `edge_parts`: a host's part of the edges of a text, of Parquet files, or in memory.
- `build`: `read_share`, from these parts to shares.
"""
