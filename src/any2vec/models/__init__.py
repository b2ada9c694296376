"""Estimators: they read, train and keep the vectors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from any2vec.errors import method_meant

if TYPE_CHECKING:
    from any2vec.models.classifier import Classifier
    from any2vec.models.estimator import Estimator
    from any2vec.models.nodes import DeepWalk, Node2Vec
    from any2vec.models.reporting import Callback
    from any2vec.models.words import Doc2Vec, Word2Vec

__all__ = ["Callback", "Classifier", "DeepWalk", "Doc2Vec", "Estimator", "Node2Vec", "Word2Vec"]

_MODULES = {
    "Callback": "reporting",
    "Classifier": "classifier",
    "DeepWalk": "nodes",
    "Doc2Vec": "words",
    "Estimator": "estimator",
    "Node2Vec": "nodes",
    "Word2Vec": "words",
}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is first used: one of words needs no graphs."""
    if name not in _MODULES:
        raise AttributeError(f"module 'any2vec.models' has no attribute {name!r}{method_meant(name, __name__)}")
    value = globals()[name] = getattr(import_module(f"any2vec.models.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
