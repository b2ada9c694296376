"""Pictures: maps of words in two dimensions, as pages and as figures.

`projection` gives words their places, groups and colours; `word_map` holds what was found, and saves it.
"""
