"""Embeddings of anything that comes in sequences: words, graph vertices, products, code tokens."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from any2vec.errors import Any2VecError, method_meant

if TYPE_CHECKING:
    from any2vec.corpus.phrases.phrases import Phrases
    from any2vec.models import Classifier, DeepWalk, Doc2Vec, Node2Vec, Word2Vec
    from any2vec.models.tuning import tune
    from any2vec.vectors import Vectors, load
    from any2vec.vectors.files import save
    from any2vec.vectors.sharded import ShardedVectors

__version__ = "0.1.0"

__all__ = [
    "Any2VecError",
    "Classifier",
    "DeepWalk",
    "Doc2Vec",
    "Node2Vec",
    "Phrases",
    "ShardedVectors",
    "Vectors",
    "Word2Vec",
    "__version__",
    "load",
    "save",
    "tune",
]

_MODULES = {
    "Classifier": "any2vec.models",
    "DeepWalk": "any2vec.models",
    "Doc2Vec": "any2vec.models",
    "Node2Vec": "any2vec.models",
    "Phrases": "any2vec.corpus.phrases.phrases",
    "ShardedVectors": "any2vec.vectors.sharded",
    "Vectors": "any2vec.vectors",
    "Word2Vec": "any2vec.models",
    "load": "any2vec.vectors",
    "save": "any2vec.vectors.files",
    "tune": "any2vec.models.tuning",
}


def __getattr__(name: str) -> Any:
    """Import names and packages when they are first used, so that the command line starts at once."""
    if name in _MODULES:
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value
    if not name.startswith("_") and find_spec(f"any2vec.{name}"):
        return import_module(f"any2vec.{name}")
    raise AttributeError(f"module 'any2vec' has no attribute {name!r}{method_meant(name, __name__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
