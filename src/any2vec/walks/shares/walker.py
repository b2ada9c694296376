"""`ShareWalker`: the walks of `Walker` on a graph of which each host has a share."""

import mmap
import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Request, allreduce, together
from any2vec.corpus.cache import place_of
from any2vec.graph.graph import Kinds
from any2vec.graph.shares.share import GraphShare
from any2vec.io.memory import disk_errors, memory_errors, zeros
from any2vec.io.temporary import temporary_folder
from any2vec.walks.metapaths import Paths, TypedRows, count_between, find_paths, typed_rows
from any2vec.walks.second_order import REFUSALS
from any2vec.walks.shares.first_order import FirstLanes, answer_first, ask_first
from any2vec.walks.shares.owners import Answer, Buffers, Owners
from any2vec.walks.shares.second_answers import ANSWER, QUESTION, answer_second
from any2vec.walks.shares.second_order import SecondLanes, ask_second
from any2vec.walks.tables import (
    Entries,
    any_twice,
    check_weights,
    counted,
    pass_key,
    row_tables,
    sides,
    start_shares,
    start_table,
)
from any2vec.walks.walker import STARTS, check_walks
from any2vec.walks.worklist import Walks, check_edges, compact, count_visits

__all__ = ["ShareWalker", "Steps", "first_steps", "second_steps", "walk_shares"]

_NO_PATHS = Paths(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(4)))


class Steps(NamedTuple):
    """What asks and what answers.

    Attributes
    ----------
    ask : callable
        ``ask(answers, places, lanes, live, upcoming, first, last, keys, per_pass, left, right, starts, ..., out,
        lengths, questions)``, a kernel: hears answers, and asks the next questions.
    given : tuple
        What it takes besides, between `starts` and `out`.
    lanes : type
        The walks that it steps.
    words : int
        Of a question.
    answer : callable
        Answers questions about this host's vertices.
    answer_words : int
        Of an answer.
    nbytes : int
        Bytes of what answers look up.
    """

    ask: Callable[..., tuple[int, int]]
    given: tuple[Any, ...]
    lanes: type[FirstLanes] | type[SecondLanes]
    words: int
    answer: Answer
    answer_words: int
    nbytes: int


def first_steps(entries: Entries, typed: tuple[TypedRows, Paths] | None, restart: np.uint64) -> Steps:
    """Step walks of the first order, along metapaths if they are `typed`."""
    weighted, slots, paths = int(entries.weights is not None), 1, _NO_PATHS
    if typed:
        (rows, targets, slots, _), paths = typed
    else:
        rows, targets, *_ = row_tables(entries, second=False, extended=False, gamma=0.0)
    reply = answer_first(weighted)

    def answer(questions: NDArray[np.uint32], answers: NDArray[np.uint32]) -> None:
        reply(rows, targets, slots, questions, answers)

    words = 2 + weighted + int(typed is not None)
    return Steps(ask_first, (paths, restart), FirstLanes, words, answer, 1, rows.nbytes + targets.nbytes)


