"""What `fit` keeps: vectors of words, vertices and documents, made of the matrices that were trained."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.parts import Features, Subwords, WordRows
from any2vec.operators.matrices import Matrices
from any2vec.training.state import Rows
from any2vec.vectors import Vectors
from any2vec.vectors.parts import Parts, means_of

_WORDS = 1 << 14  # taken at a time


def vectors_of(
    corpus: Corpus,
    matrices: list[Matrices],
    loss: str,
    kind: Subwords | Features | None = None,
    communicator: Communicator | None = None,
) -> Vectors:
    """Make Vectors of the matrices of one range of rows, held in parts; a single part is not copied.

    If words have several rows, the matrices must be of all, or, on a cluster, all hosts call this, and each gets an
    even share of the words.
    """
    vocabulary, rows = corpus.vocabulary, corpus.rows
    if rows is not None and communicator is not None and communicator.size > 1:
        return _share(vocabulary, rows, matrices[0], loss, kind, communicator)
    e, t = ([getattr(part, name) for part in matrices] for name in ("embedding", "training"))
    whole, training = (one[0] if len(one) == 1 else np.concatenate(one) for one in (e, t))
    has_t = len(training) == len(whole)  # not while callbacks judge several hosts
    if rows is None:
        first = matrices[0].first
        if len(whole) < len(vocabulary):
            here = slice(first, first + len(whole))
            vocabulary = Vocabulary(vocabulary.words[here], vocabulary.counts[here])
        return Vectors(vocabulary, whole, t=training if has_t else None, loss=loss)
    training = training[: len(vocabulary)].copy() if has_t else None
    if kind is None:
        return Vectors(vocabulary, means_of(whole, rows.bounds, rows.rows), t=training, loss=loss)
    parts = Parts(kind, whole[rows.own], rows.ids, whole[rows.parts])
    return Vectors(vocabulary, parts.means(vocabulary.words), t=training, loss=loss, parts=parts)


def document_vectors(corpus: Corpus, matrices: list[Matrices], host: int, loss: str) -> Vectors:
    """Make Vectors of the documents of consecutive hosts, from `host` on; a single host's rows are not copied."""
    documents = corpus.documents
    assert documents
    low, high = corpus.documents_of(host).start, corpus.documents_of(host + len(matrices) - 1).stop
    rows = [one.documents[:, : one.dim] for one in matrices if one.documents is not None]
    lengths = corpus.worklist.lengths(high - documents.first)[low - documents.first :]
    names = Vocabulary(documents.names(low, high), lengths)
    return Vectors(names, rows[0] if len(rows) == 1 else np.concatenate(rows), loss=loss)


def _share(
    vocabulary: Vocabulary,
    rows: WordRows,
    mine: Matrices,
    loss: str,
    kind: Subwords | Features | None,
    communicator: Communicator,
) -> Vectors:
    """Make the Vectors of this host's share of the words, of rows that are fetched from all hosts."""
    sizes = communicator.allgather(np.array([mine.vertices], np.int64))[:, 0]
    bounds = np.append(0, np.cumsum(sizes))
    e, t = Rows(mine.embedding, bounds), Rows(mine.training, bounds)

    def fetched(of: Rows, places: NDArray[np.int32]) -> NDArray[np.float32]:
        found = np.empty((len(places), mine.dim), np.float32)
        of.put(places, found, communicator)
        return found

    host, hosts = communicator.rank, communicator.size
    words = slice(*(len(vocabulary) * h // hosts for h in (host, host + 1)))
    first, last = words.start, words.stop
    matrix = np.empty((last - first, mine.dim), np.float32)
    for at in range(0, -(-len(vocabulary) // hosts), _WORDS):  # as many times on all hosts
        begin, end = (min(first + n, last) for n in (at, at + _WORDS))
        bounds_here = rows.bounds[begin : end + 1]
        needed, places = np.unique(rows.rows[bounds_here[0] : bounds_here[-1]], return_inverse=True)
        got = fetched(e, needed.astype(np.int32))
        matrix[begin - first : end - first] = means_of(got, bounds_here - bounds_here[0], places)
    parts = slice(*(len(rows.ids) * h // hosts for h in (host, host + 1)))
    own, of_parts = fetched(e, rows.own[words]), fetched(e, rows.parts[parts])
    training = fetched(t, np.arange(first, last, dtype=np.int32))
    share = Vocabulary(vocabulary.words[words], vocabulary.counts[words])
    made = Parts(kind, own, rows.ids[parts], of_parts, whole=False) if kind else None
    return Vectors(share, matrix, t=training, loss=loss, parts=made)
