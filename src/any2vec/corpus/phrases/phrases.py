"""Phrases: words that occur together more often than their counts let expect, as word2phrase finds them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

from any2vec.cluster.local import alone
from any2vec.cluster.machine import usable_cores
from any2vec.corpus.blocks import BLOCK
from any2vec.corpus.phrases.bigrams import NPMI, SCORINGS, WORD2PHRASE, Rule
from any2vec.corpus.phrases.phrased_text import (
    PHRASES,
    KeptText,
    PhrasedText,
    PhraseList,
    find_phrases,
    keep_text,
    lines_of,
    path_of,
    read_phrases,
)
from any2vec.corpus.raw_text import RawText
from any2vec.errors import Any2VecError, MissingFileError, file_error, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import HEAD, Source, refuse
from any2vec.io.memory import disk_errors, memory_errors
from any2vec.io.outputs import check_writable, write_in_host_order
from any2vec.options import Parameters, can_be_path, check_options, documented, option, plain_number

_USUAL = 100.0  # word2phrase's threshold
_MOST_PASSES = 100
_PANEL = "Phrases"
_DATA = "Data"


_LARGEST = 3.4e38  # scores are float32


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class Phrases(Parameters):
    """Find phrases such as new_york in a text, and join their words (word2phrase; Mikolov et al. 2013, section 4).

    Two adjacent words a and b are a phrase if their score is above the threshold, and a, b and the pair each occur
    `min_count` times::

        score(a, b) = (count(a b) - delta) / (count(a) * count(b)) * words of the text

    Or, with ``scoring="npmi"``, if their normalized pointwise mutual information is (Bouma 2009; gensim's formula).
    It is 1 if neither word occurs without the other, 0 if they are independent, and at least -1. It favours rare words
    less::

        score(a, b) = ln(P(a b) / (P(a) * P(b))) / -ln(P(a b)), where P(x) = count(x) / words of the text

    With `connector_words`, any number of these may stand between a and b: bank_of_america. The counts are then of a and
    b with these very words between them. No phrase begins or ends with a connector word.

    Words are joined from left to right: of "a b c", where a b and b c are phrases, "a_b c" is made. Each further pass
    finds and joins phrases in the text that those before it have joined, so they get longer. Scores and joins are
    word2phrase's, which counts pairs across line ends, but does not join them (see `within_lines`). Unlike there, words
    have any length, and a word with the joiner in it, such as one of an earlier pass, is never mixed up with the pair
    that is spelled alike.

    Text is streamed: neither it nor a sentence nor the pairs have to fit into memory, only the distinct words (about
    100 bytes each, per thread), the distinct runs of connector words, and the phrases. Temporary files take up to 12
    bytes per word of text, 16 with connector words, in the folder that Python's `tempfile` chooses ($TMPDIR).

    Attributes
    ----------
    phrases_ : dict from str to float
        Score of each phrase, the highest first; if several passes or pairs of words make the same one, its highest.
    counts_ : dict from str to int
        How often the words of each phrase were adjacent when it was found.
    words_ : int
        Words of the text, before any were joined; after `load` unknown.

    Examples
    --------
    >>> sentences = [["new", "york", "is", "big"], ["is", "new", "york", "old"], ["old", "is", "new"]] * 5
    >>> Phrases(threshold=1.5, threads=1).fit(sentences).phrases_
    {'new_york': 1.8333334}
    """

    learned: ClassVar[tuple[str, ...]] = ("phrases_", "counts_", "words_")
    without_fit: ClassVar[str] = "has found none yet"

    threshold: "float | Sequence[float]" = option(
        _USUAL, "score above which two words are a phrase; several, for each pass its own", panel=""
    )
    scoring: str = option(
        WORD2PHRASE,
        "score of two words: word2phrase, or npmi, whose threshold is from -1 to 1",
        choices=SCORINGS,
        panel=_PANEL,
    )
    connector_words: "str | Path | Collection[str] | None" = option(
        None,
        "words that may stand inside a phrase: english (the, of, and, ...), or a file of words",
        unset="none",
        hashed=False,
        panel=_PANEL,
    )
    min_count: int = option(5, "ignore words and pairs that occur less often", low=1, panel=_PANEL)
    delta: float | None = option(
        None,
        "discount, taken off the count of a pair; not with npmi",
        low=0,
        high=1e30,
        unset="the minimum count",
        panel=_PANEL,
    )
    passes: int | None = option(
        None,
        "passes over the text; two find up to four words",
        low=1,
        high=_MOST_PASSES,
        unset="one per threshold",
        panel=_PANEL,
    )
    joiner: str = option("_", "what joins the words of a phrase", panel=_PANEL)
    within_lines: bool = option(
        False, "count only pairs within a line; word2phrase counts those across line ends, too", panel=_PANEL
    )
    lowercase: bool = option(False, "read text in lower case", panel=_DATA)
    tokenize: bool = option(
        False, "split raw text into words and punctuation; otherwise, whitespace separates words", panel=_DATA
    )
    threads: int | None = option(None, "threads that read text", low=1, high=1024, unset="all cores", panel="Run")
    column: str | None = option(
        None, "field that holds the text or the tokens, where sentences are rows (dicts)", unset="-", panel=""
    )
    progress: "Callable[[int, int | None], None] | None" = option(
        None,
        "function called now and then with the bytes read and all bytes, None if unknown",
        compared=False,
        panel="",
    )
    _block = BLOCK  # for tests: the bytes of text that a thread takes at a time

    def check(self) -> None:
        """Raise now what `fit` would raise of the parameters.

        Raises
        ------
        Any2VecError
            If one is out of range.
        """
        check_options(self)
        for threshold in self._thresholds():
            number = plain_number(threshold)
            if self.scoring == NPMI:
                if number is None or not -1 <= number <= 1:
                    usual = "a number from -1 to 1 with npmi (0.5 is usual)"
                    raise Any2VecError(f"`threshold` is {shown(threshold)}; it must be {usual}")
            elif not 0 < (number or 0) <= _LARGEST:
                raise Any2VecError(f"`threshold` is {shown(threshold)}; it must be a number above 0 (100 is usual)")
        if self.scoring == NPMI and self.delta is not None:
            raise Any2VecError(f"`delta` is {shown(self.delta)}, but npmi has no discount; leave it out")
        _check_connectors(self.connector_words)
        given = len(self._thresholds())
        if given == 0 or (self.passes is not None and given > self.passes):
            passes = "" if self.passes is None else f", `passes` {self.passes}"
            raise Any2VecError(f"`threshold` has {given} numbers{passes}; give one, or one for each pass")
        joiner = self.joiner
        if not isinstance(joiner, str) or joiner.split() != [joiner] or not joiner.isprintable():
            raise Any2VecError(f"`joiner` is {shown(joiner)}; it must be printable text without whitespace, such as _")
        if self.column is not None and not isinstance(self.column, str):
            raise Any2VecError(f"`column` is {shown(self.column)}; it must be the name of a column, a str")

    def fit(self, source: Source, y: object = None) -> Self:
        """Find the phrases of a text.

        Parameters
        ----------
        source : str, Path, sequence of them, or iterable of sequences of tokens
            Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input. Or sentences, drawn once: lists
            of tokens. Tokens are strings or integers. Or rows, with `column`.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        Phrases
            This object, with `phrases_` and `counts_`. There may be none.

        Raises
        ------
        Any2VecError
            If a parameter is out of range, or the text cannot be read, is not text, or holds no word.
        """
        self._learn(source, join_last=False)
        return self

    def fit_transform(self, source: Source, y: object = None) -> PhrasedText:
        """Find the phrases of a text and join them: `fit` and `transform`, but the text is read once only.

        Parameters
        ----------
        source, y : any
            See `fit`.

        Returns
        -------
        PhrasedText
            See `transform`. It keeps the text as 4 bytes per word in a temporary folder, removed with it.

        Raises
        ------
        Any2VecError
            See `fit`.
        """
        kept = self._learn(source, join_last=True)
        return PhrasedText(source, self._found, self.column, self._threads, self._raw, kept, self._block)

    def transform(self, source: Source) -> PhrasedText:
        """Join the phrases found by `fit`, or read by `load`, in a text, which is read when the result is used.

        Parameters
        ----------
        source : str, Path, sequence of them, or iterable of sequences of tokens
            See `fit`.

        Returns
        -------
        PhrasedText
            An iterable of lists of tokens, which `Word2Vec.fit` also takes; files are then read at full speed, and on
            a cluster each host reads its part. ``write(path)`` makes a text file of it.

        Raises
        ------
        Any2VecError
            If there are no phrases yet.
        """
        self.check()
        return PhrasedText(source, self._known(), self.column, self._threads, self._raw, None, self._block)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        r"""Write the phrases as text: a line of parameters, one of names, then one per phrase, tab-separated.

        Its columns are phrase, score, count, pass, first and second word; and the connector words between them, if
        a phrase has some. (pandas reads it with ``sep="\t", skiprows=1, quoting=3``.)

        Parameters
        ----------
        path : str or Path
            Gzip-compressed if its name ends in .gz. Phrases that were saved before are replaced.
        force : bool
            Replace a file that holds something else, too.

        Raises
        ------
        Any2VecError
            If there are no phrases yet, a word holds a tab or a line feed, or the file cannot be written or holds
            something else.
        """
        found, path = self._known(), path_of(path)
        check_writable(path, PHRASES, force=force)
        write_in_host_order(path, lines_of(found, self._settings()), alone())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read phrases that `save` has written, and the parameters they were found with.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Phrases
            As after `fit`.

        Raises
        ------
        Any2VecError
            If the file cannot be read, or is none of `save`.
        """
        found, settings = read_phrases(path_of(path))
        known = {f.name for f in fields(cls)}
        phrases = cls(**{name: value for name, value in settings.items() if name in known})
        phrases.check()
        phrases._keep(found, _connectors_of(phrases.connector_words))
        return phrases

    def _learn(self, source: Source, *, join_last: bool) -> KeptText:
        self.check()
        connectors = _connectors_of(self.connector_words)
        kept = keep_text(source, self.column, self._threads, self._raw, self.progress, self._block)
        self.words_ = kept.text.words
        with memory_errors("the text"), disk_errors(kept.folder):
            how = (self._rules(), self.joiner, kept.folder, self._threads)
            found = find_phrases(kept.text, *how, connectors=connectors, join_last=join_last)
        self._keep(found, connectors)
        return kept

    def _known(self) -> PhraseList:
        if not hasattr(self, "_found"):
            raise Any2VecError("there are no phrases yet: call fit, or load them")
        return self._found

    def _keep(self, found: PhraseList, connectors: tuple[str, ...]) -> None:
        self._found, self._connectors = found, connectors
        rows = [row for one in found.passes for row in zip(found.joined(one), one.scores, one.counts, strict=True)]
        rows.sort(key=lambda row: -row[1])  # stable
        self.phrases_: dict[str, float] = {}
        self.counts_: dict[str, int] = {}
        for phrase, score, count in rows:
            if phrase not in self.phrases_:
                self.phrases_[phrase], self.counts_[phrase] = float(str(score)), int(count)  # the shortest decimal

    def _thresholds(self) -> list[Any]:
        given = self.threshold
        return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]

    def _rules(self) -> list[Rule]:
        thresholds = self._thresholds()
        thresholds += [thresholds[-1]] * ((self.passes or 0) - len(thresholds))
        delta = self.min_count if self.delta is None else self.delta
        how = (int(self.min_count), float(delta), not self.within_lines, self.scoring)
        return [Rule(float(one), *how) for one in thresholds]

    @property
    def _raw(self) -> RawText:
        return RawText(self.lowercase, self.tokenize)

    @property
    def _threads(self) -> int:
        return self.threads or usable_cores()

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that determine the phrases, for JSON."""
        numbers = [float(one) for one in self._thresholds()]
        return {
            "threshold": numbers if len(numbers) > 1 else numbers[0],
            "min_count": int(self.min_count),
            "delta": None if self.delta is None else float(self.delta),
            "passes": self.passes,
            "joiner": self.joiner,
            "within_lines": self.within_lines,
            "lowercase": self.lowercase,
            "tokenize": self.tokenize,
            **({} if self.scoring == WORD2PHRASE else {"scoring": self.scoring}),
            **({"connector_words": _named(self._connectors)} if self._connectors else {}),
        }


_ENGLISH = "a an the for of with without at from to in on by and or"
_CONNECTORS = {"english": tuple(_ENGLISH.split())}
"""Sets by name; `english` is gensim's ENGLISH_CONNECTOR_WORDS."""

