"""Embeddings of anything that comes in sequences: words, graph vertices, products, code tokens."""

from any2vec.errors import Any2VecError
from any2vec.models import Word2Vec
from any2vec.vectors.formats import load, save
from any2vec.vectors.vectors import Vectors
from any2vec.version import __version__

__all__ = ["Any2VecError", "Vectors", "Word2Vec", "__version__", "load", "save"]
