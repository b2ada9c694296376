"""Walks on a graph of which each host has a share: those of `walks.walker`, bit for bit.

- `walker`: `ShareWalker`, the walks of a host, and the questions to the hosts that have the vertices; `walk_shares`
  keeps them.
- `first_order` and `second_order`: the kernels that ask and answer.
"""
