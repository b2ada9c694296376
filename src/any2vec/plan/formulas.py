"""All formulas of a plan: rows that a round touches, bytes, memory, seconds. Each docstring has the derivation.

H hosts take n positions of a text of N words each in a round. Host j owns the masters of a range of vertices, such
that hosts touch as many rows of each owner (`sync.channel`). All hosts take like slices, so what is expected of one
is expected of each, and arrays are by owner: ``x[j]`` is what a host does with the rows that host j owns.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators import LOSSES, Operator
from any2vec.operators.matrices import padded_width
from any2vec.plan.quantities import PROGRAM, Cluster, seconds_of
from any2vec.plan.text import Text
from any2vec.samples.targets import huffman_paths, probabilities
from any2vec.samples.windows import mean_context
from any2vec.sync import SCHEMES
from any2vec.sync.balance import is_due
from any2vec.sync.channel import Partition
from any2vec.sync.combiners import Combiner
from any2vec.sync.rows import NEARLY
from any2vec.sync.wire import wire_of

_ID = _COUNT = 4  # bytes
_GROWN = 1.25  # buffers that grow get a quarter more
_TINY = 1e-300


class _Samples(NamedTuple):
    """Per position of W, in the mean: windows, their context words, negatives drawn, scores; and what is kept."""

    windows: float
    contexts: float
    draws: float
    scores: float
    kept: float


def samples(text: Text, operator: Operator) -> _Samples:
    """Count what a position of W gives.

    Subsampling keeps the share s of the positions. A kept one is the centre of a window unless it is alone in its
    sentence, of l words: with probability ``1 - (1 - s)^(l - 1)``. `mean_context` has the words of a window. Negatives
    are drawn K times for each window, or each pair. A score is computed for each pair and each target, but not for
    negatives that are the centre. If v is a share q_v of the centres and p_v of the negatives, these are
    K sum_v q_v p_v of a window's K + 1 targets. CBOW has one score for each target. Hierarchical softmax has one for
    each vertex on the centre's path.
    """
    options, many = operator.options, text.many
    kept = text.counts * many * text.keep(options.sample)
    share, lengths = float(kept.sum()) / text.words, text.lengths
    alone = float(lengths @ (1 - share) ** (lengths - 1)) / float(lengths.sum())
    windows = share * (1 - alone)
    contexts = mean_context(lengths, options.window, options.narrowest, share) / max(1 - alone, _TINY)
    negatives, centres = probabilities(text.counts, operator.exponent, many), kept / kept.sum()
    draws = windows * operator.draws(contexts)
    targets = 1 + options.negatives * (1 - float(centres @ (negatives / many)))
    if by_tree(operator):
        targets = float(centres @ huffman_paths(text.counts.astype(np.int64)).lengths)
    return _Samples(windows, contexts, draws, windows * targets * (1.0 if operator.joined else contexts), share)


def by_tree(operator: Operator | type[Operator]) -> bool:
    """Whether rows of t are those of the inner vertices of a Huffman tree of words."""
    return operator.loss == LOSSES[1] and not operator.lines


def number_of_rows(text: Text, operator: Operator) -> float:
    """Return the rows of a matrix: V, or V + P with P rows of parts."""
    return text.vertices if operator.rows is None else float(operator.rows.number)


def reach(window: int, narrowest: int, share: float, length: float) -> float:
    """Return the positions on one side of a slice that its windows read.

    The kept word at distance d from the slice is a source if a window of the slice is wide enough. A window has m words
    or more on a side with probability ``(w - m + 1) / w``. The windows from which the word is m = d .. w away are all
    too narrow with probability prod (m - 1) / w, or 0 if all windows have w. There is a kept word in 1 / s positions.
    The sentence, of l words, ends before a position at distance x with probability x / l.
    """
    missed = [] if narrowest == window else [np.prod(np.arange(d - 1, window) / window) for d in range(1, window + 1)]
    positions = (window - float(np.sum(missed))) / share
    return positions * max(1 - positions / (2 * length), 0.5)


class Rows(NamedTuple):
    """Rows by owner, each of shape (H,) or (L, H); of words with parts, e has rows of words and parts, t of words."""

    owned: NDArray[np.float64]  # all rows that an owner has of a matrix; row i of e and of t has the same owner
    e: NDArray[np.float64]  # that a host touches in a round
    t: NDArray[np.float64]
    either: NDArray[np.float64]  # numbers of rows of which it touches that of e or that of t
    any_e: NDArray[np.float64]  # that one host or more touch
    any_t: NDArray[np.float64]
    pooled: NDArray[np.float64]  # of t, that the scheme `server` holds: of the round's words and of its pool
    pooled_t: NDArray[np.float64]  # those of them that it touches

    def at(self, lengths: NDArray[np.float64], length: float) -> "Rows":
        """Interpolate between rounds of some lengths, rising: logarithms of rows by those of lengths."""
        known, wanted = np.log(lengths), np.log(length)
        k = int(np.clip(np.searchsorted(known, wanted), 1, len(known) - 1)) if len(known) > 1 else 0
        by = (wanted - known[k - 1]) / (known[k] - known[k - 1]) if k else 0.0
        logs = [np.log(np.maximum(one, _TINY)) for one in self]
        return Rows(*(np.exp(one[k - 1] + by * (one[k] - one[k - 1]) if k else one[0]) for one in logs))


def rows(
    text: Text, operator: Operator, lengths: NDArray[np.float64], hosts: int, times: NDArray[np.float64] | None = None
) -> Rows:
    """Expect the rows that rounds of some positions touch, shape (L, H).

    A run has each so many `times`; without them, hosts own as many vertices each.

    A row of e is touched if a kept occurrence lies in the slice or in reach of it. A row of t is touched if one lies in
    the slice, or if one of the m negatives drawn is the vertex: none is with probability ``(1 - p)^m ~ exp(-m p)``. An
    inner vertex of a Huffman tree is not touched if no vertex below it lies in the slice. The slices of H hosts are far
    apart, so that none of them has a vertex with the H-th power of one's probability.

    If centres are the sources, it is the other way round: a row of t is touched by what is in reach, or drawn. If words
    have parts, a row of e is touched by any word that has it. Lines touch what their kernel lists.

    A pool has ``K D`` draws for D distinct words of the slice. A vertex is in it with probability 1 - exp(-K D p), and
    of M in the pool, m draws miss each one with probability exp(-m / M).
    """
    if operator.lines:
        number = round(number_of_rows(text, operator))
        both = text.absent(lengths, 0.0, operator.rows, operator)
        source, target, many = both[:, :number], _filled(both[:, number:], number), np.ones(number)
        either, pools = source * target, [target, target]
    else:
        source, target, either, pools, many = _of_windows(text, operator, lengths)
    use = np.ones(len(many)) if times is None else times @ (2 - source - target)
    bounds = Partition.by_use(use, hosts, many).bounds
    touched = source, target, either, source**hosts, target**hosts, *pools
    owned = np.tile(np.diff(bounds).astype(np.float64), (len(lengths), 1))
    return Rows(owned, *(_by_owner(1 - one, many, bounds) for one in touched))


def _of_windows(text: Text, operator: Operator, lengths: NDArray[np.float64]) -> tuple[Any, ...]:
    """Return how likely rounds do not touch a row of e, of t, of either, and of pools; and how many rows are so."""
    options, many, found = operator.options, text.many, samples(text, operator)
    more = 2 * reach(options.window, options.narrowest, found.kept, float(text.lengths.mean()))
    absent = text.absent(np.concatenate([lengths, lengths + more]), options.sample)
    centre, context = absent[: len(lengths)], absent[len(lengths) :]
    target, source = (context, centre) if operator.from_centre else (centre, context)
    p = probabilities(text.counts, operator.exponent, many) / many
    draws = lengths[:, None] * found.draws
    distinct = ((1 - centre) @ many)[:, None]
    in_pool = -np.expm1(-options.negatives * distinct * p)
    drawn = in_pool * -np.expm1(-draws / np.maximum(in_pool @ many, 1)[:, None])
    pools = [context * (1 - in_pool), centre * (1 - drawn)]
    if by_tree(operator):
        target = _inner(text, target)
        either = source * target
    else:
        target, either = target * np.exp(-draws * p), source * np.exp(-draws * p)
    if operator.rows is not None:
        source = text.absent(lengths if operator.from_centre else lengths + more, options.sample, operator.rows)
        target, *pools = (_filled(one, operator.rows.number) for one in (target, *pools))
        either, many = source * target, np.ones(operator.rows.number)
    return source, target, either, pools, many


def _inner(text: Text, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely no vertex below each inner vertex of the Huffman tree is a centre."""
    paths = huffman_paths(text.counts.astype(np.int64))
    logs = np.log(np.maximum(centre, _TINY))
    inner = [np.bincount(paths.steps >> 1, np.repeat(one, paths.lengths), len(one)) for one in logs]
    return np.exp(np.stack(inner))