def second_steps(
    entries: Entries,
    p: float,
    q: float,
    restart: np.uint64,
    *,
    directed: bool,
    gamma: float | None,
    gathered: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> Steps:
    """Step node2vec's walks, or with a `gamma` node2vec+'s; `gathered` joins what each host has of its vertices."""
    weighted, extended = entries.weights is not None, gamma is not None and entries.weights is not None and q != 1
    tables = row_tables(entries, second=True, extended=extended, gamma=gamma or 0.0)
    rows, targets, heaviest, table, own = tables
    levels = gathered(own[:-2]) if extended else own
    looked_up = rows, targets, heaviest, table, table.view(np.float32), own
    reply = answer_second(int(weighted))

    def answer(questions: NDArray[np.uint32], answers: NDArray[np.uint32]) -> None:
        reply(*looked_up, directed, p, q, questions, answers, answers.view(np.float32))

    def ask(answers: NDArray[np.uint32], *rest: Any) -> tuple[int, int]:
        return ask_second(answers, answers.view(np.float32), *rest)

    nbytes = sum(array.nbytes for array in tables) + levels.nbytes
    both = not extended and (not weighted if q > 1 else q < 1 and not directed)  # looks and draws in one question
    given = weighted, levels, p, q, REFUSALS, restart
    return Steps(ask, given, SecondLanes, QUESTION + int(both), answer, ANSWER, nbytes)


_LANES = 1 << 16  # walks under way on a host: more take fewer messages, and more of the caches
_CREWS = 2  # of walks, one of which is stepped while messages of the other are under way
_FEW = 64  # walks of a thread, at least


class _Group(NamedTuple):
    """The walks `first` to ``last - 1``, which one thread steps; some of them are under way."""

    lanes: FirstLanes | SecondLanes
    first: int
    last: int
    out: NDArray[np.int32]
    lengths: NDArray[np.int32]
    questions: NDArray[np.uint32]
    state: list[int]  # how many are under way, and the next one


class ShareWalker:
    """Random walks on a graph in shares, by all hosts together.

    The host that asks for a walk steps it, and each step is drawn where its vertex is. Walks have the bits of
    `Walker`'s on the whole graph.

    Parameters
    ----------
    share : GraphShare
        This host's share.
    communicator : Communicator
        Connects the hosts that have the others.
    length, p, q, restart, extend, gamma, starts, metapaths, seed
        As of `Walker`.
    threads : int
        Threads of this host; 1 if it is simulated.

    Attributes
    ----------
    per_pass : int
        Walks in a pass, as of `Walker`.
    owners : Owners
        The hosts that have the vertices.
    nbytes : int
        Bytes of the tables that this host looks up, in place of its share.

    Raises
    ------
    SharedError
        On all hosts, whatever `Walker` raises.
    """

    def __init__(
        self,
        share: GraphShare,
        communicator: Communicator,
        *,
        length: int = 40,
        p: float = 1.0,
        q: float = 1.0,
        restart: float = 0.0,
        extend: bool = False,
        gamma: float = 0.0,
        starts: str = STARTS[0],
        metapaths: Sequence[str | Sequence[str]] = (),
        seed: int = 1,
        threads: int = 1,
    ) -> None:
        check_walks(1, length, p, q, restart, extend, gamma, starts, metapaths)
        self.length, self.seed, self.per_pass = length, seed, len(share)
        self.communicator, self._threads = communicator, threads
        self.how = length, p, q, restart, extend, gamma, starts, list(metapaths), seed
        self.names, self.kinds, self.vertices = share.names, share.kinds, len(share)
        low = int(share.cuts[share.rank])
        entries = Entries(share.indptr, share.indices, share.weights)
        total = allreduce(communicator, np.array([len(share.indices)]))
        with together(communicator):
            check_edges(int(total[0]), share.loops)
            check_weights(share.weights)
        self.paths = find_paths(metapaths, share.kinds, partial(self._between, entries, low)) if metapaths else []
        self._starts, restarts = np.zeros(0, np.uint64), np.uint64(round(restart * 2**32))
        if starts != STARTS[0]:
            vertices, shares = start_shares(entries)
            self._starts = start_table(self._gathered(low + vertices), self._gathered(shares))
        if (p != 1 or q != 1) and length > 1:
            twice = np.array([any_twice(share.indptr, share.indices)])
            if communicator.allgather(twice).any():
                entries = counted(entries)
            usual = gamma if extend else None
            biased = float(p), float(q), restarts
            steps = second_steps(entries, *biased, directed=share.directed, gamma=usual, gathered=self._gathered)
        else:
            typed = typed_rows(entries, share.kinds, self.paths, low) if self.paths and share.kinds else None
            self.per_pass = len(typed[1].starts) if typed else len(share)
            steps = first_steps(entries, typed, restarts)
        self._steps, self._sides, self.nbytes = steps, sides(self.per_pass), steps.nbytes
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="any2vec-walks") if threads > 1 else None
        answering = steps.answer, steps.answer_words, self._pool, threads
        self.owners = Owners(communicator, share.cuts, *answering)

    def walk(self, first: int, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        """Write walks `first` to ``last - 1``, counted over all passes, as `Walker.walk` writes those of a pass.

        All hosts call this together; a host may ask for no walks.
        """
        keys = np.array([pass_key(self.seed, one) for one in range(-(-last // self.per_pass))], np.uint64)
        cuts = [first + (last - first) * i // _CREWS for i in range(_CREWS + 1)]
        crews = [
            self._crew(low, high, out[low - first :], lengths[low - first :], keys) for low, high in pairwise(cuts)
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
        self, first: int, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32], keys: NDArray[np.uint64]
    ) -> Generator[Request, None, None]:
        """Step some walks, while those of other crews are under way."""
        parts = max(1, min(self._threads, (last - first) // _FEW))
        cuts = [first + (last - first) * i // parts for i in range(parts + 1)]
        groups = [self._group(low, high, out[low - first :], lengths[low - first :]) for low, high in pairwise(cuts)]
        answers, buffers = np.zeros((1, self._steps.answer_words), np.uint32), Buffers()
        places = np.zeros(sum(group.state[0] for group in groups), np.int32)
        while True:
            ends = np.cumsum([0, *(group.state[0] for group in groups)]).tolist()
            heard = [(group, keys, answers, places[a:b]) for group, (a, b) in zip(groups, pairwise(ends), strict=True)]
            self._on_threads(heard)
            asked = [group.questions[: group.state[0]] for group in groups]
            reply = yield from self.owners.ask(asked[0] if len(asked) == 1 else np.concatenate(asked), buffers)
            if reply is None:
                return
            answers, places = reply

    def _group(self, low: int, high: int, out: NDArray[np.int32], lengths: NDArray[np.int32]) -> _Group:
        lanes = max(1, min(_LANES // (_CREWS * self._threads), high - low))
        questions = np.zeros((lanes, self._steps.words), np.uint32)
        return _Group(self._steps.lanes.empty(lanes), low, high, out, lengths, questions, [lanes, low])

    def _step(
        self, group: _Group, keys: NDArray[np.uint64], answers: NDArray[np.uint32], places: NDArray[np.int32]
    ) -> None:
        """Let walks hear answers, and ask what they need next."""
        which = *group.state, group.first, group.last, keys, self.per_pass, *self._sides
        into = group.out, group.lengths, group.questions
        group.state[:] = self._steps.ask(answers, places, group.lanes, *which, self._starts, *self._steps.given, *into)

    def _on_threads(self, heard: list[tuple[Any, ...]]) -> None:
        run = map if self._pool is None or len(heard) == 1 else self._pool.map
        list(run(lambda one: self._step(*one), heard))

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


_ENTRIES = 1 << 24  # vertices walked to at a time


def walk_shares(walker: ShareWalker, walks: int, large: int) -> Walks:
    """Generate this host's walks, in the order of their numbers; all hosts call this together.

    Those of `large` bytes or more are in a file, which ends with the process.
    """
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
