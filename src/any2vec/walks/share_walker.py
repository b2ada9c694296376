"""`ShareWalker`: the walks of `Walker` on a graph of which each host has a share.

`Owners` ask questions about vertices, which the hosts answer that have their rows. All hosts ask at the same time,
again and again, until none has a question. A question is a row of words, the vertex first; its answer is one of fewer
words. Answers come back in the order of the questions, so nothing says whose they are.
"""

import mmap
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from any2vec.cluster.communicator import (
    Communicator,
    Counted,
    DamagedError,
    Request,
    allreduce,
    checked_counts,
    together,
)
from any2vec.corpus.cache import place_of
from any2vec.graph.graph import Kinds
from any2vec.graph.shares.share import GraphShare
from any2vec.io.memory import disk_errors, memory_errors, zeros
from any2vec.io.temporary import temporary_folder
from any2vec.llvm.compiled import njit
from any2vec.walks.metapaths import NO_PATHS, Paths, TypedRows, count_between, find_paths, typed_rows
from any2vec.walks.second_order import REFUSALS, bias_of
from any2vec.walks.share_first_order import FIRST_LANE, LIVE, WalkGroup, answer_first, ask_first
from any2vec.walks.share_second_order import ANSWER, QUESTION, SECOND_LANE, answer_second, ask_second
from any2vec.walks.tables import (
    Entries,
    Starts,
    any_twice,
    check_weights,
    counted,
    row_tables,
    start_shares,
    start_table,
    starts_of,
)
from any2vec.walks.walker import STARTS, WalkOptions
from any2vec.walks.worklist import Walks, check_edges, compact, count_visits

Answer = Callable[[NDArray[np.uint32], NDArray[np.uint32]], None]

_ANSWERED_BY_ONE = 4096  # questions that one thread answers at a time, at least


