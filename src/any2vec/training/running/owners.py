"""Which host has the masters of which vertices, so that all hosts send and receive as much."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, together
from any2vec.corpus import Corpus
from any2vec.samples.windows import kept_counts, mean_context, total_of
from any2vec.sync.combiners import combiner_of
from any2vec.sync.partition import Partition
from any2vec.sync.schemes import SCHEMES
from any2vec.training.options import Options
from any2vec.training.running.schedule import default_rounds, round_lengths

__all__ = ["partition_of", "rounds_of", "updates_of", "visits_of"]


def partition_of(corpus: Corpus, options: Options, communicator: Communicator) -> Partition:
    """Choose the masters of each host; all hosts call this, and get what the first one finds.

    A round in which a host updates a row u times in the mean touches it with probability 1 - exp(-u). The rows that
    all rounds touch are sent to and fro: each host owns as many of these.
    """
    vertices, hosts = corpus.vertices, communicator.size
    found = Partition.even(vertices, hosts)
    if hosts == 1 or (options.scheme in SCHEMES and SCHEMES[options.scheme].by_columns):
        return found
    with together(communicator):
        if communicator.rank == 0:  # others may have other last bits
            updates, use = updates_of(corpus, options) / hosts, np.zeros(vertices)
            lengths = round_lengths(rounds_of(corpus, options, hosts), hosts, options.epochs)
            for length, rounds in zip(*lengths, strict=True):
                use -= rounds * np.expm1(-length * updates).sum(axis=0)
            found = Partition.by_use(use, hosts)
    return Partition(communicator.allgather(found.bounds)[0])


def rounds_of(corpus: Corpus, options: Options, hosts: int) -> int:
    """Return the rounds per epoch of several hosts."""
    long_rounds = combiner_of(options.combine).long_rounds
    return options.rounds or default_rounds(hosts, visits_of(corpus, options), long_rounds=long_rounds)


def visits_of(corpus: Corpus, options: Options) -> float:
    """Return how often an epoch meets a row of e after subsampling, in the mean over rows."""
    kept = kept_counts(corpus.vocabulary.counts, options.sample)
    met = kept if corpus.rows is None else corpus.rows.spread(kept)
    return float(met.sum()) / max(len(met), 1)


def updates_of(corpus: Corpus, options: Options) -> NDArray[np.float64]:
    """Estimate how often an epoch of all hosts updates each row of e and of t, shape (2, V).

    Those of a row of e that come together, in the windows about one occurrence, count as one.
    """
    counts, words = corpus.vocabulary.counts, int(corpus.cuts[-1])
    total, kept = max(total_of(counts), 1), kept_counts(counts, options.sample)  # perhaps of earlier texts, too
    lengths = np.array([words / max(corpus.sentences, 1)])
    contexts = mean_context(lengths, options.window, options.narrowest, float(kept.sum()) / total)
    updates = options.operator_class(options).on(corpus).updates(counts, contexts)
    updates[0] = np.minimum(updates[0], kept if corpus.rows is None else corpus.rows.spread(kept))
    return updates * min(words / total, 1.0)
