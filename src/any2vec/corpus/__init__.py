"""The corpus room: from text to a vocabulary V and a worklist W."""

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.read import read_corpus
from any2vec.corpus.text import Source
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import Worklist

__all__ = ["Corpus", "Source", "Vocabulary", "Worklist", "read_corpus"]
