"""Edges from objects and files that are no lists of lines: a module per kind of source."""
