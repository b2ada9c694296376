"""A short measurement on this machine: words per second of a thread, inspection, merging, copies."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import Counted, Request
from any2vec.cluster.local import alone
from any2vec.cluster.workers import Workers
from any2vec.corpus import Corpus, Vocabulary, Worklist
from any2vec.corpus.corpus import StoredWorklist
from any2vec.corpus.lines import LineRows
from any2vec.corpus.parts import WordRows
from any2vec.errors import Any2VecError
from any2vec.graph.shares.share import cut_graph
from any2vec.io.memory import available, size
from any2vec.operators import Operator
from any2vec.operators.kernel import inspection_kernel
from any2vec.operators.matrices import new_matrices, padded_width
from any2vec.plan.formulas import number_of_rows
from any2vec.plan.text import Text
from any2vec.plan.walking import WALKS, WalkedGraph, WalkSpeeds
from any2vec.report import Report
from any2vec.samples.windows import SampleTables
from any2vec.sync.balance import Balance
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import CombinerContext, Round, Touched, combiner_of
from any2vec.sync.combiners.quadratic import SEEN
from any2vec.sync.masters import Changes, merge
from any2vec.sync.scheme import warm_up
from any2vec.sync.wire import WIRES
from any2vec.training.options import Options
from any2vec.training.progress import Quiet
from any2vec.training.trainer import train
from any2vec.walks.share_walker import ShareWalker
from any2vec.walks.walker import Walker

_MOST_WALKS = 1 << 24  # positions of the walks that are measured
_FEW = 64  # walks that compile the kernels
_BLOCK = 4096  # walks that a thread takes at a time, on the whole graph


class _Counting(Counted):
    """One host, which counts the questions and answers that it sends itself, and how often."""

    def __init__(self) -> None:
        super().__init__(alone())
        self.rounds = 0

    def ialltoallv(self, send: NDArray[Any], send_counts: NDArray[np.int64], *others: Any, **more: Any) -> Request:
        """Send to this host itself."""
        if send.dtype == np.uint32:
            self.sent += int(send_counts.sum()) * send[:1].nbytes
        else:
            self.rounds += 1
        return super().ialltoallv(send, send_counts, *others, **more)


def measure_walks(graph: WalkedGraph) -> WalkSpeeds:
    """Walk as many walks as a host has under way at a time; those in parts are measured if hosts may have parts."""
    length = graph.how["length"]
    walker = Walker(graph.graph, **graph.how, seed=graph.seed)
    many = max(1, min(WALKS, graph.walks * walker.per_pass, _MOST_WALKS // length))
    out, lengths = np.empty((many, length), np.int32), np.empty(many, np.int32)
    here = min(many, walker.per_pass)

    def walk(last: int) -> None:
        for low in range(0, last, _BLOCK):
            high = min(low + _BLOCK, last)
            walker.walk(0, low, high, out[low:high], lengths[low:high])

    walk(min(here, _FEW))
    took = _seconds(lambda: walk(here))
    speed = int(lengths[:here].sum()) / took
    if graph.place == "whole":
        return WalkSpeeds(speed, speed, 0.0, 0.0)
    host = _Counting()
    asking = ShareWalker(cut_graph(graph.graph, 1, 0), host, **graph.how, seed=graph.seed)
    asking.walk(0, min(many, _FEW), out[:_FEW], lengths[:_FEW])
    host.sent = host.rounds = 0
    took = _seconds(lambda: asking.walk(0, many, out, lengths))
    positions = int(lengths.sum())
    return WalkSpeeds(speed, positions / took, host.sent / positions, float(host.rounds))


def _seconds(call: Callable[[], object], times: int = 1) -> float:
    """Return the CPU seconds of a call, the shortest of some."""
    found = []
    for _ in range(times):
        began = time.thread_time()
        call()
        found.append(time.thread_time() - began)
    return max(min(found), 1e-9)


_FIRST, _MOST = 20_000, 2_000_000  # words trained on: to learn how fast it is; then for some time
_SECONDS = 1.5
_ROWS, _FEW_ROWS = SEEN, 512  # merged, and looked at
_SHARE = 0.25  # of the memory left here that the model of the measurement may take
_VERTICES = 1 << 19  # rows at most: they exceed all caches
_FEWEST, _LESS = 2, 0.9  # words, of which parts may be many; at least so much less of them, if there is no room
_LENGTH = 20  # words of a sentence of a text that was not read


@dataclass(frozen=True)
class Speeds:
    """What one thread does on this machine with the options of the plan."""

    words: float  # of the vocabulary trained on in a second, those that subsampling leaves out included
    inspected: float  # words in a second
    part: float  # seconds to merge a row of one host
    row: float  # and for a row however many hosts changed it
    prepared: float  # seconds in which a combiner prepares for a round
    row_prepared: float  # and for each row that it looks at: up to 4,096 of each matrix, of all hosts together
    balanced: float  # seconds of a correction of the balance of e and t
    copied: float  # bytes in a second, row by row
    walks: WalkSpeeds | None = None  # on a graph


def measure(text: Text, options: Options) -> Speeds:
    """Measure with a part of the text, or words drawn by its counts, and with walks on the graph; takes some seconds.

    It is an Any2VecError if not even a model of a thousand vertices fits into the memory here.
    """
    options = replace(options, threads=1, hosts=1, epochs=1, scheme=None, rounds=None, batch=None, wire="float32")
    with threadpool_limits(1, "blas"):
        return _measured(text, options)


def _measured(text: Text, options: Options) -> Speeds:
    corpus = _sample(text, text.operator(options), options.dim, _MOST)
    first = _trained(corpus, options, _FIRST)
    words = int(min(max(first * _SECONDS, _FIRST), _MOST))
    speed = _trained(corpus, options, words)
    part, row, balanced = _merging(options)
    prepared = [_preparing(options, rows) for rows in (_FEW_ROWS, _ROWS)]
    each = max(prepared[1] - prepared[0], 0.0) / (2 * (_ROWS - _FEW_ROWS))
    fixed = max(prepared[0] - 2 * _FEW_ROWS * each, 0.0)
    walks = None if text.graph is None else measure_walks(text.graph)
    found = speed, _inspected(corpus, options, words), part, row, fixed, each, balanced, _copied(options.dim)
    return Speeds(*found, walks)


def _sample(text: Text, operator: Operator, dim: int, most: int) -> Corpus:
    """Return the beginning of a text, or some words drawn by counts, with the vocabulary that memory allows here."""
    has, number = available(), number_of_rows(text, operator)
    room = int(min(number, has * _SHARE / (8 * padded_width(dim)), _VERTICES))
    if room < min(1000, number):
        raise Any2VecError(f"`dim` is {dim:,}: there are only {size(has, memory=True)} of memory here to measure with")
    if text.worklist is not None and (room >= number or text.lines):
        counts, worklist = text.counts.astype(np.int64), _beginning(text.worklist, most)
        return _corpus(counts, worklist, _folded(text.lines, room) if text.lines else operator.rows)
    counts, rows = _fitting(text, operator, room)
    chances = np.cumsum(counts / counts.sum())
    drawn = np.minimum(np.searchsorted(chances, np.random.default_rng(1).random(most)), len(counts) - 1)
    worklist = StoredWorklist(drawn.astype(np.int32), np.arange(0, most + 1, _LENGTH, dtype=np.int64))
    return _corpus(counts, worklist, rows)


def _folded(rows: LineRows, room: int) -> LineRows:
    """Let lines share so many rows, for which there is room."""
    grams, end, uses = rows.grams % room, rows.end % room, rows.uses[:room]
    return replace(rows, rows=rows.rows % room, grams=grams, end=end, uses=uses)


def _fitting(text: Text, operator: Operator, room: int) -> tuple[NDArray[np.int64], WordRows | None]:
    """Return the counts of the most frequent words, and their rows if they have parts, for which there is room."""
    vertices = int(min(room, text.vertices))
    while True:
        ends = np.minimum(np.cumsum(text.many), vertices).astype(np.int64)
        counts = np.maximum(np.repeat(text.counts, np.diff(np.append(0, ends))), 1).astype(np.int64)
        if operator.rows is None or text.vocabulary is None:
            return counts, None
        rows = operator.divide(Vocabulary(text.vocabulary.words[: len(counts)], counts))
        if rows is None or rows.number <= room or len(counts) <= _FEWEST:
            return counts, rows
        vertices = max(int(vertices * min(room / rows.number, _LESS)), _FEWEST)


def _beginning(worklist: Worklist, words: int) -> StoredWorklist:
    """Copy the sentences that begin before a position."""
    ids, lengths = list[NDArray[np.int32]](), [np.zeros(1, np.int64)]
    for words_, bounds, _, _, high in worklist.pieces(0, min(words, worklist.size)):
        sentences = int(np.searchsorted(bounds, high))
        ids.append(words_[: bounds[sentences]])
        lengths.append(np.diff(bounds[: sentences + 1]))
    return StoredWorklist(np.concatenate(ids), np.cumsum(np.concatenate(lengths)))


def _corpus(counts: NDArray[np.int64], worklist: StoredWorklist, rows: WordRows | None) -> Corpus:
    """Make a corpus for one host, whose words are numbers."""
    n, vocabulary = worklist.size, Vocabulary([str(i) for i in range(len(counts))], counts)
    cuts = np.array([0, n], np.int64)
    return Corpus(vocabulary, worklist, n, len(worklist), 0, cuts, range(1), True, {}, Path(), rows=rows)


def _trained(corpus: Corpus, options: Options, words: int) -> float:
    """Train on the first words; return how many a second."""
    worklist, report = _beginning(corpus.worklist, words), Report(options={})
    train(_corpus(corpus.vocabulary.counts, worklist, corpus.rows), options, alone(), Quiet(), report)
    return worklist.size / max(sum(report.rounds.seconds["computation"]), 1e-9)  # CPU seconds: other programs may run


def _inspected(corpus: Corpus, options: Options, words: int) -> float:
    worklist, counts = corpus.worklist, corpus.vocabulary.counts
    operator = options.operator_class(options).on(corpus)
    tables = operator.tables(counts)
    draws = SampleTables(counts, options.sample, tables, options.seed, narrowest=options.narrowest).epoch(0)
    kernel, found = inspection_kernel(operator), np.zeros((2, corpus.vertices), np.int32)
    n = min(words, worklist.size)

    def run(last: int) -> None:
        for ids, bounds, _, *ends in worklist.pieces(0, last):
            kernel(ids, bounds, *ends, options.window, operator.sources, draws, found[0], found[1])

    run(0)
    return n / _seconds(lambda: run(n), 3)


def _merging(options: Options) -> tuple[float, float, float]:
    """Merge rows of two and of four hosts; return seconds of a host's row, of a row besides, and of the balance."""
    seconds, balanced = [], 0.0
    for hosts in (2, 4):
        context, combiner, touched = _combining(options, _ROWS)
        rows = np.tile(np.arange(_ROWS, dtype=np.int32), hosts)
        values = np.tile(touched.matrix[:_ROWS] + np.float32(0.01), (hosts, 1))
        ends = np.arange(hosts + 1, dtype=np.int64) * _ROWS
        changes = Changes(rows, ends, values, np.tile(touched.updates, hosts))
        with Workers(1, context.channel.communicator) as workers:
            seconds.append(min(merge(context.masters, {"e": changes}, combiner, workers).seconds for _ in range(3)))
        if combiner.keeps_balance:
            balance, both = Balance(context.masters, context.channel), {"e": changes, "t": changes}
            balanced = _seconds(partial(_rebalance, balance, both), 3)
    part = max(seconds[1] - seconds[0], 0.0) / (2 * _ROWS)
    return part, max(seconds[0] / _ROWS - 2 * part, 0.0), balanced


