"""A plan of a cluster, before it is rented: rows, bytes, memory, seconds and cost by number of hosts and scheme.

`text` knows how often vertices occur, `formulas` has all formulas, `measuring` times a few operations here, and `plan`
puts them together.
"""
