"""Walks on a graph of which each host has a share: those of `walks.walker`, bit for bit.

- `walker`: `ShareWalker`, the walks of a host; `walks` keeps them.
- `owners`: questions to the hosts that have the vertices.
- `steps`: what asks and what answers; `first_order`, `second_order` and `second_answers`, their kernels.
"""
