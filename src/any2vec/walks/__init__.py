"""From a graph to random walks.

- `tables`: alias tables of weights, hash tables of neighbours, and where walks start
- `first_order` (DeepWalk, and metapath2vec along `metapaths`) and `second_order` (node2vec, node2vec+): the kernels
- `walker`: `Walker`, the walks of a graph; `worklist`: walks kept in memory, counted, or written as text
- `shares`: the same walks on a graph of which each host has a share
- `corpus`: walks, kept or generated where training reads them, with V
"""
