"""Vectors as files of other programs: a module per target, and `exports`, the list of them."""
