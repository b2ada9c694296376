"""Options, said once: estimators inherit these fields, and the command line is made from them."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import Any2VecError
from any2vec.operators import BY_KIND, LOSSES, MODELS, OPERATORS, WITH_PARTS, Operator, operator_of
from any2vec.operators.cbow import ContextOptions
from any2vec.operators.parts import PartOptions
from any2vec.operators.skipgram import NegativeSampling
from any2vec.options import check_options, option
from any2vec.samples.targets import POWER
from any2vec.sync import AUTO, SCHEMES, scheme_of
from any2vec.sync.combiners import COMBINERS, Combiner, combiner_of
from any2vec.sync.wire import USUAL, WIRES

FLOOR = 1e-4
"""Share of its initial value below which the learning rate does not fall, if nothing is said (word2vec's)."""

_LEAST = 1e-9  # share of it that is left of a rate that falls to 0: gradients are steps divided by the rate


@dataclass(frozen=True)
class Decay:
    """The learning rate falls linearly with what is done of a run, from `alpha` to `min_alpha`, as in gensim.

    Without that it falls towards 0, and stays at `FLOOR` of `alpha` (word2vec's).
    """

    alpha: float
    min_alpha: float | None = None

    @property
    def _share(self) -> float:
        """Of `alpha`, at the end."""
        return 0.0 if self.min_alpha is None else self.min_alpha / self.alpha

    @property
    def floor(self) -> float:
        """Least share of `alpha`."""
        return FLOOR if self.min_alpha is None else max(self._share, _LEAST)

    def at(self, done: float) -> float:
        """Return the rate after a share `done` of the run."""
        return self.alpha * max(1.0 - (1.0 - self._share) * done, self.floor)

    def mean(self, done: float) -> float:
        """Return its mean over the first share `done` of the run."""
        return self.alpha * (1.0 - (1.0 - self._share) * done / 2)

    def until_zero(self, words: float) -> float:
        """Return after how many words it would be 0, if a run has `words`."""
        falls = 1.0 - self._share
        return words / falls if falls else math.inf


MOST_THREADS = 1024
"""Threads per host."""

_CENTRES, _ALL_CENTRES = 50, 400

_HELD_OUT = 0.02  # share, with patience

FEWEST = 5
"""Epochs of a text of any size, word2vec's, if nothing is said."""

_ENOUGH, _MOST = 30_000_000, 15  # words to read, and epochs of a small text
_ENOUGH_JOINED = 150_000_000  # where a context makes one update: in skip-gram each of its words makes one
_OF_DOCUMENTS = 10, 20  # epochs, at least and at most

_ALPHA_OF_FEATURES = 0.05  # with negative sampling

_NO_PARTS = "which does not train parts of words: leave out the scheme, or `subwords` and `features`"


@dataclass(kw_only=True, unsafe_hash=True)
class _Model:
    """Options that choose an operator, and those that all operators read."""

    model: str = option(
        "skipgram", "what predicts the centre: skipgram, each context word; or cbow, all of them as one", choices=MODELS
    )
    loss: str = option(
        "negative",
        "what scores are trained by: negative, for negative sampling; or hierarchical, softmax on a Huffman tree",
        choices=LOSSES,
    )
    dim: int = option(100, "length of a vector", low=1, high=65_536)
    window: int = option(5, "maximum distance between centre and context word", low=1, high=1000)
    shrink_windows: bool = option(
        True,
        "draw the width of each window, from 1 to that of `window`, as word2vec does; else all are of full width",
        flag="--shrink-windows/--full-windows",
    )


@dataclass(kw_only=True, unsafe_hash=True)
class Options(PartOptions, ContextOptions, NegativeSampling, _Model):
    """Options of training; word2vec's, under gensim's names. See `option` for what each field says of itself."""

    sample: float = option(1e-3, "subsampling threshold for frequent words; 0 for none", low=0, below=1, usual="1e-3")
    alpha: float | None = option(
        None,
        "initial learning rate; falls linearly to min_alpha",
        above=0,
        high=1,
        usual="0.025",
        unset="0.025; 0.05 for cbow, and with features, with negative sampling",
    )
    min_alpha: float | None = option(
        None, "learning rate at the end, at most alpha", low=0, high=1, usual="1e-4", unset="1e-4 of alpha"
    )
    epochs: int = option(  # None only until the text is known: `for_text`
        None,
        "passes over the data",
        low=1,
        high=1_000_000,
        usual="5",
        unset=f"{FEWEST} to {_MOST}, by its size",
    )
    shuffle: bool = option(
        False,
        "take blocks of the text in another order in each epoch, drawn by the seed: for a text that is sorted, such as "
        "by subject",
    )
    held_out: float | None = option(
        None,
        "share of sentences (of a graph: walks; of documents: their words) that is left out of training; the loss on "
        "them is shown after each epoch",
        low=0,
        high=0.5,
        usual="0.02",
        unset="0; 0.02 with patience",
    )
    part: float = option(
        1.0,
        "share of the sentences that is trained on, drawn by the seed; less than 1 to try settings in less time",
        above=0,
        high=1,
        usual="0.1",
    )
    patience: int | None = option(
        None,
        "stop when so many epochs have passed since the one with the least loss on what is held out",
        low=1,
        high=1_000_000,
        unset="all epochs are trained",
    )
    operator: "str | type[Operator] | None" = option(
        None, f"how samples update the vectors: {', '.join(OPERATORS)}", unset="of model and loss"
    )
    seed: int = option(1, "seed of all random draws")
    threads: int | None = option(
        None,
        "threads; with one, the same seed gives the same bits",
        low=1,
        high=MOST_THREADS,
        unset="all cores",
        panel="Run",
    )
    hosts: int = option(
        1,
        "hosts to simulate, one thread each, as many at a time as threads allow: the same vectors for any number of "
        "threads; leave it out under mpiexec",
        low=1,
        high=4096,
        panel="Many hosts",
    )
    rounds: int | None = option(
        None,
        "synchronization rounds per epoch; the first epoch has some more, short ones",
        low=1,
        high=100_000,
        unset="1.5 per host, up to 12 with curvature; more where words or vertices occur often",
        panel="Many hosts",
    )
    scheme: str | None = option(
        None,
        f"how the model is spread over hosts: {', '.join(SCHEMES)}; or auto, for what sends least of pull-opt and "
        "columns. The first four have the same vectors; pull-opt sends least of them. With columns each host has some "
        "columns of all vectors, and one thread; server is a parameter server, to compare with",
        unset="pull-opt, or rep-opt where a host's rounds touch most of the vectors and memory suffices",
        panel="Many hosts",
    )
    wire: str | None = option(
        None,
        "number format of the vectors that several hosts send: int8, with a scale for each vector; bfloat16, twice its "
        "bytes; or float32, four times, not rounded. With columns, no vectors are sent",
        choices=tuple(WIRES),
        unset=f"{USUAL}; a run that goes on from a checkpoint keeps its own",
        panel="Many hosts",
    )
    combine: "str | Combiner | type[Combiner]" = option(
        "curvature",
        f"how changes of several hosts are combined: {', '.join(COMBINERS)}",
        panel="Many hosts",
    )
    batch: int | None = option(
        None,
        "for scheme columns: centres of a host in a mini-batch, which is computed before any of it is applied",
        low=1,
        high=1_000_000,
        unset="50; fewer on more than 8 hosts",
        panel="Many hosts",
    )
    blend: bool = option(
        True,
        "where a run goes on from earlier vectors, weight these and the new ones by how much text each comes from; "
        "else the new text counts for more",
        flag="--blend/--no-blend",
        panel="Going on",
    )

    def check(self) -> None:
        """Raise an error that names the first option out of range, its value and the range.

        Raises
        ------
        Any2VecError
            If there is one.
        """
        check_options(self)
        n_grams = Subwords.parse(self.subwords, self.buckets) or self.buckets != Options.buckets
        if isinstance(self.parts, Features) and n_grams:
            raise Any2VecError(
                "`features` is given, and `subwords` or `buckets`; words have parts of one kind: give one"
            )
        if self.operator is not None and (self.model, self.loss) != (MODELS[0], LOSSES[0]):
            raise Any2VecError("`operator` is given, and `model` or `loss` too; give one")
        self.operator_class.check(self)
        if self.min_alpha is not None and self.min_alpha > self.initial_alpha:
            raise Any2VecError(f"`min_alpha` is {self.min_alpha}; it must be at most `alpha`, {self.initial_alpha}")
        if self.patience is not None and self.held_out == 0:
            raise Any2VecError("`patience` is given, and `held_out` is 0; it must be a share above 0, or be left out")
        combiner_of(self.combine)
        self._check_scheme()

    def _check_scheme(self) -> None:
        operator = self.operator_class(self._filled())
        if self.pools and not operator.draws_negatives:
            name = self.operator_class.__name__
            why = _NO_PARTS if self.parts is not None else f"which draws negatives from pools; {name} draws none"
            raise Any2VecError(f"`scheme` is 'server', {why}")
        by_columns = scheme_of(self.scheme).by_columns
        if self.batch is not None and not by_columns and self.scheme != AUTO:
            this = f", and this is {self.scheme}" if self.scheme else ""
            raise Any2VecError(f"`batch` is {self.batch}; that is for `scheme` columns{this}")
        if by_columns and (refused := self.columns_refuse(self.hosts)):
            raise Any2VecError(f"`scheme` is 'columns', {refused[1]}")

    def columns_refuse(self, hosts: int, *, freezes: bool = False, goes_on: bool = False) -> tuple[str, str] | None:
        """Return the option that the scheme ``columns`` cannot have, and why; None if there is none.

        A run `freezes` if rows are frozen, and `goes_on` if it begins with the vectors of an earlier one.
        """
        operator = self.operator_class
        whole = not operator(self._filled()).by_columns
        refused = (
            (
                hosts > self.dim,
                "dim",
                f"and there are {hosts:,} hosts for {self.dim:,} columns; give fewer hosts or a larger `dim`",
            ),
            (
                self.combine != Options.combine,
                "combine",
                "which has nothing to combine: leave out the combiner and its options",
            ),
            (self.parts is not None, "operator", _NO_PARTS),
            (
                whole,
                "operator",
                f"but {operator.__name__} has a `score`, `update` or `apply` of its own, which need whole rows",
            ),
            (freezes, "frozen", "which cannot freeze words: leave out `frozen`"),
            (goes_on and self.blend, "blend", "which cannot blend: go on with `blend=False`"),
        )
        return next(((option, why) for is_refused, option, why in refused if is_refused), None)

    @property
    def narrowest(self) -> int:
        """Least reach of a window: 1, or all of `window` where they are not shrunk."""
        return 1 if self.shrink_windows else self.window

    @property
    def pools(self) -> bool:
        """Whether a round draws negatives from a pool."""
        return scheme_of(self.scheme).pools

    def centres(self, hosts: int) -> int:
        """Centres of a host in a mini-batch: by default the papers' 50, unless all hosts' would be more than 400."""
        return max(1, min(_CENTRES, _ALL_CENTRES // hosts)) if self.batch is None else self.batch

    @property
    def operator_name(self) -> "str | type[Operator]":
        """The operator, or the name of that of `model` and `loss`."""
        if self.operator is not None:
            return self.operator
        return self.model if self.loss == LOSSES[0] else f"{self.model}-{self.loss}"

    @property
    def operator_class(self) -> type[Operator]:
        """The operator; the one of words with parts, or of kinds, if they have some."""
        found = operator_of(self.operator_name)
        several = self.features is not None or self.parts is not None
        found = WITH_PARTS.get(found, found) if several else found
        return BY_KIND.get(found, found) if self.negatives_by_kind else found

    @property
    def parts(self) -> Subwords | Features | None:
        """The n-grams or features that words have as parts; features, perhaps of a pipe, are read once a fit."""
        if self.features is None:
            return Subwords.parse(self.subwords, self.buckets)
        given, found = vars(self).get("_features", (None, None))
        if given is not self.features:
            found = Features.parse(self.features)
            self._features = self.features, found
        return found

    @property
    def initial_alpha(self) -> float:
        """The initial learning rate; by default the operator's."""
        if self.alpha is not None:
            return self.alpha
        of_features = self.features is not None and self.operator_class.loss == LOSSES[0]
        return _ALPHA_OF_FEATURES if of_features else self.operator_class.alpha

    @property
    def decay(self) -> Decay:
        """How the learning rate falls."""
        return Decay(self.initial_alpha, self.min_alpha)

    @property
    def trained(self) -> float:
        """Share of the text that is trained on."""
        return self.part * (1 - (self.held_out or 0.0))

    @property
    def negatives(self) -> int:
        """K, the number of negative samples per positive one; 0 if the operator takes none."""
        if "negative" not in self.operator_class.reads:
            return 0
        return 5 if self.negative is None else self.negative

    def training_options(self) -> "Options":
        """Copy the options that training reads, checked, with defaults filled in."""
        self.check()
        return self._filled()

    def for_text(self, words: int) -> "Options":
        """Return the options, with `epochs` for a text of so many words if none are given (docs/settings.md)."""
        if self.epochs is not None:
            return self
        operator = self.operator_class
        joined = operator.joined and not operator.from_centre and not operator.documents
        enough = _ENOUGH_JOINED if joined else _ENOUGH
        if self.features is not None:
            enough = 0
        fewest, most = _OF_DOCUMENTS if operator.documents else (FEWEST, _MOST)
        return replace(self, epochs=min(max(math.ceil(enough / max(words, 1)), fewest), most))

    def _filled(self) -> "Options":
        values = {f.name: getattr(self, f.name) for f in fields(Options)}
        operator, parts = self.operator_class, self.parts
        filled: dict[str, Any] = {"alpha": self.initial_alpha, "negative": self.negatives}
        filled["held_out"] = (_HELD_OUT if self.patience else 0.0) if self.held_out is None else self.held_out
        filled["features"] = parts if isinstance(parts, Features) else None
        filled["subwords"] = str(parts) if isinstance(parts, Subwords) else None
        usual = {name: getattr(operator, name) for name in ("negatives_per", "ns_exponent") if name in operator.reads}
        if usual and isinstance(parts, Features):
            usual["ns_exponent"] = POWER
        filled |= {name: value for name, value in usual.items() if values[name] is None}
        return Options(**values | filled)
