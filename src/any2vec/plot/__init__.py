"""Pictures: maps of words in two dimensions, as pages and as figures.

`projection` gives words their places, `groups` their groups, `colours` the groups' colours; `word_map` holds what was
found, and saves it: `page` as a page, `figure` as a picture.
"""
