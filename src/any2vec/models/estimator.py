"""What all estimators do: read, train on one host or many, keep vectors and figures."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone, simulate
from any2vec.cluster.machine import host_cores, usable_cores
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.parts import Features, Subwords, WordRows
from any2vec.errors import Any2VecError, shown
from any2vec.models.given import Given, check_given
from any2vec.models.reporting import Reporting, calling, of_text, of_vectors
from any2vec.models.saved import Savable
from any2vec.models.transforming import Transforming
from any2vec.operators import MODELS
from any2vec.operators.matrices import Matrices
from any2vec.options import Parameters, documented, option
from any2vec.report import Report
from any2vec.sync import scheme_of
from any2vec.training.options import MOST_THREADS, Options
from any2vec.training.progress import Quiet
from any2vec.training.state import Rows, Start
from any2vec.training.trainer import check_agreement, train
from any2vec.vectors import Vectors
from any2vec.vectors.parts import Parts, means_of

_LARGE = 1 << 40  # words of a text of any size
_WORDS = 1 << 14  # whose vectors are taken at a time

CheckWords = Callable[[Sequence[str]], None]


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class Estimator(Reporting, Parameters, Savable, Transforming, ABC):
    """Vectors of whatever comes in sequences, by skip-gram or CBOW (Mikolov et al. 2013).

    Attributes
    ----------
    vectors_ : Vectors
        The vectors; after Ctrl-C, which raises KeyboardInterrupt, as far as they are trained.
    loss_ : list of float
        Mean loss per sample of each epoch; not a number if subsampling left an epoch of a tiny text no sample.
    report_ : Report
        Sizes, seconds by phase, speed, memory, rounds.
    """

    learned: ClassVar[tuple[str, ...]] = ("vectors_", "wv", "loss_", "report_")
    start: "Vectors | str | Path | None" = option(
        None,
        "go on from these vectors, saved with `--training`; words that they lack are added",
        unset="new vectors",
        flag="--from",
        panel="Going on",
    )
    pretrained: "Vectors | str | Path | None" = option(
        None,
        "initial vectors of the words that these have",
        unset="none",
        panel="Going on",
    )
    frozen: "Collection[str] | bool | str | Path | None" = option(
        None,
        "words whose given vectors must not change: a file with a word per line, or `given` for all words of "
        "--pretrained (without it, of --from)",
        unset="none",
        panel="Going on",
        hashed=False,
    )

    __repr__ = Parameters.__repr__

    @abstractmethod
    def _read(
        self,
        source: Any,
        threads: int,
        communicator: Communicator | None,
        known: Vocabulary | None,
        check_words: CheckWords | None = None,
        **how: Any,
    ) -> Corpus:
        """Make V and W of what the user gave, for all simulated hosts or this one of a cluster; show their sizes.

        V has all words that are `known` from the vectors to go on from; `how` is what `read` takes besides. Words that
        were not known are checked as soon as they are.
        """

    def check(self) -> None:
        """Raise now what `fit` would raise of the parameters.

        Raises
        ------
        Any2VecError
            If one is out of range.
        """
        super().check()
        self._check_reporting()
        check_given(self.start, self.pretrained, self.frozen)

    def read(
        self,
        source: Any,
        communicator: Communicator | None = None,
        *,
        check_words: CheckWords | None = None,
        **how: Any,
    ) -> Corpus:
        """Read as `fit` does, without training: ``fit(read(source))`` does what ``fit(source)`` does.

        Parameters
        ----------
        source, communicator
            As of `fit`.
        check_words : function, optional
            Called with words, or vertices, as soon as they are known, such as before walks on the graph: it may raise
            an Any2VecError to refuse them.
        **how
            Of a text, ``line_end_word``: whether a word ``</s>`` ends a sentence, as in word2vec.c. Of a graph,
            options of `graph.readers.read_graph`, such as ``delimiter``.

        Returns
        -------
        Corpus
            V and W (of a graph, the walks on it), cut for this number of hosts.

        Raises
        ------
        Any2VecError
            If a parameter is out of range, or the corpus cannot be used.
        """
        options = self._checked(communicator, how)
        with self._showing(communicator):
            given = self._given(options, communicator or alone(), warm_start=False)
            threads = self._threads(options, communicator)
            known = given.known if given else None
            if known and check_words:
                check_words(known.words)
            corpus = self._read(source, threads, communicator, known, check_words, **how)
        vars(corpus)["given"] = self._given_by, given  # a copy would not keep the corpus's files
        return corpus

    def fit(
        self, source: Any, y: Any = None, *, communicator: Communicator | None = None, warm_start: bool = False
    ) -> Self:
        """Read, unless that is done, and train.

        Parameters
        ----------
        source : Corpus, or any
            What `read` returned, or what the class says that it reads.
        y : any
            Not used: scikit-learn gives labels here.
        communicator : Communicator, optional
            On a cluster, where each host calls this, ``any2vec.cluster.connect()``.
        warm_start : bool
            Go on from `vectors_` of the last `fit`, with this estimator's `alpha` and `epochs`. Words or vertices that
            are new are added, counts are summed, and those that do not occur any more keep their vectors. `start` is
            not read then.

        Returns
        -------
        Estimator
            This estimator, with `vectors_`, `loss_` and `report_`. On a cluster `vectors_` are those of the words or
            vertices whose masters are on this host.

        Raises
        ------
        Any2VecError
            If a parameter is out of range, the corpus cannot be used, or values stop being finite.
        KeyboardInterrupt
            After Ctrl-C; `vectors_` are as far trained as they were.
        """
        if hasattr(y, "allgather"):
            raise Any2VecError("`fit` takes a communicator by its name: `communicator=`")
        if type(source).__module__.partition(".")[0] == "pyspark":
            has = vars(self)
            name = "DeepWalk" if "walks" in has else "Classifier" if "word_ngrams" in has else "Word2Vec"
            raise Any2VecError(f"any2vec.spark.{name} trains on what Spark has, such as this {type(source).__name__}")
        options = self._checked(communicator, {"warm_start": warm_start})
        with self._showing(communicator):
            given = self._given_with(source, options, communicator, warm_start)
            known = given.known if given else None
            threads = self._threads(options, communicator)
            with closing(self.display), together(communicator) if communicator else nullcontext():
                if isinstance(source, Corpus):
                    corpus = self._for_this_run(source, communicator, known)
                else:
                    corpus = self._read(source, threads, communicator, known)
                self.report_ = self._report(corpus, options, warm_start)
                if isinstance(options.parts, Features):
                    self.display.say(options.parts.check_known(corpus.vocabulary, self.kind))
                # the corpus itself holds its files, as long as this call goes on
                divided = replace(corpus, rows=self._rows(corpus, options, communicator))
                if divided.rows is not None:  # parts are of many words: no share of the text is theirs
                    options = replace(options, blend=False)
                    if options.parts is not None and not len(divided.rows.ids):
                        self.display.say(f"no word has n-grams of {options.parts} characters: whole words are trained")
                start = given.begin(divided, options.parts, self.display.say, self.kind) if given else None
                options = self._for_text(divided, options, start.seen if start else 0)
            self.display.record("start", self.report_.as_dict)
            if communicator is None and self.hosts > 1:
                flags = np.zeros(2, np.int64)
                train_one = partial(self._train, divided, options, start, flags)
                parts = simulate(self.hosts, threads, train_one)
            else:
                own = options if communicator is None else replace(options, threads=threads)
                parts = [self._train(divided, own, start, None, communicator or alone())]
            self._keep(divided, parts, options, communicator)
            vars(self).pop("_features", None)  # features may change until the next run
            self.loss_ = self.report_.loss
            for line in of_vectors(vars(self).get("documents_", self.vectors_).matrix):
                self.display.say(line)
            self.display.record("end", self.report_.outcome)
        if self.report_.interrupted:
            raise KeyboardInterrupt
        return self

    def _rows(self, corpus: Corpus, options: Options, communicator: Communicator | None) -> WordRows | None:
        """Find the rows of e that make the vectors of words; all hosts call this."""
        return options.operator_class(options).divide(corpus.vocabulary)

    def _for_text(self, corpus: Corpus, options: Options, seen: int) -> Options:
        """Choose what depends on the size of the text, of which `seen` words were trained on earlier; say so."""
        few = options.for_text(_LARGE).epochs
        options = options.for_text(int(corpus.cuts[-1]) + seen)
        self.report_.options["epochs"] = options.epochs
        if options.epochs != few:
            self.display.say(f"the text is small: it is read in {options.epochs} epochs, not {few}")
        if type(self.display) is Quiet:  # nobody hears it
            return options
        raw = self.kind == "words" and not any(self._how.get(name) for name in ("lowercase", "tokenize"))
        for line in of_text(corpus, raw=raw, in_order=not options.shuffle):
            self.display.say(line)
        return options

    def _keep(self, corpus: Corpus, parts: list[Matrices], options: Options, communicator: Communicator | None) -> None:
        """Keep what is trained, the matrices of all simulated hosts or of this one of a cluster."""
        self.vectors_ = vectors_of(corpus, parts, options.operator_class.loss, options.parts, communicator)
        self.vectors_.how = self._how

    @property
    def _how(self) -> dict[str, Any]:
        """What a run that goes on must have the same."""
        text = {name: bool(getattr(self, name)) for name in ("lowercase", "tokenize") if hasattr(self, name)}
        operator = self.operator_class
        return {"model": MODELS[operator.joined and not operator.from_centre], **text}

    def _judged(self, corpus: Corpus, options: Options, matrices: Matrices) -> Vectors:
        """Return what callbacks judge, of all matrices so far."""
        return vectors_of(corpus, [matrices], options.operator_class.loss, options.parts)

    def _checked(self, communicator: Communicator | None, how: Mapping[str, Any] | None = None) -> Options:
        """Check the parameters, which hosts must share; return the options of training, with defaults filled in.

        What is wrong with a file may be so on one host alone.
        """
        if communicator is None:
            self.check()
        else:
            if not hasattr(communicator, "allgather"):
                raise Any2VecError(
                    f"`communicator` is {shown(communicator)}; it must be what cluster.connect() returns"
                )
            check_agreement(self, communicator, how or {})
            with together(communicator):
                self.check()
        return self._filled()

    def _threads(self, options: Options, communicator: Communicator | None) -> int:
        """Return how many threads this process may have; all hosts call this."""
        if communicator is None:
            return options.threads or usable_cores()
        if self.hosts not in (1, communicator.size):
            raise Any2VecError(f"`hosts` is {self.hosts}, but the cluster has {communicator.size}; leave it out")
        share = min(host_cores(communicator), MOST_THREADS)  # asked on all hosts, needed or not
        return options.threads or share

    @property
    def _given_by(self) -> tuple[Any, ...]:
        """The parameters that `_given` reads."""
        parts = self.subwords, self.buckets, self.features
        return self.start, self.pretrained, self.frozen, self.operator_class, self.dim, self.scheme, self.blend, *parts

    def _given_with(
        self, source: Any, options: Options, communicator: Communicator | None, warm_start: bool
    ) -> Given | None:
        """Return what to begin with: what `read` has loaded with the corpus, if the parameters are the same."""
        if isinstance(source, Corpus) and source.given and not warm_start:
            given_by, given = source.given
            if all(a is b for a, b in zip(given_by, self._given_by, strict=True)):
                return cast("Given | None", given)
        return self._given(options, communicator or alone(), warm_start)

    def _given(self, options: Options, communicator: Communicator, warm_start: bool) -> Given | None:
        """Load what to begin with."""
        with together(communicator):
            if warm_start and not hasattr(self, "vectors_"):
                raise Any2VecError("`warm_start=True`, but there are no vectors to go on from yet: fit first")
            if scheme_of(options.scheme).by_columns:
                freezes, goes_on = self.frozen not in (None, False), warm_start or self.start is not None
                if refused := options.columns_refuse(communicator.size, freezes=freezes, goes_on=goes_on):
                    raise Any2VecError(f"`scheme` is 'columns', {refused[1]}")
        if not warm_start and self.start is None and self.pretrained is None and self.frozen is None:
            return None  # on all hosts: these are compared
        earlier = self.vectors_ if warm_start else None
        given, how = (self.start, self.pretrained, self.frozen), {"loss": options.operator_class.loss, **self._how}
        return Given.take(earlier, *given, dim=options.dim, how=how, parts=options.parts, communicator=communicator)

    def _for_this_run(self, source: Corpus, communicator: Communicator | None, known: Vocabulary | None) -> Corpus:
        """Check that a corpus was read for this run."""
        ids = [source.vocabulary.ids.get(word, -1) for word in known.words] if known else []
        if known and (min(ids, default=0) < 0 or (source.vocabulary.counts[ids] < known.counts).any()):
            raise Any2VecError("the corpus was read without the words of the vectors to go on from; give its source")
        hosts = self.hosts if communicator is None else communicator.size
        held = range(hosts) if communicator is None else range(communicator.rank, communicator.rank + 1)
        if (source.hosts, source.held) != (hosts, held):
            raise Any2VecError(f"the corpus was read for {source.hosts} hosts, not for these {hosts}; read it for them")
        return source

    @property
    def wv(self) -> Vectors:
        """The vectors, `vectors_`, under gensim's name."""
        return self.vectors_

    def _train(
        self,
        corpus: Corpus,
        options: Options,
        start: Start | None,
        flags: NDArray[np.int64] | None,
        communicator: Communicator,
    ) -> Matrices:
        """Train as one host; return the matrices of its masters. Of hosts that share `flags`, the first one reports."""
        reports = communicator.rank == 0 or flags is None
        report = self.report_ if reports else Report(options={})
        display = self.display if reports else Quiet()
        judged = partial(self._judged, corpus, options)
        given = corpus, options, communicator, display
        with self._checkpoints(*given, self.report_) as (state, checkpoints):
            return train(
                *given,
                report,
                after_epoch=calling(self.callbacks, judged) if self.callbacks else None,
                state=state,
                checkpoints=checkpoints,
                start=start,
                flags=flags,
            )