def _filled(absent: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Add rows that are never touched, up to so many."""
    return np.pad(absent, ((0, 0), (0, number - absent.shape[1])), constant_values=1.0)


def _by_owner(
    present: NDArray[np.float64], many: NDArray[np.float64], bounds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Sum probabilities over the vertices of each host's range of ids, which may cut a group."""
    ends = np.append(0.0, np.cumsum(many))
    sums = np.cumsum(present * many, axis=1)
    return np.stack([np.diff(np.interp(bounds, ends, np.append(0.0, one))) for one in sums])


@dataclass(frozen=True)
class Traffic:
    """What a host sends and holds in a round; `calls` of all hosts are waited for one after the other."""

    inspect: NDArray[np.float64]  # bytes between it and each owner, its own included: to masters
    reduce: NDArray[np.float64]
    broadcast: NDArray[np.float64]  # and from them
    calls: float
    copied: float = 0.0  # rows that the host copies which copies most: to send them, or from where they came
    buffers: NDArray[np.float64] | float = 0.0  # bytes

    @property
    def phases(self) -> tuple[NDArray[np.float64], ...]:
        """All three."""
        return self.inspect, self.reduce, self.broadcast

    @property
    def sent(self) -> float:
        """Bytes that all hosts send: each to, or from, H - 1 owners; with its own masters it talks for nothing."""
        return (len(self.inspect) - 1) * float((self.inspect + self.reduce + self.broadcast).sum())


def traffic(scheme: str, rows: Rows, dim: int, format_: str | None, rebalanced: float = 0.0) -> Traffic:
    """Return what a round of a scheme of rows sends, copies and holds.

    - rep-naive: all rows, with an int32 of updates, to masters; all rows from them. They are sent from where they lie.
    - rep-opt: to masters, the rows touched, with ids and updates; from them, the rows that any host touched, with ids.
      All rows are sent if these are more than 0.9 of them. If rows are rounded, masters send all rows in rounds that
      are `rebalanced`: in that share of the rounds, at most. What is sent is gathered, what comes is put into place.
    - pull-base: ids and updates of vertices touched, before the round; both rows of each, to and fro, gathered by
      masters.
    - pull-opt: the same for rows of e and of t apart.
    - server: ids and updates; rows with an int32 of ids each: from masters before and after the round, and to them.

    Ids for an owner are a list of int32, or a bit for each of its rows (`sync.channel`).

    A round takes two calls of all hosts for its sums. Ids of a matrix take two, lengths and content, and updates of
    PullModel one more. To reduce takes one call, as both matrices are on their way at the same time. RepModel
    broadcasts them one after the other, PullModel together, `server` twice.

    PullModel holds proxies of both matrices, as many as of the larger; rows that hosts send to an owner, and those
    that it sends back, lie in buffers: H x[j] each. RepModel has such buffers for the rows it receives, those that it
    sends, unless that are all, and those that it gets back. Buffers have a quarter to grow.
    """
    nothing, owned, hosts = np.zeros_like(rows.e), rows.owned, len(rows.e)
    wire, row = wire_of(format_).row_bytes(dim), 4 * padded_width(dim)
    if scheme == "rep-naive":
        buffers = 2 * _GROWN * wire * hosts * owned
        return Traffic(nothing, 2 * owned * (wire + _COUNT), 2 * owned * wire, 2 + 1 + 2, 0.0, buffers)
    if scheme == "rep-opt":
        to, back, touched, of_any = nothing.copy(), nothing.copy(), rows.e + rows.t, rows.any_e + rows.any_t
        for mine, changed in ((rows.e, rows.any_e), (rows.t, rows.any_t)):
            whole = mine.sum() > NEARLY * owned.sum()
            sent = owned if whole else mine
            came = owned if whole else np.where(changed > NEARLY * owned, owned, changed)
            to += _ids(sent, owned) + sent * (wire + _COUNT)
            back += (1 - rebalanced) * (_ids(came, owned) + came * wire) + rebalanced * owned * wire
        copied = float((touched + of_any).sum() + of_any.max())
        received = touched.sum() + max(rows.any_e.sum(), rows.any_t.sum())
        return Traffic(nothing, to, back, 2 + 4 + 1 + 6, copied, _GROWN * wire * (hosts * touched + received))
    as_one, again = scheme == "pull-base", scheme == "server"
    e, t = (rows.either, rows.either) if as_one else (rows.e, rows.pooled if again else rows.t)
    inspect = _ids(e, owned) + (0 if as_one else _ids(t, owned)) + (e + t) * _COUNT
    values = (e + t) * (wire + _ID * again)
    rounded = wire * float((e + t).sum()) if wire < row else 0.0
    buffers = _GROWN * (2 * row * max(e.sum(), t.sum()) + 2 * wire * hosts * (e + t) + rounded)
    calls = 2 + (2 if as_one else 4) + 2 + 1 + (1 + again)
    return Traffic(inspect, values, (1 + again) * values, calls, hosts * float((e + (1 + again) * t).max()), buffers)


def _ids(named: NDArray[np.float64], owned: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(_ID * named, np.ceil(owned / 8))


def traffic_of_columns(
    words: float, sentences: float, scores: float, batches: float, rounds: float, hosts: int
) -> Traffic:
    """Return what rounds by columns send (glint-word2vec, section 2): W, partial scores, steps.

    A host sends its ids of W and lengths of sentences to all others. Each sends its parts of the scores, float32, to
    the owner of the centre, 1 / H of them to each, and the owner sends the steps to all. A mini-batch takes two calls,
    64 of them one more, and a round five: for W, and its sums.
    """
    values = np.full(hosts, 4 * scores / hosts)
    ids = np.full(hosts, (_ID * words + 8 * sentences) / hosts)
    return Traffic(ids, values, values, 5 * rounds + batches * (2 + 1 / 64))


def balances(combiner: Combiner, rounds: int, hosts: int) -> int:
    """Return after how many rounds of a run the balance of e and t is corrected (`sync.balance.is_due`)."""
    return sum(is_due(number, hosts) for number in range(rounds)) if combiner.keeps_balance else 0


def moments(combiner: Combiner, rounds: int, hosts: int, dim: int) -> tuple[float, float, float]:
    """Return what the rounds of a run send to prepare to combine and to keep the balance of e and t.

    These are the bytes of all hosts; those that take time, which host 0 receives or sends; and calls.

    `Channel.reduce` of n bytes sends (1 - 1/H) n of each host to the others, which sum a part each, and then as many of
    all to host 0. `distribute` is the same in the other direction. So both send (H - 1/H) n, of which 2 (1 - 1/H) n are
    host 0's: 2 / (H + 1) of them. Both take two calls. Combiners know what they send; curvature reduces and distributes
    twice. The balance reduces 3 D x D float32, whose sums are float64, and distributes D x (D + 1), after rounds where
    it is due.
    """
    each, due = combiner.sent(hosts, dim), balances(combiner, rounds, hosts)
    sums = 12 * dim**2 * (hosts - 1) + 24 * dim**2 * (1 - 1 / hosts)
    directions = 4 * dim * (dim + 1) * (hosts - 1 / hosts)
    sent = rounds * each + due * (sums + directions)
    return sent, 2 / (hosts + 1) * sent, 8.0 * rounds * (each > 0) + 4 * due


def memory(
    scheme: str,
    text: Text,
    operator: Operator,
    dim: int,
    owned: NDArray[np.float64],
    buffers: NDArray[np.float64] | float = 0.0,
    format_: str | None = None,
) -> float:
    """Return the bytes that the host needs which needs most; of a graph, walks besides.

    The program takes some 160 MiB (benchmarks/README.md). The scheme says what its masters, or columns, take. Tables
    have 20 bytes for a vertex: its count, threshold and column of the alias table; its word takes some 60. Of several
    hosts, schemes of rows have two numbers more for each row, and two for inspection. If words have parts, there are
    lists of rows, and a weight of each row. A classifier is copied in the end: each host has all rows of it.
    """
    number, large, hosts = number_of_rows(text, operator), SCHEMES[scheme], len(owned)
    own = [float(large.memory(round(number), dim, hosts, format_, round(rows))) for rows in owned.tolist()]
    found = np.array(own) + PROGRAM + 80 * text.vertices
    if operator.rows is not None:
        found += operator.rows.nbytes + 8 * number
    if hosts > 1 and not large.by_columns:
        found = found + (16 if large.inspects else 8) * number
    copied = 4 * dim * (number + len(text.lines.label_counts)) if text.lines else 0.0
    return float((found + np.maximum(buffers, copied)).max())


def seconds_sent(phase: NDArray[np.float64], cluster: Cluster) -> float:
    """Return how long a phase takes on the network: as long as the host that sends or receives most.

    A host sends x[j] to each owner j but itself, X - x[j] in all, and owner j receives (H - 1) x[j]. On the way back
    the directions are exchanged.
    """
    return seconds_of(max(float((phase.sum() - phase).max()), (len(phase) - 1) * float(phase.max())), cluster)


def seconds_waited(calls: float, cluster: Cluster) -> float:
    """Return how long messages of so many calls are on their way, however short they are: twice the latency each.

    A message is sent when the other host has said that it is ready to receive it. All begin a call at the same time:
    nobody has said so before.
    """
    return 2 * calls * cluster.latency