def _rebalance(balance: Balance, changes: dict[str, Changes]) -> None:
    balance.begin(0, changes)
    balance.end(0)


def _preparing(options: Options, rows: int) -> float:
    _, combiner, touched = _combining(options, rows)
    return _seconds(lambda: combiner.begin(Round(0, 0.025, 0.2), {"e": touched, "t": touched}), 3)


def _combining(options: Options, rows: int) -> tuple[CombinerContext, Any, Touched]:
    """Return a combiner that has prepared for a round, and what it prepared with."""
    masters, random = new_matrices(0, rows, options.dim), np.random.default_rng(1)
    for matrix in (masters.e, masters.t):
        matrix[:rows, : options.dim] = random.normal(0, 0.1, (rows, options.dim))
    per_pair = {"e": 1.0 + options.negatives, "t": 1.0}
    context = CombinerContext(masters, per_pair, Channel(alone()))
    combiner = combiner_of(options.combine).bind(context)
    with Workers(1, context.channel.communicator) as workers:
        warm_up(combiner, WIRES["float32"](options.dim, workers))
    touched = Touched(masters.e, np.arange(rows, dtype=np.int32), np.full(rows, 8, np.int32))
    combiner.begin(Round(0, 0.025, 0.2), {"e": touched, "t": touched})
    return context, combiner, touched


def _copied(dim: int) -> float:
    rows = max(1, (1 << 25) // (4 * padded_width(dim)))
    matrix: NDArray[np.float32] = np.ones((rows, padded_width(dim)), np.float32)
    order, out = np.arange(rows), np.empty_like(matrix)
    return matrix.nbytes / _seconds(lambda: np.take(matrix, order, axis=0, out=out, mode="clip"), 3)
