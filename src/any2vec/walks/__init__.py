"""From a graph to random walks.

The modules, from a step to what training reads:

- `tables`: alias tables of weights, hash tables of neighbours
- `first_order` (DeepWalk) and `second_order` (node2vec): the kernels that step; `noise`: node2vec+
- `order`: where walks start
- `walker`: `Walker`, the walks of a graph
- `worklist`: walks as the worklist W; `corpus`: with V, as a corpus; `text`: as lines of text
"""
