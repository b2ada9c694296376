"""Classifiers of lines, as fastText's `supervised` mode has them (Joulin et al. 2017).

Sources of its operator are the rows of a line's words and n-grams, targets are labels.
"""
