"""The scheme of a run that is given none; and `--scheme auto`, which takes what sends least of what fits into memory.

A run that is given none pulls the rows that its rounds touch (PullModel-Opt). If rounds touch most rows, a host has a
replica of all (RepModel-Opt): inspection would find little to leave out, and kernels need no table of rows.

For `auto`, bytes are estimated. All rounds of a run, on all hosts, touch U_e and U_t rows; a row counts once per round.
PullModel-Opt on H hosts sends:

    2 (1 - 1/H) (U_e + U_t) 2 D                 rows, to other hosts' masters and back; 4 D with float32
    (1 - 1/H) (U_e + U_t) 4 + ids               updates, and the rows they belong to
    (H - 1/H) rounds 8 D (3 D + 16)             moments of `curvature`
    (H - 1/H) times 4 (4 D^2 + D), and 12 D^2   the balance, so many times

The scheme `columns`, whose samples have N scores, sends:

    2 (H - 1) 4 N                               scores, and steps (glint-word2vec, section 2)
    (H - 1) (4 words + 8 sentences)             W, once per epoch

U_e, U_t and N are measured. Slices of some lengths are inspected; rounds of other lengths are interpolated. With
PullModel-Opt, a host needs memory for its masters, for the rows that it touches, and for a second copy of these rows
while they travel. With `columns`, it needs memory for its columns of all rows.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allreduce, together
from any2vec.corpus import Corpus
from any2vec.io.memory import size
from any2vec.operators.kernel import inspection_kernel
from any2vec.operators.matrices import padded_width
from any2vec.samples.windows import SampleTables, kept_counts, mean_context, total_of
from any2vec.sync import SCHEMES
from any2vec.sync.balance import is_due
from any2vec.sync.channel import MOST, Partition
from any2vec.sync.columns import ColumnLayout
from any2vec.sync.combiners import combiner_of
from any2vec.sync.scheme import memory_of_a_host
from any2vec.sync.wire import wire_of
from any2vec.training.options import Options
from any2vec.training.schedule import default_rounds, round_lengths, round_shares
from any2vec.training.state import Start, TrainingState


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
            updates, use = _updates_of(corpus, options) / hosts, np.zeros(vertices)
            lengths = round_lengths(rounds_of(corpus, options, hosts), hosts, options.epochs)
            for length, rounds in zip(*lengths, strict=True):
                use -= rounds * np.expm1(-length * updates).sum(axis=0)
            found = Partition.by_use(use, hosts)
    return Partition(communicator.allgather(found.bounds)[0])


def rounds_of(corpus: Corpus, options: Options, hosts: int, threads: int = 1) -> int:
    """Return the rounds per epoch."""
    long_rounds = combiner_of(options.combine).long_rounds
    return options.rounds or default_rounds(hosts, _visits_of(corpus, options), threads, long_rounds=long_rounds)


def _visits_of(corpus: Corpus, options: Options) -> float:
    """Return how often an epoch meets a row of e after subsampling, in the mean over rows."""
    kept = kept_counts(corpus.vocabulary.counts, options.sample)
    return float(kept.sum()) / max(len(kept), 1) if corpus.rows is None else corpus.rows.visits(kept)


def _updates_of(corpus: Corpus, options: Options) -> NDArray[np.float64]:
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


_SLICES, _LENGTHS = 12, 6  # of a host's part that are inspected
_MOST = 0.75  # of the rows, touched by a host in a round: then all are held
_BUFFERS = 3  # times the matrices, for those that travel


@dataclass(frozen=True)
class Estimate:
    """What a scheme would need: bytes that all hosts send in a run, and bytes of memory on a host."""

    sent: float
    memory: float


def estimate(
    corpus: Corpus, options: Options, communicator: Communicator, start: Start | None = None
) -> dict[str, Estimate]:
    """Estimate what each scheme needs; all hosts call this, and get the same."""
    counts, hosts, dim, words = corpus.vocabulary.counts, communicator.size, options.dim, int(corpus.cuts[-1])
    combiner, rounds = combiner_of(options.combine), rounds_of(corpus, options, hosts)
    first, usual = round_shares(rounds, hosts)
    seen = allreduce(communicator, _inspect(corpus, options, communicator.rank, rounds, float(first[0])))
    owned, row = corpus.vertices / hosts, 4 * padded_width(dim)
    sent_row = wire_of(options.wire).row_bytes(dim)
    sent = memory = 0.0
    inspected = np.log(np.geomspace(first[0], 1 / rounds, _LENGTHS))
    for shares, times in ((first, 1), (usual, options.epochs - 1)):
        for which in (0, 1):
            rows = np.exp(np.interp(np.log(shares), inspected, np.log(seen[which] + 1)))
            ids = hosts * np.minimum(4 * rows / hosts, hosts * owned / 8)
            sent += times * (hosts - 1) / hosts * float((rows * (2 * sent_row + 4) + ids).sum())
            memory = max(memory, row * float(rows.max()) / hosts)
    number = len(first) + (options.epochs - 1) * rounds
    sent += number * combiner.sent(hosts, dim)
    if combiner.keeps_balance and not start:
        times = sum(is_due(n, hosts) for n in range(number))
        sent += (hosts - 1 / hosts) * 4 * times * dim * (4 * dim + 1)
        sent += 12 * (1 - 1 / hosts) * times * dim * dim  # sums, to the host that solves, have 8 bytes
    pulled = Estimate(sent, 2 * row * MOST * owned + 8 * memory)
    scores = seen[2].sum() / max(seen[3].sum(), 1) * words
    width = ColumnLayout(dim, min(hosts, dim)).width
    sent = options.epochs * (hosts - 1) * (8 * scores + 4 * words + 8 * corpus.sentences)
    return {"pull-opt": pulled, "columns": Estimate(float(sent), 8.0 * width * len(counts))}


def usual_scheme(corpus: Corpus, options: Options, communicator: Communicator) -> str:
    """Choose the scheme of a run that is given none; all hosts call this, and get the same."""
    hosts = communicator.size
    if hosts == 1:
        return "pull-opt"
    updates = _updates_of(corpus, options) / (hosts * rounds_of(corpus, options, hosts))
    needed = _BUFFERS * SCHEMES["rep-opt"].memory(corpus.vertices, options.dim, hosts, options.wire)
    fits = needed <= memory_of_a_host(communicator)
    return "rep-opt" if fits and -np.expm1(-updates).mean() > _MOST else "pull-opt"


def choose(
    corpus: Corpus,
    options: Options,
    communicator: Communicator,
    start: Start | None,
    state: TrainingState | None = None,
) -> tuple[Options, str]:
    """Replace the scheme ``auto``; return the options, and a line that says what was chosen and why.

    As many hosts go on by the scheme that they began with, even if they have other memory now.
    """
    if communicator.size == 1:
        return replace(options, scheme="pull-opt", batch=None), "scheme auto: one host sends nothing"
    if state and state.scheme and state.hosts == communicator.size:
        batch = options.batch if state.scheme == "columns" else None
        return replace(options, scheme=state.scheme, batch=batch), f"scheme {state.scheme}: as the run began"
    found = estimate(corpus, options, communicator, start)
    has = memory_of_a_host(communicator)
    given = {"freezes": bool(start and start.freezes), "goes_on": bool(start and start.goes_on)}
    refused = options.columns_refuse(communicator.size, **given)
    if not refused and (options.batch or 1) * communicator.size > corpus.cuts[-1]:
        refused = "batch", ""
    if refused:
        name = "pull-opt"
    else:
        fitting = [name for name, needs in found.items() if needs.memory <= has]
        name = min(fitting, key=lambda name: found[name].sent, default="")
        name = name or min(found, key=lambda name: found[name].memory)
    shown = "; ".join(
        f"{other} would send {size(needs.sent, memory=True)} and take {size(needs.memory, memory=True)} a host"
        for other, needs in found.items()
    )
    without = f"; no columns, because of `{refused[0]}`" if refused else ""
    line = f"scheme {name}: {shown}; a host has {size(has, memory=True)}{without}"
    batch = options.batch if name == "columns" else None
    return replace(options, scheme=name, batch=batch), line


def _inspect(corpus: Corpus, options: Options, rank: int, rounds: int, least: float) -> NDArray[np.float64]:
    """Inspect slices here, of lengths from a share `least` of an epoch to that of a round.

    Return shape (4, n), by length: mean rows of e and of t that a slice touches; of all slices, scores and positions.
    """
    part, counts = corpus.part(rank), corpus.vocabulary.counts
    operator = options.operator_class(options).on(corpus)
    tables = operator.tables(counts)
    draws = SampleTables(counts, options.sample, tables, options.seed, part.first, options.narrowest).epoch(0)
    kernel, n = inspection_kernel(operator), part.size
    lengths = np.geomspace(least, 1 / rounds, _LENGTHS) * n
    found = np.zeros((4, _LENGTHS))
    for at, length in enumerate(lengths):
        for k in range(_SLICES):
            low = int((n - length) * (2 * k + 1) / (2 * _SLICES))
            high = max(low, min(low + round(length), n))
            sources, destinations = np.zeros((2, corpus.vertices), np.int32)
            for ids, bounds, begin, *ends in part.pieces(low, high):
                own = options.window, operator.sources, draws.ahead(begin)
                kernel(ids, bounds, *ends, *own, sources, destinations)
            touched = np.count_nonzero(sources), np.count_nonzero(destinations)
            samples = int(destinations.sum(dtype=np.int64))
            found[:, at] += touched[0] / _SLICES, touched[1] / _SLICES, samples, high - low
    return found
