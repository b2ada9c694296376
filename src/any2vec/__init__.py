"""Embeddings of anything that comes in sequences: words, graph vertices, products, code tokens."""

from any2vec.io.numba_cache import ensure_numba_cache

ensure_numba_cache()  # before a kernel is defined

from any2vec.errors import Any2VecError  # noqa: E402
from any2vec.models import DeepWalk, Node2Vec, Word2Vec  # noqa: E402
from any2vec.vectors.formats import load, save  # noqa: E402
from any2vec.vectors.vectors import Vectors  # noqa: E402
from any2vec.version import __version__  # noqa: E402

__all__ = ["Any2VecError", "DeepWalk", "Node2Vec", "Vectors", "Word2Vec", "__version__", "load", "save"]
