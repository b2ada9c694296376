"""From a graph to random walks.

- `tables`: alias tables of weights, hash tables of neighbours, and where walks start
- `walker`: `Walker`, the walks of a graph, with the kernel of DeepWalk and metapath2vec (along `metapaths`);
  `second_order`: that of node2vec and node2vec+
- `worklist`: walks kept in memory, counted, or written as text
- `share_walker`: the same walks, bit for bit, on a graph of which each host has a share, and the questions to the hosts
  that have the vertices; `share_first_order` and `share_second_order`: the kernels that ask and answer
- `corpus`: walks, kept or generated where training reads them, with V
"""
