"""Vectors in files: a module per format, and `formats`, which chooses."""
