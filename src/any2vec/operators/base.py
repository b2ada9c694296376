"""What an operator is: it lists the samples of a window, and says how a score becomes a step.

CONTRIBUTING has an operator of a user's own, step by step.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.parts import Features, Subwords, WordRows
from any2vec.errors import Any2VecError, shown
from any2vec.llvm.compiled import njit
from any2vec.operators.tiles import MOST_ROWS, PADDING, dots, logistic, update
from any2vec.samples.targets import POWER
from any2vec.samples.windows import kept_counts

FUNCTIONS = ("edges", "steps", "score", "update", "apply", "weigh")
"""Attributes of an operator that are Numba functions."""


_AS_UNSET = {"negatives_per": ("window",), "ns_exponent": (POWER,), "subwords": (0, "0")}
"""Values as good as unset: former defaults, which models may be saved with, and zeros."""


class OperatorOptions(Protocol):
    """The options of training that operators read (`training.options.Options`)."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    window: int
    negative: int | None
    negatives_per: str | None
    ns_exponent: float | None
    context: str
    sample: float
    buckets: int

    @property
    def narrowest(self) -> int:
        """Least reach of a window."""

    @property
    def pools(self) -> bool:
        """Whether a round draws negatives from a pool."""

    @property
    def negatives(self) -> int:
        """K."""

    @property
    def parts(self) -> Subwords | Features | None:
        """The n-grams or features that words have as parts."""