class Buffers:
    """Arrays of words that are used again and again: new ones would cost page faults."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[np.uint32]] = {}

    def __call__(self, name: str, rows: int, words: int) -> NDArray[np.uint32]:
        """Return the array of that name, of shape (rows, words)."""
        kept = self._arrays.get(name)
        if kept is None or kept.size < rows * words:
            kept = self._arrays[name] = np.empty(rows * words + rows * words // 4, np.uint32)
        return kept[: rows * words].reshape(rows, words)


class _Steps(NamedTuple):
    """What asks, with a lane for each walk, and what answers; words are those of a question and an answer."""

    ask: Callable[[NDArray[np.uint32], NDArray[np.int32], WalkGroup, Starts], None]
    lane: "np.dtype[Any]"
    words: int
    answer: Answer
    answer_words: int
    nbytes: int  # of what answers look up


class Owners:
    """The hosts of a group, each of which has the rows of some vertices: host h those from ``cuts[h]`` on.

    Questions about this host's vertices, which are counted from its first, are answered on any thread.
    """

    def __init__(
        self,
        communicator: Communicator,
        cuts: NDArray[np.int64],
        steps: _Steps,
        pool: ThreadPoolExecutor | None,
        threads: int,
    ) -> None:
        self._communicator, self._cuts, self._steps = Counted(communicator), cuts, steps
        self._pool, self._threads = pool, threads

    @property
    def sent(self) -> int:
        """Bytes that this host has sent to others."""
        return self._communicator.sent

    def ask(
        self, questions: NDArray[np.uint32], buffers: Buffers
    ) -> Generator[Request, None, tuple[NDArray[np.uint32], NDArray[np.int32]] | None]:
        """Ask; yield what is under way, to go on once it is done; return answers, and which of them is each question's.

        They stay until `buffers` are used again. None if no host has a question.
        """
        communicator = self._communicator
        size, (many, words) = communicator.size, questions.shape
        send, places = buffers("send", many, words), np.empty(many, np.int32)
        counts, theirs, ones = np.zeros((size, 2), np.int64), np.empty((size, 2), np.int64), np.ones(size, np.int64)
        _sort(questions, self._cuts, send, places, counts)
        counts[:, 1] = many
        yield communicator.ialltoallv(counts, ones, theirs, ones)
        if not theirs[:, 1].any():
            return None
        mine, asked = counts[:, 0].copy(), checked_counts(theirs[:, 0].copy())
        received = buffers("received", int(asked.sum()), words)
        yield communicator.ialltoallv(send, mine, received, asked)
        self._check(received, asked)
        words = self._steps.answer_words
        replies, answers = buffers("replies", len(received), words), buffers("answers", many, words)
        self._reply(received, replies)
        yield communicator.ialltoallv(replies, asked, answers, mine)
        return answers, places

    def _check(self, received: NDArray[np.uint32], asked: NDArray[np.int64]) -> None:
        own = int(self._cuts[self._communicator.rank + 1] - self._cuts[self._communicator.rank])
        if len(received) and (wrong := received[:, 0]).max() >= own:
            host = int(np.searchsorted(np.cumsum(asked), int(wrong.argmax()), side="right"))
            raise DamagedError.of(host, f"{wrong.max():,} as one of {own:,} vertices")

    def _reply(self, received: NDArray[np.uint32], replies: NDArray[np.uint32]) -> None:
        """Answer what was asked, on threads if it is much."""
        parts = min(self._threads, len(received) // _ANSWERED_BY_ONE)
        if parts < 2 or self._pool is None:
            self._steps.answer(received, replies)
            return

        def some(cut: tuple[int, int]) -> None:
            self._steps.answer(received[slice(*cut)], replies[slice(*cut)])

        list(self._pool.map(some, pairwise(len(received) * i // parts for i in range(parts + 1))))


@njit(nogil=True, cache=True)
def _sort(questions: Any, cuts: Any, send: Any, places: Any, counts: Any) -> None:
    """Put questions in the order of the hosts that own their vertices, count those of each, and note their places."""
    hosts = cuts.size - 1
    half = 1
    while 2 * half < hosts:
        half *= 2
    for i in range(questions.shape[0]):
        vertex, host, step = int64(questions[i, 0]), 0, half
        while step > 0:  # no branch: it could not be predicted
            host += step * int64(vertex >= cuts[min(host + step, hosts)])
            step >>= 1
        places[i] = host
        counts[host, 0] += 1
    at = np.zeros(hosts, np.int64)
    for host in range(1, hosts):
        at[host] = at[host - 1] + counts[host - 1, 0]
    for i in range(questions.shape[0]):
        host = places[i]
        place = at[host]
        at[host] = place + 1
        places[i] = place
        send[place, 0] = questions[i, 0] - np.uint32(cuts[host])
        for k in range(1, questions.shape[1]):
            send[place, k] = questions[i, k]


_LANES = 1 << 16  # walks under way on a host: more take fewer messages, and more of the caches
_CREWS = 2  # of walks, one of which is stepped while messages of the other are under way
_FEW = 64  # walks of a thread, at least


def _first_steps(entries: Entries, typed: tuple[TypedRows, Paths] | None, restarts: np.uint64) -> _Steps:
    """Step walks of the first order, along metapaths if they are `typed`."""
    weighted, paths = int(entries.weights is not None), NO_PATHS
    if typed:
        (rows, targets, _), paths = typed
    else:
        rows, targets, *_ = row_tables(entries, second=False, extended=False, gamma=0.0)
    reply = partial(answer_first(weighted), rows, targets, paths.slots)
    words = 2 + weighted + int(typed is not None)
    return _Steps(
        lambda *heard: ask_first(*heard, paths, restarts), FIRST_LANE, words, reply, 1, rows.nbytes + targets.nbytes
    )


def _second_steps(
    entries: Entries,
    options: WalkOptions,
    *,
    directed: bool,
    gathered: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> _Steps:
    """Step node2vec's walks, or node2vec+'s; `gathered` joins what each host has of its vertices."""
    weighted, extended = entries.weights is not None, options.extends(entries)
    tables = row_tables(entries, second=True, extended=extended, gamma=options.gamma)
    levels = gathered(tables.levels[:-2]) if extended else tables.levels
    bias = bias_of(options.p, options.q, weighted=weighted, directed=directed)
    nbytes = sum(array.nbytes for array in tables) + levels.nbytes
    # looks and draws in one question
    both = not extended and (not weighted if options.q > 1 else bias.outward and not directed)
    given = levels, bias, REFUSALS, options.restarts
    reply = partial(answer_second(int(weighted)), tables, bias)
    return _Steps(lambda *heard: ask_second(*heard, *given), SECOND_LANE, QUESTION + int(both), reply, ANSWER, nbytes)


class ShareWalker:
    """Random walks on a graph in shares, by all hosts together, with the bits of `Walker`'s on the whole graph.

    The host that asks for a walk steps it, and each step is drawn where its vertex is: `owners` are the hosts that have
    the vertices. Arguments are this host's share, what connects it with the hosts that have the others, this host's
    threads (1 if it is simulated), and options of `WalkOptions`. Whatever `Walker` raises is raised on all hosts.
    `nbytes` are those of the tables that this host looks up, in place of its share.
    """

    def __init__(self, share: GraphShare, communicator: Communicator, *, threads: int = 1, **how: Any) -> None:
        self.options = options = WalkOptions(**how)
        self.length, self.communicator, self._threads = options.length, communicator, threads
        self.names, self.kinds, self.vertices = share.names, share.kinds, len(share)
        low = int(share.cuts[share.rank])
        entries = Entries(share.indptr, share.indices, share.weights)
        total = allreduce(communicator, np.array([len(share.indices)]))
        with together(communicator):
            check_edges(int(total[0]), share.loops)
            check_weights(share.weights)
        between = partial(self._between, entries, low)
        self.paths = find_paths(options.metapaths, share.kinds, between) if options.metapaths else []
        self.per_pass, self._starts = len(share), np.zeros(0, np.uint64)
        if options.starts != STARTS[0]:
            vertices, shares = start_shares(entries)
            self._starts = start_table(self._gathered(low + vertices), self._gathered(shares))
        if options.second:
            twice = np.array([any_twice(share.indptr, share.indices)])
            if communicator.allgather(twice).any():
                entries = counted(entries)
            steps = _second_steps(entries, options, directed=share.directed, gathered=self._gathered)
        else:
            typed = typed_rows(entries, share.kinds, self.paths, low) if self.paths and share.kinds else None
            self.per_pass = len(typed[1].starts) if typed else len(share)
            steps = _first_steps(entries, typed, options.restarts)
        self._steps, self.nbytes = steps, steps.nbytes
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="any2vec-walks") if threads > 1 else None
        self.owners = Owners(communicator, share.cuts, steps, self._pool, threads)

    def walk(self, first: int, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        """Write walks `first` to ``last - 1``, counted over all passes; all hosts call this together, some for none."""
        passes = range(-(-last // self.per_pass))
        starts = starts_of(self.options.seed, passes, self.per_pass, self._starts)
        crews = [
            self._crew(low, high, out[low - first : high - first], lengths[low - first : high - first], starts)
            for low, high in _parts(first, last, _CREWS)
        ]
        under_way = deque((crew, next(crew)) for crew in crews)
        while under_way:
            crew, request = under_way.popleft()
            request.wait()
            if (more := next(crew, None)) is not None:
                under_way.append((crew, more))

    def close(self) -> None:
        """End the threads."""
        if self._pool:
            self._pool.shutdown()

    def _crew(
        self, first: int, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32], starts: Starts
    ) -> Generator[Request, None, None]:
        """Step some walks, while those of other crews are under way."""
        groups = []
        for low, high in _parts(first, last, max(1, min(self._threads, (last - first) // _FEW))):
            many = max(1, min(_LANES // (_CREWS * self._threads), high - low))
            lanes, state = np.zeros(many, self._steps.lane), np.array([many, low])
            questions = np.zeros((many, self._steps.words), np.uint32)
            groups.append(WalkGroup(lanes, state, low, high, out[low - first :], lengths[low - first :], questions))
        answers, buffers = np.zeros((1, self._steps.answer_words), np.uint32), Buffers()
        places = np.zeros(sum(len(group.lanes) for group in groups), np.int32)
        run = map if self._pool is None or len(groups) == 1 else self._pool.map
        while True:
            ends = np.cumsum([group.state[LIVE] for group in groups])[:-1]
            heard = np.split(places, ends)
            list(run(self._steps.ask, repeat(answers), heard, groups, repeat(starts)))
            asked = [group.questions[: group.state[LIVE]] for group in groups]
            reply = yield from self.owners.ask(asked[0] if len(asked) == 1 else np.concatenate(asked), buffers)
            if reply is None:
                return
            answers, places = reply

    def _between(self, entries: Entries, low: int, kinds: Kinds) -> NDArray[np.int64]:
        return allreduce(self.communicator, count_between(entries.indptr, entries.indices, kinds, low))

    def _gathered(self, own: NDArray[Any]) -> NDArray[Any]:
        """Join arrays of all hosts, of any length."""
        many = np.full(self.communicator.size, len(own), np.int64)
        starts = np.zeros(self.communicator.size, np.int64)
        counts = self.communicator.allgather(many[:1])[:, 0]
        joined = np.empty(int(counts.sum()), own.dtype)
        self.communicator.ialltoallv(np.ascontiguousarray(own), many, joined, counts, starts).wait()
        return joined


def _parts(first: int, last: int, parts: int) -> Iterator[tuple[int, int]]:
    """Cut a range evenly."""
    return pairwise(first + (last - first) * i // parts for i in range(parts + 1))


_ENTRIES = 1 << 24  # vertices walked to at a time


def walk_shares(walker: ShareWalker, walks: int, large: int) -> Walks:
    """Generate this host's walks, in order, those of `large` bytes or more in a file; all hosts call this together."""
    rank, size = walker.communicator.rank, walker.communicator.size
    total = walks * walker.per_pass
    first, last = total * rank // size, total * (rank + 1) // size
    at_once = max(1, _ENTRIES // walker.length)
    with together(walker.communicator), memory_errors("the walks"):
        room = (last - first) * walker.length
        ids = _file(room) if room and 4 * room >= large else zeros(room, np.int32, whole=False)
        bounds, visits = np.zeros(last - first + 1, np.int64), zeros(walker.vertices, np.int64)
        most = min(at_once, last - first)
        out, lengths = np.empty((most, walker.length), np.int32), np.empty(most, np.int32)
    end = 0
    for start in range(0, -(-total // size), at_once):
        low, high = (min(first + start + more, last) for more in (0, at_once))
        walker.walk(low, high, out, lengths)
        done = compact(out[: high - low], lengths[: high - low])
        count_visits(done, visits)
        ids[end : end + len(done)] = done
        bounds[low - first + 1 : high - first + 1] = end + np.cumsum(lengths[: high - low])
        end += len(done)
    return Walks(ids[:end], bounds, visits)


def _file(entries: int) -> NDArray[np.int32]:
    """Map a file of int32, whose disk is taken now, as a full one could not be told of later."""
    temporary = temporary_folder(place_of("auto").folder)
    path = temporary.path / "walks.int32"
    try:
        with disk_errors(temporary.path, f"walks take {4 * entries:,} bytes"), path.open("w+b") as file:
            os.posix_fallocate(file.fileno(), 0, 4 * entries)
            with memory_errors("the walks"):
                mapped = mmap.mmap(file.fileno(), 4 * entries)
    finally:
        temporary.remove()
    return np.frombuffer(mapped, np.int32)