def vectors_of(
    corpus: Corpus,
    matrices: list[Matrices],
    loss: str,
    kind: Subwords | Features | None = None,
    communicator: Communicator | None = None,
) -> Vectors:
    """Make Vectors of the matrices of one range of rows, held in parts; a single part is not copied.

    If words have several rows, the matrices must be of all, or, on a cluster, all hosts call this, and each gets an
    even share of the words.
    """
    vocabulary, rows = corpus.vocabulary, corpus.rows
    if rows is not None and communicator is not None and communicator.size > 1:
        return _share(vocabulary, rows, matrices[0], loss, kind, communicator)
    e, t = ([getattr(part, name) for part in matrices] for name in ("embedding", "training"))
    whole, training = (one[0] if len(one) == 1 else np.concatenate(one) for one in (e, t))
    has_t = len(training) == len(whole)  # not while callbacks judge several hosts
    if rows is None:
        first = matrices[0].first
        if len(whole) < len(vocabulary):
            here = slice(first, first + len(whole))
            vocabulary = Vocabulary(vocabulary.words[here], vocabulary.counts[here])
        return Vectors(vocabulary, whole, t=training if has_t else None, loss=loss)
    training = training[: len(vocabulary)].copy() if has_t else None
    if kind is None:
        return Vectors(vocabulary, means_of(whole, rows.bounds, rows.rows), t=training, loss=loss)
    parts = Parts(kind, whole[rows.own], rows.ids, whole[rows.parts])
    return Vectors(vocabulary, parts.means(vocabulary.words), t=training, loss=loss, parts=parts)