class Operator(ABC):
    """Applies samples to the matrices: edges in, rows of e and t updated (GraphAny2Vec, section 3.1).

    Samples come in groups: every source of a group is paired with every target. A target that repeats the first one
    is skipped (word2vec's rule for negatives). `edges`, `steps`, `score`, `update` and `apply` are Numba functions
    that are compiled into the kernel. `edges` drives inspection too, so that a host holds exactly the rows its kernel
    touches.

    Parameters
    ----------
    options : OperatorOptions
        Options of training.

    Attributes
    ----------
    edges : function
        ``edges(window, group, tables, sizes, sources, targets, labels) -> n, skipped`` lists one group of a
        `samples.windows.Window`. It fills n rows of e into `sources`, int64, shape (`sources`,): those of vertices
        unless words have several, and ``~i`` for document i of this host. It fills all `targets`, int64, shape
        (`targets`,). `skipped` targets repeat the first; if `varying`, the last `skipped` targets are not there. It may
        fill `labels`, int8, of the same shape, for `steps`.
    steps : function
        ``steps(scores, labels, sources, targets, alpha, measured, width) -> loss, curvature`` replaces each score by
        its step, alpha times minus the gradient of the loss. Source i and target k have ``scores[k * sources + i]``.
        `loss` is the sum of the losses, `curvature`, if `measured`, that of their second derivatives, each times the
        squared first. The score of a skipped target is -1e30, which must give no loss; its step is ignored. By default
        the loss is logistic, the first target has label 1 and the others label 0.
    score, update : function
        ``score(e, x, t, y, scores, sources, targets, dim, width)`` and ``update(...)``, `operators.tiles.dots` and
        `update`. The one makes scores of rows, the other changes rows by steps. They get at most ten sources at a time
        (five without AVX-512, or if `varying`).
    apply : function, optional
        ``apply(e, t, group, scratch, stats, targets, dim, width)`` applies a whole group, in place of `score`, `steps`
        and `update`. `group` is ``x, y, labels, sources, skipped, alpha, measured``: x and y are the offsets of the
        rows in the flat matrices `e` and `t`, and `sources` may be 0. `scratch` has `scratch(dim)` floats. It adds to
        ``stats.loss[0]``, ``stats.samples[0]`` and, if `measured`, ``stats.curvature``: `base.add_curvature`.
    varying : bool
        Whether groups have up to `targets` targets, any number each; then a target may repeat the first.
    loss : str
        What `t` is trained with, kept with the vectors: a run goes on only from those of the same loss.
    alpha, ns_exponent, negatives_per : float, float, str
        Initial learning rate, exponent of the negatives' distribution, and how often negatives are drawn, if the user
        gives none.
    scale : float
        Of the initial rows of e, which are word2vec's if it is 1.
    joined : bool
        Whether the sources of a group are one, as in CBOW: the group updates each of its targets once.
    from_centre : bool
        Whether the centre of a window is the source, and its context words are the targets; else the other way round.
    several : bool
        Whether a word has several rows of e: those that `divide` finds.
    chunked : bool
        Whether a chunk is taken whole, by the slice in which it begins: then `edges` may list a row once for several
        windows of it. ``sources[sources.size // 2 + k]`` is the number of windows that use source k, and what else it
        leaves in `sources` is there for `apply`, zeros if there is no window. `sources` is twice the sources.
    lines : bool
        Whether a window is a whole sentence, which is taken by the slice in which it begins; its centre is the first
        word.
    weigh : function, optional
        ``weigh(window, tables)`` returns a float32 by which the learning rate of a window is multiplied.
    documents : bool
        Whether sources may be documents, the last of their group: then a window may have no context.
    rows : WordRows or None
        What `divide` found for the corpus at hand.
    reads : tuple of str
        The options that it reads, of those that only some operators do (`options.option`): others are refused.
    """

    edges: Callable[..., Any]
    steps: Callable[..., Any] = staticmethod(logistic)
    score: Callable[..., Any] = staticmethod(dots)
    update: Callable[..., Any] = staticmethod(update)
    apply: Callable[..., Any] | None = None
    weigh: Callable[..., Any] | None = None
    loss: str = "negative"
    alpha: float = 0.025
    ns_exponent: float = POWER
    negatives_per: str = "window"
    scale: float = 1.0
    varying: bool = False
    joined: bool = False
    from_centre: bool = False
    several: bool = False
    chunked: bool = False
    lines: bool = False
    documents: bool = False
    rows: WordRows | None = None
    reads: tuple[str, ...] = ("negative", "negatives_per", "ns_exponent")

    @classmethod
    def check(cls, options: OperatorOptions) -> None:
        """Raise an error if options were changed that it does not read, or are not what it needs."""
        for declared in fields(options):
            name, value, only = declared.name, getattr(options, declared.name), declared.metadata.get("only")
            if only and name not in cls.reads and value not in (declared.default, *_AS_UNSET.get(name, ())):
                raise Any2VecError(f"`{name}` is {shown(value)}; that is for {only}")
        if options.negative == 0 and "negative" in cls.reads:
            raise Any2VecError("`negative` is 0; it must be a whole number from 1 to 1,000, or `loss` hierarchical")

    def __init__(self, options: OperatorOptions) -> None:
        self.options = options

    def divide(self, vocabulary: Vocabulary) -> WordRows | None:
        """Find the rows of e whose mean is the vector of each word; None if it is one row, that of its id."""
        return None

    def on(self, corpus: Corpus) -> Self:
        """Take the rows of a corpus that `divide` has divided; refuse one that was read without its documents."""
        if self.documents and corpus.documents is None:
            raise Any2VecError("the corpus was read without its documents; read it with Doc2Vec")
        self.rows = corpus.rows
        return self

    @property
    def sources(self) -> int:
        """Sources in a group, at most."""
        return 2 * self.options.window

    @property
    @abstractmethod
    def targets(self) -> int:
        """Targets in a group, or at most, if `varying`; kernels are compiled for it."""

    @abstractmethod
    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count, by matrix, the samples that move a row in one of its updates; `curvature` and merging read it."""

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate the updates of each row of e and of t in an epoch, shape (2, V): the hottest ones have copies.

        If words have several rows of e, the shape is (2, V + P).

        Where hosts touch most rows, they have replicas of all. A context has `contexts` words in the mean.
        """
        kept = kept_counts(counts, self.options.sample)
        return np.stack([kept * contexts, kept])

    def shares(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64] | None:
        """Return the weights of rows of e with which SGD keeps E^T E - T^T T (`sync.balance`); None if all are 1.

        If words have several rows, a row counts as what it is of a word: each gets the whole gradient of the mean.
        A context has `contexts` words in the mean.
        """
        return None if self.rows is None else self.rows.shares(kept_counts(counts, self.options.sample))

    def samples_per_update(self, per_pair: dict[str, float], contexts: float) -> NDArray[np.float64]:
        """Count the samples in an update of a row of e and of t, from `samples_per_pair`; a group is one."""
        pairs = 1 if self.joined or self.group_per_context else contexts
        return np.array([per_pair["e"], per_pair["t"] * pairs], np.float64)

    def independent(self, contexts: float) -> float:
        """Count the rows of a source that move independently of each other; 1 if they are taken to move alike.

        A context has `contexts` words in the mean.
        """
        return 1.0

    @property
    def first_loss(self) -> float:
        """Mean loss of a sample before training, when all scores are zero."""
        return math.log(2)

    @property
    def exponent(self) -> float:
        """Exponent of the counts by which negatives are drawn."""
        given = self.options.ns_exponent
        return self.ns_exponent if given is None else given

    @property
    def group_per_context(self) -> bool:
        """Whether each context word of a window is a group of its own; else the window is one group."""
        return False

    @property
    def draws_negatives(self) -> bool:
        """Whether it draws negatives from a table, in whose place a pool may be."""
        return False

    @property
    def by_columns(self) -> bool:
        """Whether scores are dot products, and changes multiples of rows: then hosts may have some columns each."""
        return self.score is dots and self.update is update and self.apply is None

    def draws(self, contexts: float) -> float:
        """Count the negatives that a window draws, whose context has `contexts` words in the mean."""
        return 0.0

    def scratch(self, dim: int) -> int:
        """Floats that a thread keeps for a group, with `dim` floats in a row."""
        return MOST_ROWS * self.targets + PADDING

    @property
    def sizes(self) -> tuple[int, ...]:
        """Integers that `edges` is given, compiled in as constants."""
        return self.options.window, self.targets

    def carried(
        self, before: NDArray[np.int64], after: NDArray[np.int64], places: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Return, for each row of t, the row of an earlier run that it goes on from; -1 for one that begins at zero.

        Parameters
        ----------
        before, after : int64 array, shape (V0,) and (V,)
            Counts of all vertices of the earlier run and of this one.
        places : int32 array, shape (V,)
            Id in the earlier run of each vertex, or -1: the answer where a row of t is a vertex's, as by default.
        """
        return places

    @abstractmethod
    def tables(self, counts: NDArray[np.int64]) -> Any:
        """Build what `edges` draws from, an array or a NamedTuple of arrays, from the counts of all vertices."""


class Rate(NamedTuple):
    """The learning rate, falling linearly with the words done by all threads and hosts (GraphAny2Vec, 3.1).

    At a position of the slice it is ``alpha * max(1 - (done + pace * (before + position - low)) / total, floor)``.
    """

    alpha: float  # initial learning rate
    floor: float  # least share of `alpha`
    done: float  # words done by all hosts when the slice begins
    pace: float  # words that all threads do while this one does one
    total: float  # words of all epochs; more, if it does not fall to 0 (`training.options`)
    # words of the slice before `low`, if it is one of several pieces: added first, the rate has the bits of one
    before: int = 0


_NO_MEANS, _NO_GROUPS = np.zeros((0, 0), np.float32), np.zeros(0, np.int64)


@njit(error_model="numpy", cache=True)  # no fastmath: all kernels are to compute the same bits
def learning_rate(rate: Rate, ahead: int) -> float:
    """Learning rate `ahead` words into the slice."""
    left = 1.0 - (rate.done + rate.pace * (rate.before + ahead)) / rate.total
    return float32(rate.alpha * max(left, rate.floor))


class ThreadStats(NamedTuple):
    """Per-thread counters and the shared stop flag."""

    words: NDArray[np.float64]  # (1,): Positions done, samples applied, and the sum of their losses
    samples: NDArray[np.float64]
    loss: NDArray[np.float64]
    # (2,): Over some samples, sums of the loss's second derivative, times the squared gradient, and of the latter; one
    # thread alone does not measure it, unless its run blends
    curvature: NDArray[np.float64]
    stop: NDArray[np.int64]  # (1,): Nonzero if the kernel is to return early; shared by the threads
    # of lines (n, padded): The joined rows of the last of those that were measured; and (1,): how many were
    met: NDArray[np.float32] = _NO_MEANS
    groups: NDArray[np.int64] = _NO_GROUPS


@njit(inline="always")
def add_curvature(stats: ThreadStats, curvature: float, steps: Any, size: int, alpha: float) -> None:
    """Add to a thread's `curvature`, from what `Operator.steps` returned and the first `size` steps."""
    squares = 0.0
    for i in range(size):
        squares += (steps[i] / alpha) ** 2
    stats.curvature[0] += curvature
    stats.curvature[1] += squares


_NO_ROWS, _NONE = np.zeros(0, np.int32), np.zeros(0, np.uint8)


class RowTable(NamedTuple):
    """Per vertex: its local row, or its update count."""

    # (V,): By the kernel's addressing. ``direct``: empty. ``counted``: updates of the row, one per pair of which the
    # vertex is the source and per sample of which it is the destination. ``mapped``: the row of each vertex
    e: NDArray[np.int32] = _NO_ROWS
    t: NDArray[np.int32] = _NO_ROWS
    # (V,): 1 where the row of e must not change; empty for kernels that do not freeze
    frozen: NDArray[np.uint8] = _NONE
    spare: int = 0  # first of the thread's 4 * window spare rows of e, where frozen sources are copied
    sources: int = 0  # sources of a group, at most, if these may be more than 2 * window
    documents: int = 0  # floats from the first row of e to that of this host's first document, which may lie before it
