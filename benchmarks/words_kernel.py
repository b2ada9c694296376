"""Where the kernel's time goes, and how many samples a corpus has.

A centre has n context words (window schedule: as few tiles as `tile_rows` allows; exact: n tiles of one).
`count` walks through the samples of an epoch as the kernel does and counts tiles by size. `measure` times on one
thread; figures are nanoseconds per centre, the best of several rounds:

- dots, logistic, update: each intrinsic alone, repeated on a few rows that stay in the L1 cache, for each tile size,
  times the average number of tiles of that size per centre.
- sampling: listing windows and batches alone (kept words, contexts, negatives), with the corpus's own tables.
- kernel: the whole kernel on the corpus.
- memory: the kernel on the corpus without its sampling, minus the kernel on the same windows with all words folded
  onto `_FEW` rows (which stay in the L2 cache) without *its* sampling: waiting for rows, and prefetching them.
- other: the remainder: reading the corpus, the loss of the positives, starting tiles, pipelines that are never full.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import float32, int64, njit, uint64
from numpy.typing import NDArray
from words_jobs import Settings

from any2vec.corpus import Worklist, read_corpus
from any2vec.operators.base import Rate, RowTable, ThreadStats
from any2vec.operators.kernel import operator_kernel
from any2vec.operators.matrices import new_matrices, no_hot_rows
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.tiles import PADDING, dots, logistic_steps, register_width, tile_rows, update
from any2vec.samples.draws import draw
from any2vec.samples.targets import alias_table
from any2vec.samples.windows import EpochDraws, SampleTables, is_kept, list_windows, new_windows, window_of
from any2vec.training.options import Options

__all__ = ["count", "measure"]

NEGATIVES_PER = {"window": "window", "exact": "pair"}
"""By schedule, as contenders are named, how negatives are drawn."""

_FEW = 128  # rows that fit the L2 cache, 2 x 128 x 832 bytes, with few negatives equal to the centre
_ROUNDS = 5
_SECONDS = 0.05
_MOST = tile_rows(register_width())
_JIT = {"nogil": True, "fastmath": True, "error_model": "numpy"}


def _walk_of(operator: SkipGram) -> Callable[..., int]:
    """Compile a loop that lists all samples as the kernel does."""
    edges, sizes, targets, per_context = operator.edges, operator.sizes, operator.targets, operator.group_per_context

    @njit(**_JIT)
    def walk(ids: Any, bounds: Any, window: int, draws: Any, contexts: Any) -> int:
        windows = new_windows(window)
        x, y, labels = np.empty(2 * window, np.int64), np.empty(targets, np.int64), np.empty(targets, np.int8)
        total = int64(0)  # returned, so that the compiler cannot drop the draws
        for sentence in range(bounds.size - 1):
            begin, end = bounds[sentence], bounds[sentence + 1]
            position = begin
            while position < end:
                count, position = list_windows(ids, position, end, begin, end, window, draws, windows)
                for i in range(count):
                    near = window_of(windows, ids, i, sentence)
                    contexts[near.end - near.begin - 1] += 1
                    for batch in range(near.end - near.begin - 1 if per_context else 1):
                        edges(near, batch, draws.tables, sizes, x, y, labels)
                        total += x[0] + y.sum()
        return total

    return walk


@njit
def _kept(ids: Any, bounds: Any, keep: Any, key: Any, few: int) -> tuple[Any, Any]:
    """Subsample a worklist and fold its words onto `few`, uniformly."""
    words = np.empty(ids.size, np.int32)
    ends = np.zeros(bounds.size, np.int64)
    n = sentences = 0
    for sentence in range(bounds.size - 1):
        for position in range(bounds[sentence], bounds[sentence + 1]):
            if is_kept(int64(ids[position]), position, keep, key):
                words[n] = int64(draw(uint64(7), ids[position]) >> uint64(33)) % few
                n += 1
        if n > ends[sentences]:
            sentences += 1
            ends[sentences] = n
    return words[:n], ends[: sentences + 1]


class _Case:
    """A worklist and what its samples are drawn from."""

    def __init__(self, worklist: Worklist, draws: EpochDraws, settings: Settings) -> None:
        self.worklist, self.draws, self.settings = worklist, draws, settings
        self._walks = {schedule: _walk_of(_operator(settings, schedule)) for schedule in NEGATIVES_PER}

    def walk(self, schedule: str) -> NDArray[np.int64]:
        """List all samples; return the number of centres with 0, 1, 2... context words."""
        contexts = np.zeros(2 * self.settings.window + 1, np.int64)
        self._walks[schedule](self.worklist.ids, self.worklist.bounds, self.settings.window, self.draws, contexts)
        return contexts

    def train(self, schedule: str, rows: int) -> float:
        """Run the kernel over the whole worklist, with `rows` rows; return its seconds."""
        s = self.settings
        model = new_matrices(0, rows, s.dim, seed=s.seed)
        e, t = model.e.reshape(-1), model.t.reshape(-1)
        kernel = operator_kernel(_operator(s, schedule), model.e.shape[1], register_width())
        counted = np.zeros((4, 8))
        stats = ThreadStats(counted[0, :1], counted[1, :1], counted[2, :1], counted[3, :2], np.zeros(1, np.int64))
        hot = no_hot_rows()
        ids, bounds = self.worklist.ids, self.worklist.bounds
        rate = Rate(float(s.alpha), 1e-4, 0.0, 1.0, float(ids.size))
        kernel(ids, bounds, 0, 0, e, t, RowTable(), self.draws, rate, hot, stats)
        began = time.perf_counter()
        kernel(ids, bounds, 0, ids.size, e, t, RowTable(), self.draws, rate, hot, stats)
        return time.perf_counter() - began


def _operator(settings: Settings, schedule: str) -> SkipGram:
    return SkipGram(Options(window=settings.window, negative=settings.negative, negatives_per=NEGATIVES_PER[schedule]))


def _case(settings: Settings) -> _Case:
    corpus = read_corpus(settings.corpus, min_count=settings.min_count, cache=settings.cache)
    counts = corpus.vocabulary.counts
    tables = _operator(settings, "window").tables(counts)
    draws = SampleTables(counts, settings.sample, tables, settings.seed).epoch(0)
    return _Case(corpus.worklist, draws, settings)


def count(settings: Settings) -> dict[str, int]:
    """Count the centres, and the pairs of centre and context, of the first epoch."""
    contexts = _case(settings).walk("window")
    return {"centres": int(contexts.sum()), "pairs": int(contexts @ np.arange(contexts.size))}


def _tiles(contexts: NDArray[np.int64], schedule: str) -> NDArray[np.float64]:
    """Return the average number of tiles of 1, 2... source rows per centre."""
    tiles = np.zeros(_MOST + 1)
    for n, centres in enumerate(contexts):
        blocks = -(-n // _MOST) if schedule == "window" else n
        for block in range(blocks):
            tiles[n * (block + 1) // blocks - n * block // blocks] += centres
    return tiles[1:] / contexts[1:].sum()


def _loops(targets: int, dim: int, width: int) -> dict[str, Callable[..., None]]:
    """Return loops of each intrinsic alone: `times` times over `n` source rows."""

    @njit(**_JIT)
    def time_dots(e: Any, x: Any, t: Any, y: Any, tile: Any, n: int, times: int) -> None:
        for k in range(times):
            dots(e, x[k & 1 :], t, y, tile, n, targets, dim, width)

    @njit(**_JIT)
    def time_logistic(e: Any, x: Any, t: Any, y: Any, tile: Any, n: int, times: int) -> None:
        for _ in range(times):
            tile[0] += logistic_steps(tile, n * targets, float32(1e-9), width)

    @njit(**_JIT)
    def time_update(e: Any, x: Any, t: Any, y: Any, tile: Any, n: int, times: int) -> None:
        for k in range(times):
            update(e, x[k & 1 :], t, y, tile, n, targets, dim, width)

    return {"dots": time_dots, "logistic": time_logistic, "update": time_update}


def _intrinsics(settings: Settings) -> dict[str, list[float]]:
    """Return nanoseconds of each intrinsic for tiles of 1, 2... source rows, with the rows in the L1 cache."""
    targets = settings.negative + 1
    model = new_matrices(0, max(targets, _MOST + 1), settings.dim, seed=1)
    dim = model.e.shape[1]
    e, t = model.e.reshape(-1), model.t.reshape(-1)
    x, y = (np.arange(rows, dtype=np.int64) * dim for rows in (_MOST + 1, targets))
    tile = new_matrices(0, 1, _MOST * targets + PADDING, seed=1).t.reshape(-1)
    nanoseconds: dict[str, list[float]] = {}
    for name, loop in _loops(targets, dim, register_width()).items():
        nanoseconds[name] = []
        for n in range(1, _MOST + 1):
            loop(e, x, t, y, tile, n, 1)
            tile[:] = 1e-9

            def run(times: int, loop: Callable[..., None] = loop, n: int = n) -> float:
                began = time.perf_counter()
                loop(e, x, t, y, tile, n, times)
                return time.perf_counter() - began

            times = max(1, int(_SECONDS / (run(1000) / 1000)))
            nanoseconds[name].append(min(run(times) for _ in range(_ROUNDS)) / times * 1e9)
    return nanoseconds


def measure(settings: Settings) -> dict[str, Any]:
    """Time the parts of both schedules in this process.

    Returns
    -------
    dict
        Per schedule: centres, pairs, and nanoseconds per centre by part; per intrinsic: GFLOP/s in the L1 cache, by
        source rows.
    """
    real = _case(settings)
    s = real.draws
    ids, bounds = _kept(real.worklist.ids, real.worklist.bounds, s.keep, s.keep_key, _FEW)
    everything = np.full(_FEW, 0xFFFFFFFF, np.uint32)
    table = alias_table(np.full(_FEW, 1 / _FEW))
    folded = _Case(Worklist(ids, bounds), EpochDraws(everything, table, s.keep_key, s.sample_key), settings)
    contexts = real.walk("window")
    centres = contexts[1:].sum()
    alone = _intrinsics(settings)
    padded = -(-settings.dim // 16) * 16
    found: dict[str, Any] = {
        "gflops": {
            name: [round(flops * n * (settings.negative + 1) * padded / ns, 1) for n, ns in enumerate(alone[name], 1)]
            for name, flops in (("dots", 2), ("update", 4))
        }
    }
    for schedule in NEGATIVES_PER:
        for case in (real, folded):
            case.walk(schedule)  # compiles
        seconds: dict[str, list[float]] = {"kernel": [], "folded": [], "sampling": [], "folded sampling": []}
        for _ in range(_ROUNDS):
            seconds["kernel"].append(real.train(schedule, s.keep.size))
            seconds["folded"].append(folded.train(schedule, _FEW))
            for name, case in (("sampling", real), ("folded sampling", folded)):
                began = time.perf_counter()
                case.walk(schedule)
                seconds[name].append(time.perf_counter() - began)
        tiles = _tiles(contexts, schedule)
        ns = {name: min(times) / centres * 1e9 for name, times in seconds.items()}
        parts = {name: float(tiles @ np.array(times)) for name, times in alone.items()}
        parts["sampling"] = ns["sampling"]
        parts["memory"] = (ns["kernel"] - ns["sampling"]) - (ns["folded"] - ns["folded sampling"])
        parts["other"] = ns["kernel"] - sum(parts.values())
        pairs = int(contexts @ np.arange(contexts.size))
        found[schedule] = {"centres": int(centres), "pairs": pairs, "kernel": ns["kernel"], **parts}
    return found
