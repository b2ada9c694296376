"""Vectors of words: look-up, neighbours, files."""