def document_vectors(corpus: Corpus, matrices: list[Matrices], host: int, loss: str) -> Vectors:
    """Make Vectors of the documents of consecutive hosts, from `host` on; a single host's rows are not copied."""
    documents = corpus.documents
    assert documents
    low, high = corpus.documents_of(host).start, corpus.documents_of(host + len(matrices) - 1).stop
    rows = [one.documents[:, : one.dim] for one in matrices if one.documents is not None]
    lengths = corpus.worklist.lengths(high - documents.first)[low - documents.first :]
    names = Vocabulary(documents.names(low, high), lengths)
    return Vectors(names, rows[0] if len(rows) == 1 else np.concatenate(rows), loss=loss)


def _share(
    vocabulary: Vocabulary,
    rows: WordRows,
    mine: Matrices,
    loss: str,
    kind: Subwords | Features | None,
    communicator: Communicator,
) -> Vectors:
    """Make the Vectors of this host's share of the words, of rows that are fetched from all hosts."""
    sizes = communicator.allgather(np.array([mine.vertices], np.int64))[:, 0]
    bounds = np.append(0, np.cumsum(sizes))
    e, t = Rows(mine.embedding, bounds), Rows(mine.training, bounds)

    def fetched(of: Rows, places: NDArray[np.int32]) -> NDArray[np.float32]:
        found = np.empty((len(places), mine.dim), np.float32)
        of.put(places, found, communicator)
        return found

    host, hosts = communicator.rank, communicator.size
    words = slice(*(len(vocabulary) * h // hosts for h in (host, host + 1)))
    first, last = words.start, words.stop
    matrix = np.empty((last - first, mine.dim), np.float32)
    for at in range(0, -(-len(vocabulary) // hosts), _WORDS):  # as many times on all hosts
        begin, end = (min(first + n, last) for n in (at, at + _WORDS))
        bounds_here = rows.bounds[begin : end + 1]
        needed, places = np.unique(rows.rows[bounds_here[0] : bounds_here[-1]], return_inverse=True)
        got = fetched(e, needed.astype(np.int32))
        matrix[begin - first : end - first] = means_of(got, bounds_here - bounds_here[0], places)
    parts = slice(*(len(rows.ids) * h // hosts for h in (host, host + 1)))
    own, of_parts = fetched(e, rows.own[words]), fetched(e, rows.parts[parts])
    training = fetched(t, np.arange(first, last, dtype=np.int32))
    share = Vocabulary(vocabulary.words[words], vocabulary.counts[words])
    made = Parts(kind, own, rows.ids[parts], of_parts, whole=False) if kind else None
    return Vectors(share, matrix, t=training, loss=loss, parts=made)
