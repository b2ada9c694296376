"""The corpus room: from text to a vocabulary V and a worklist W."""

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.read import read_corpus
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import Worklist
from any2vec.io.inputs import Source

__all__ = ["Corpus", "Source", "Vocabulary", "Worklist", "read_corpus"]
