"""Embeddings of anything that comes in sequences: words, graph vertices, products, code tokens."""

from importlib.metadata import PackageNotFoundError, version

from any2vec.errors import Any2VecError
from any2vec.models import Word2Vec
from any2vec.vectors.formats import load, save
from any2vec.vectors.vectors import Vectors

__all__ = ["Any2VecError", "Vectors", "Word2Vec", "load", "save"]

try:
    __version__ = version("any2vec")
except PackageNotFoundError:  # run from the source tree
    __version__ = "0"
