"""Estimators: they read, train and keep the vectors."""

from any2vec.models.estimator import Callback, Estimator
from any2vec.models.nodes import DeepWalk, Node2Vec
from any2vec.models.words import Word2Vec

__all__ = ["Callback", "DeepWalk", "Estimator", "Node2Vec", "Word2Vec"]
