"""From a graph to random walks.

The modules, from a step to what training reads:

- `tables`: alias tables of weights, hash tables of neighbours
- `first_order` (DeepWalk) and `second_order` (node2vec): the kernels that step; `noise`: node2vec+
- `metapaths` (metapath2vec), `typed_rows`, neighbours by kind, and `typed`, the kernel that steps to them
- `order`: where walks start
- `walker`: `Walker`, the walks of a graph
- `worklist`: walks as the worklist W, kept in memory; `generated`: generated where training reads them
- `shares`: the same walks on a graph of which each host has a share
- `row_tables`: what the kernels of both look up
- `corpus`: with V, as a corpus; `text`: as lines of text
"""
