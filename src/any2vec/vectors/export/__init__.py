"""Vectors as files of other programs; `exports` has the list of them."""
