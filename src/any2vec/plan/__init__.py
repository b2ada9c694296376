"""A plan of a cluster, before it is rented: rows, bytes, memory, seconds and cost by number of hosts and scheme.

`text` knows how often vertices occur, `walking` the graph that walks are on. `formulas` has the formulas of training,
`measuring` times a few operations here, `estimates` and `planning` put them together.
"""
