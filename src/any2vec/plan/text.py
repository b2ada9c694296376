"""What a plan knows of a text or of walks: how often its vertices occur, and how likely in a slice of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus import Corpus, Vocabulary, Worklist
from any2vec.corpus.lines import LineRows
from any2vec.corpus.parts import Features, WordRows
from any2vec.errors import Any2VecError
from any2vec.llvm.compiled import njit
from any2vec.models import Classifier
from any2vec.operators import Operator
from any2vec.operators.kernel import OperatorCode, code_of, compiled
from any2vec.plan.walking import WalkedGraph
from any2vec.samples.windows import SampleTables, is_kept, keep_probability, line_of, list_line, new_windows
from any2vec.training.options import Options

_SINGLE, _FINENESS = 4096, 256  # ranks that are taken one by one; groups in each factor of e after them
_LENGTH = 20.0  # words of a sentence, where there are none to look at
_SENTENCES = 100_000  # looked at
_UNKNOWN = (
    "words have parts (`subwords` or `features`), and how many they have is seen in the words: give a CORPUS, or their "
    "file as `vocabulary`"
)
_NO_LINES = "the rows of lines with labels are seen in the lines: give the text of a classifier, by `Text.of_lines`"


@dataclass(frozen=True, eq=False)
class Text:
    """A text or walks."""

    counts: NDArray[np.float64]  # (G,): Occurrences of a vertex, falling. Vertices of like counts may be one group
    many: NDArray[np.float64]  # (G,): Vertices of each group
    lengths: NDArray[np.float64]  # lengths of some sentences
    sentences: float  # how many there are
    worklist: Worklist | None = None  # W, if it was read: then it is known where vertices occur, not only how often
    seed: int = field(default=1)  # of the draws of subsampling
    graph: WalkedGraph | None = None  # the graph that walks are on
    # the vertices, if they are known, each a group of its own: then a plan knows their parts
    vocabulary: Vocabulary | None = None
    lines: LineRows | None = None  # of a classifier's text, the rows of its lines
    _divided: dict[Any, WordRows | None] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_corpus(cls, corpus: Corpus, seed: int = 1, graph: WalkedGraph | None = None) -> Self:
        """Take a corpus that was read for one host; of walks, also the graph that they are on."""
        if graph is None and "graph" in corpus.memory:
            raise Any2VecError("the corpus has the walks on a graph: give the graph too, as a `WalkedGraph`")
        counts = corpus.vocabulary.counts.astype(np.float64)
        lengths = corpus.worklist.lengths(_SENTENCES).astype(np.float64)
        known = corpus.sentences, corpus.worklist, seed, graph, corpus.vocabulary
        return cls(counts, np.ones_like(counts), lengths, *known)

    @classmethod
    def of_lines(cls, corpus: Corpus, model: Classifier) -> Self:
        """Take lines with labels, which a classifier has read for one host."""
        lines = model._rows(corpus, model.training_options(), None)
        return replace(cls.of_corpus(corpus, model.seed), lines=lines)

    @classmethod
    def of_counts(cls, counts: NDArray[Any], many: NDArray[Any] | None = None) -> Self:
        """Take counts alone, falling; sentences are taken to have 20 words."""
        counts = counts.astype(np.float64)
        many = np.ones_like(counts) if many is None else many.astype(np.float64)
        return cls(counts, many, np.full(1, _LENGTH), float(counts @ many) / _LENGTH)

    @classmethod
    def of_vocabulary(cls, vocabulary: Vocabulary, words: float | None = None) -> Self:
        """Take words and their counts, which are of a sample of a text of so many `words`, if that is given."""
        counts = vocabulary.counts.astype(np.float64)
        return replace(cls.of_counts(counts * (words / counts.sum() if words else 1.0)), vocabulary=vocabulary)

    def operator(self, options: Options) -> Operator:
        """Return the operator of a run; if words have parts, which must be known, it knows their rows."""
        found = options.operator_class(options)
        if not found.several:
            return found
        if found.lines:
            if self.lines is None:
                raise Any2VecError(_NO_LINES)
            found.rows = self.lines
            return found
        if self.vocabulary is None:
            raise Any2VecError(_UNKNOWN)
        key = options.operator_class, options.parts
        if key not in self._divided:
            if isinstance(options.parts, Features):
                options.parts.check_known(self.vocabulary, "vertices" if self.graph else "words")
            self._divided[key] = found.divide(self.vocabulary)
        found.rows = self._divided[key]
        return found

    def ungrouped(self) -> Self:
        """Return the same text with each vertex a group of its own, as a Huffman tree needs it."""
        many = np.rint(self.many).astype(np.int64)
        if (many == 1).all():
            return self
        return replace(self, counts=np.repeat(self.counts, many), many=np.ones(int(many.sum())))

    @cached_property
    def words(self) -> float:
        """N, words of the vocabulary in the text."""
        return float(self.counts @ self.many)

    @cached_property
    def vertices(self) -> float:
        """V."""
        return float(self.many.sum())

    def keep(self, sample: float) -> NDArray[np.float64]:
        """Return the probability that subsampling keeps an occurrence of each vertex, shape (G,)."""
        return keep_probability(self.counts, self.words, sample)

    def absent(
        self,
        positions: NDArray[np.float64],
        sample: float,
        rows: WordRows | None = None,
        of_lines: Operator | None = None,
    ) -> NDArray[np.float64]:
        """Return how likely a slice of so many positions has no kept occurrence of a vertex, shape (L, G).

        With the `rows` of vertices that have parts, of any vertex that has a row; shape (L, V + P). With an operator
        `of_lines`, of any line that has a row of e, then of t, as its kernel lists them; shape (L, rows + labels). A
        line is in the slice in which it begins.

        With counts alone, a vertex's c occurrences lie anywhere, each in the slice with probability n / N, and kept
        with probability p: ``(1 - p n / N)^c``. In a text the occurrences of a word come close together, in the
        sentences that are about it. If W is known, all slices of n positions count, wherever they begin.
        Slices without a vertex lie in the gaps between its kept occurrences. A gap of g - 1 positions has g - n of them
        (the footprint of Xiang et al. 2011, "Linear-time modeling of program working set in shared cache").
        """
        if self.worklist is None:
            keep = self.keep(sample)
            shares = np.minimum(positions / self.words, 1.0)
            with np.errstate(divide="ignore"):
                logs = self.counts * np.log1p(-np.outer(shares, keep))
            return np.exp(logs if rows is None else _of_rows(logs, rows.bounds, rows.rows, rows.number))
        counts, size = self.counts.astype(np.int64), self.worklist.size
        slices, places = np.unique(np.clip(np.rint(positions), 1, size).astype(np.int64), return_inverse=True)
        tables = None if of_lines is None else of_lines.tables(counts)
        draws = SampleTables(counts, sample, tables, self.seed).epoch(0)
        bounds, listed = np.arange(len(counts) + 1), np.arange(len(counts), dtype=np.int32)
        number = len(counts)
        if rows is not None:
            bounds, listed, number = rows.bounds, rows.rows, rows.number
        labels = 0 if self.lines is None else len(self.lines.label_counts)
        found, last = np.zeros((number + labels, len(slices))), np.full(number + labels, -1)
        for ids, ends, at, _, high in self.worklist.pieces(0, size):
            if of_lines is None:
                _gaps(ids[:high], at, draws.keep, draws.keep_key, bounds, listed, slices, last, found)
            else:
                _line_gaps(code_of(of_lines))(ids, ends, of_lines.sources, number, draws, slices, last, found)
        _last_gaps(size, slices, last, found)
        self.worklist.release()
        return np.asarray((found / (size - slices + 1.0)).T[places])


@njit(nogil=True, cache=True)
def _gaps(ids: Any, at: int, keep: Any, key: int, bounds: Any, rows: Any, slices: Any, last: Any, found: Any) -> None:
    """Count, by row, the slices of each length, rising, that begin and end between two kept occurrences of it.

    The ids are those from position `at` on, with the rows ``rows[bounds[id] : bounds[id + 1]]``; `last` is where each
    row was kept before.
    """
    for i in range(ids.size):
        word, position = ids[i], at + i
        if is_kept(word, position, keep, key):
            _add_all(rows[bounds[word] : bounds[word + 1]], 0, position, slices, last, found)


@cache
def _line_gaps(code: OperatorCode) -> Callable[..., None]:
    """Compile `_gaps` for the lines of an operator; row i of t is row `first` + i."""
    edges, targets, sizes = code.edges, code.targets, code.sizes

    def gaps(ids: Any, bounds: Any, most: int, first: int, draws: Any, slices: Any, last: Any, found: Any) -> None:
        windows, labels = new_windows(1), np.empty(targets, np.int8)
        x, y = np.empty(most, np.int64), np.empty(targets, np.int64)
        for line in range(bounds.size - 1):
            begin, end = bounds[line], bounds[line + 1]
            list_line(ids, begin, end, begin, end, 1, draws, windows)
            n, skips = edges(line_of(windows, ids, 0, line), 0, draws.tables, sizes, x, y, labels)
            if n:
                _add_all(x[:n], 0, begin, slices, last, found)
                _add_all(y[: targets - skips], first, begin, slices, last, found)

    return compiled(gaps, code)


@njit(inline="always")
def _add_all(rows: Any, first: int, position: int, slices: Any, last: Any, found: Any) -> None:
    """Count the slices before a position where rows are."""
    for row in rows:
        _add(position - last[first + row], slices, found[first + row])
        last[first + row] = position


@njit(nogil=True, cache=True)
def _last_gaps(size: int, slices: Any, last: Any, found: Any) -> None:
    for row in range(last.size):
        _add(size - last[row], slices, found[row])


@njit(nogil=True, cache=True)
def _of_rows(of_words: Any, bounds: Any, rows: Any, number: int) -> Any:
    """Sum up what words have of something, shape (L, V), by row, shape (L, number); a word counts once for a row."""
    found, last = np.zeros((of_words.shape[0], number)), np.full(number, -1)
    for word in range(bounds.size - 1):
        for k in range(bounds[word], bounds[word + 1]):
            row = rows[k]
            if last[row] != word:
                last[row] = word
                for i in range(found.shape[0]):
                    found[i, row] += of_words[i, word]
    return found


@njit(inline="always")
def _add(gap: int, slices: Any, found: Any) -> None:
    for k in range(slices.size):
        if gap <= slices[k]:
            break
        found[k] += gap - slices[k]


def zipf_counts(words: float, vertices: float, least: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return counts of a text of so many words and vertices, of which each occurs `least` times or more, in groups.

    Counts fall with the rank r as C / r up to some rank k, and as C k / r^2 from there on (two regimes, as Ferrer i
    Cancho and Sole 2001 found in large corpora). The vertex of the last rank V is to occur `least` times, so C k =
    least V^2, and all are to sum up to N words: C (ln k + 0.577 + 1 - k / V) = N. That gives k; it is V where the last
    one occurs more often even so.

    For each group, these are the count of a vertex and the number of vertices; the most frequent are groups of their
    own.
    """
    if words < 2 * least * vertices:
        raise Any2VecError(
            f"{words:,.0f} words are too few for a vocabulary of {vertices:,.0f}, of which each occurs {least:,.0f} "
            "times or more, and most occur more often: give more `words`, a smaller `vocabulary` or `min_count`"
        )

    def total(k: float) -> float:
        return least * vertices**2 / k * (np.log(k) + 0.5772 + 1 - k / vertices)

    low, high = 1.0, vertices
    if total(high) < words:
        while high / low > 1 + 1e-9:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if total(middle) > words else (low, middle)
    last = int(np.log(max(vertices / _SINGLE, 1.0)) * _FINENESS) + 1
    edges = np.arange(0.0, min(_SINGLE, vertices) + 1)
    edges = np.unique(np.rint(np.append(edges, np.geomspace(edges[-1], vertices, last + 1))))
    many, ranks = np.diff(edges), (edges[1:] + edges[:-1] + 1) / 2
    counts = np.minimum(1 / ranks, high / ranks**2)
    return counts * words / float(counts @ many), many