_WAYS = f"{', '.join(map(repr, _CONNECTORS))}, a file of words, or a list of words"


def _check_connectors(given: Any) -> None:
    """Raise an error if this is neither the name of a set, nor a path, nor words; a file is not read."""
    if given is None or (isinstance(given, str | Path) and can_be_path(given)):
        return
    single = isinstance(given, str | bytes | bytearray | Path) or getattr(given, "shape", None) == ()
    if single or not isinstance(given, Collection):
        raise Any2VecError(f"`connector_words` is {shown(given)}; it must be {_WAYS}")
    for word in given:
        spelt = _spelt(word)
        if not isinstance(spelt, str) or spelt.split() != [spelt] or not spelt.isprintable():
            raise Any2VecError(f"`connector_words` has {shown(word)}; each must be a word, a str without whitespace")


def _connectors_of(given: Any) -> tuple[str, ...]:
    """Return the words of a set, of a file, or that are given, each once."""
    if given is None:
        return ()
    if isinstance(given, str | Path):
        return _CONNECTORS.get(str(given)) or tuple(dict.fromkeys(_read_connectors(Path(given))))
    words = dict.fromkeys(map(_spelt, given))
    return tuple(sorted(words) if isinstance(given, set | frozenset) else words)


def _named(words: tuple[str, ...]) -> str | list[str]:
    """Return the name of the set that has these words, else a list of them."""
    return next((name for name, known in _CONNECTORS.items() if set(known) == set(words)), list(words))


def _spelt(word: Any) -> Any:
    """Return an integer as its digits, as tokens are."""
    return str(int(word)) if isinstance(word, Integral) and not isinstance(word, bool) else word


def _read_connectors(path: Path) -> list[str]:
    try:
        with open_compressed(path) as stream:
            data = stream.read()
    except MissingFileError as error:
        raise file_error(f"{error}; `connector_words` must be {_WAYS}", error) from None
    refuse(data[:HEAD], path, "text")
    try:
        words = data.decode("utf-8-sig").split()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Any2VecError(f"{path}, line {line:,}: not UTF-8 text") from error
    if not words:
        raise Any2VecError(f"{path}: has no word; a file of connector words has some, separated by whitespace")
    return words
