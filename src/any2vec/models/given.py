"""What `fit` is given to begin with: vectors to go on from, pretrained vectors, frozen words."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, first_other, together
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import Any2VecError, file_error, shown
from any2vec.io.compression import open_compressed
from any2vec.io.memory import check_finite
from any2vec.options import as_path, as_word
from any2vec.samples.windows import total_of
from any2vec.training.state import Rows, Start
from any2vec.vectors import Vectors, load
from any2vec.vectors.parts import Parts

GIVEN: Literal["given"] = "given"
"""What `frozen` may be: all words that have given vectors."""

_VectorsOrPath = Vectors | str | Path
_Frozen = Collection[str] | bool | str | Path


def check_given(start: object, pretrained: object, frozen: object) -> None:
    """Raise if an option is of a wrong type."""
    for name, value in (("start", start), ("pretrained", pretrained)):
        if value is not None and not isinstance(value, Vectors | str | os.PathLike):
            hint = "; an estimator has them as vectors_" if hasattr(value, "fit") else ""
            raise Any2VecError(f"`{name}` is {shown(value)}; it must be Vectors or the path of saved ones{hint}")
    if isinstance(frozen, bytes) or (frozen is not None and not isinstance(frozen, Collection | os.PathLike | bool)):
        raise Any2VecError(f"`frozen` is {shown(frozen)}; it must be words, a file with a word per line, or {GIVEN!r}")


def shown_given(value: object) -> object:
    """Shorten vectors and words for a report."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return f"{len(value):,} words" if isinstance(value, Collection) and not isinstance(value, Vectors) else repr(value)


@dataclass(frozen=True, eq=False)
class Given:
    """What a run begins with, loaded, checked, and the same on all hosts."""

    known: Vocabulary | None  # all words of the vectors to go on from
    # their name, for messages, and the vectors; of `start` on a cluster perhaps only this host's rows
    start: tuple[str, Vectors] | None
    pretrained: tuple[str, Vectors] | None
    bounds: NDArray[np.int64] | None  # (H + 1,): Where the hosts' rows of `start` begin; None if every host has all
    # words; `GIVEN` for all of `pretrained`, or without it of `start`
    frozen: "tuple[str, ...] | Literal['given'] | None"

    @classmethod
    def take(
        cls,
        earlier: Vectors | None,
        start: _VectorsOrPath | None,
        pretrained: _VectorsOrPath | None,
        frozen: _Frozen | None,
        *,
        dim: int,
        how: dict[str, Any],
        parts: Subwords | Features | None,
        communicator: Communicator,
    ) -> Self | None:
        """Load and check; None if nothing is given. `earlier` are those of a warm start, which goes before `start`.

        `how` a run is that goes on must be how the vectors were trained. `parts` are those of words in this run.
        """
        with together(communicator):
            first = ("the vectors of the last `fit`", earlier) if earlier is not None else _loaded("start", start)
            second = _loaded("pretrained", pretrained)
            words = _words(frozen)
            if first:
                _check_text(*first)
                _check_start(*first, parts, **how)
            for vectors in filter(None, (first, second)):
                _check_dim(*vectors, dim)
            if words and parts is not None:
                raise _frozen_parts()
            if words and not first and not second:
                raise Any2VecError("`frozen` needs vectors that are given, by `start` or `pretrained`")
        known, bounds = _gathered(first[1], communicator) if first else (None, None)
        with together(communicator):
            if first and known:
                total_of(known.counts, f"{first[0]}: its counts")
                if first[1].parts and bounds is not None:
                    some = "words have parts, and each host has some of these"
                    raise Any2VecError(f"{first[0]}: {some}; give all hosts all vectors")
        if second:
            _check_same("`pretrained` vectors", second[1].vocabulary.digest, communicator)
        _check_same("`frozen` words", words, communicator)
        return cls(known, first, second, bounds, words) if first or second else None

    def begin(
        self, corpus: Corpus, wanted_parts: Subwords | Features | None, say: Callable[[str], None], kind: str
    ) -> Start:
        """Find the given rows of all vertices, and say how many there are."""
        vocabulary, parts = corpus.vocabulary, None
        before, places, e, t = np.zeros(0, np.int64), np.full(len(vocabulary), -1, np.int32), None, None
        if self.start and self.known:
            name, vectors = self.start
            before, places = self.known.counts, _places(vocabulary, self.known)
            assert vectors.t is not None
            parts, matrix = vectors.parts, vectors.matrix
            if corpus.rows is not None and parts is None:
                raise Any2VecError(f"{name}: the rows of parts of words are not kept; give the vectors as `pretrained`")
            if parts:
                matrix = np.concatenate([parts.own, parts.rows])
            e, t = Rows(matrix, self.bounds), Rows(vectors.t, self.bounds)
            say(f"going on from {name}: {len(before):,} {kind}, {len(vocabulary) - len(before):,} new")
        given, given_places = None, np.full(len(vocabulary), -1, np.int32)
        if self.pretrained:
            name, vectors = self.pretrained
            found, new = _places(vocabulary, vectors.vocabulary), places < 0
            given, given_places = Rows(vectors.matrix), np.where(new, found, np.int32(-1))
            used, wanted = np.count_nonzero(given_places >= 0), np.count_nonzero(new)
            if not used and not self.start:
                raise Any2VecError(f"{name}: has none of the {wanted:,} {kind}, such as {vocabulary.words[0]!r}")
            say(f"{used:,} of {wanted:,} {'new ' * bool(self.start)}{kind} begin with their vectors in {name}")
        frozen = self._frozen(vocabulary, places, given_places, kind)
        if len(frozen):
            say(f"{np.count_nonzero(frozen):,} of {len(vocabulary):,} {kind} are frozen")
        if len(frozen) and corpus.rows is not None:
            if (np.diff(corpus.rows.bounds) > 1).any():
                raise _frozen_parts()
            frozen = (corpus.rows.of_words(frozen.astype(np.int32)) > 0).astype(np.uint8)
        known = np.zeros(0, np.int64) if parts is None else _numbers(parts, wanted_parts)
        return Start(before, places, e, t, given, given_places, frozen, corpus.rows, known)

    def _frozen(
        self, vocabulary: Vocabulary, places: NDArray[np.int32], given: NDArray[np.int32], kind: str
    ) -> NDArray[np.uint8]:
        if self.frozen is None:
            return np.zeros(0, np.uint8)
        if isinstance(self.frozen, str):
            found = _places(vocabulary, self.pretrained[1].vocabulary) if self.pretrained else places
            return (found >= 0).astype(np.uint8)
        has_row = (places >= 0) | (given >= 0)
        for what, lacking in (
            (f"not among the {len(vocabulary):,} {kind}", [w for w in self.frozen if w not in vocabulary.ids]),
            ("new, with no vector given", [w for w in self.frozen if not has_row[vocabulary.ids.get(w, 0)]]),
        ):
            if lacking:
                more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
                verb = "are" if len(lacking) > 1 else "is"
                raise Any2VecError(f"`frozen`: {lacking[0]!r}{more} {verb} {what}")
        frozen = np.zeros(len(vocabulary), np.uint8)
        frozen[[vocabulary.ids[word] for word in self.frozen]] = 1
        return frozen


def _loaded(option: str, value: _VectorsOrPath | None) -> tuple[str, Vectors] | None:
    if value is None:
        return None
    if not isinstance(value, Vectors):
        return str(value), load(value)
    for matrix in (value.matrix, value.t):
        if matrix is not None:
            check_finite(value.words, matrix, f"`{option}`: ")
    return f"`{option}`", value


def _check_text(name: str, vectors: Vectors) -> None:
    """Refuse words that no text has: a model of fastText may hold bytes that are not UTF-8."""
    for word in vectors.vocabulary.words:
        try:
            word.encode()
        except UnicodeEncodeError:
            how = "give these vectors as `pretrained`, or Vectors of the other words as `start`"
            raise Any2VecError(f"{name}: the word {shown(word)} is not UTF-8, so no text has it: {how}") from None


def _check_start(name: str, vectors: Vectors, parts: Subwords | Features | None, loss: str, **how: Any) -> None:
    if vectors.t is None:
        raise Any2VecError(
            f"{name}: has no training vectors t, which going on needs: save with `training=True`, to a folder, "
            "or give these vectors as `pretrained`"
        )
    if vectors.loss != loss:
        raise Any2VecError(f"{name}: its t was trained with the loss {vectors.loss!r}, but `loss` is {loss!r}")
    _check_parts(name, vectors.parts, parts)  # first: the default of `model` follows from them
    for option, value in how.items():
        if (had := vectors.how.get(option, value)) != value:
            raise Any2VecError(f"{name}: was trained with `{option}={had!r}`, not `{option}={value!r}`; give the same")
    if loss == "hierarchical" and not (vectors.counts.any() and (np.diff(vectors.counts) <= 0).all()):
        raise Any2VecError(f"{name}: has no counts, or not in falling order, of which its Huffman tree is made")


def _frozen_parts() -> Any2VecError:
    return Any2VecError("`frozen` is given, and words have parts, which they share; leave out one")


def _check_parts(name: str, parts: Parts | None, wanted: Subwords | Features | None) -> None:
    """Refuse to go on with other parts of words; there may be more features."""
    found = None if parts is None else parts.settings
    if isinstance(found, Features) or isinstance(wanted, Features):
        _check_features(name, found, wanted)
    elif found != wanted:
        has, wants = map(_n_grams, (found, wanted))
        give = f"give `subwords='{found}'` and `buckets={found.buckets}`" if found else "leave it out"
        raise Any2VecError(f"{name}: has {has}, and `subwords` asks for {wants}; {give}")


def _n_grams(given: Subwords | None) -> str:
    return f"n-grams of {given} characters in {given.buckets:,} buckets" if given else "no n-grams"


def _check_features(name: str, found: Subwords | Features | None, wanted: Subwords | Features | None) -> None:
    if not isinstance(found, Features):
        raise Any2VecError(f"{name}: was trained without features; leave out `features`")
    if not isinstance(wanted, Features):
        of = f"{len(found.names):,} features, such as {found.names[0]!r}"
        raise Any2VecError(f"{name}: was trained with {of}: give `features`, the same or more")
    if lacking := [feature for feature in found.names if feature not in wanted.numbers]:
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        raise Any2VecError(f"{name}: `features` lack {lacking[0]!r}{more}, which it has; give the same or more")
    (bounds, had), (others, has) = (features.lists(found.tokens) for features in (found, wanted))
    had = np.array([wanted.numbers[feature] for feature in found.names])[had]
    before, now = (np.repeat(np.arange(len(ends) - 1), np.diff(ends)) for ends in (bounds, others))
    if len(lost := np.setdiff1d(before * wanted.buckets + had, now * wanted.buckets + has)):
        token, feature = found.tokens[lost[0] // wanted.buckets], wanted.names[lost[0] % wanted.buckets]
        more = f", and {len(lost) - 1:,} more are lacking" if len(lost) > 1 else ""
        raise Any2VecError(f"{name}: {token!r} has {feature!r}, but not in `features`{more}; give the same or more")


def _numbers(parts: Parts, wanted: Subwords | Features | None) -> NDArray[np.int64]:
    """Return the numbers that parts have now: those of features are by name."""
    if not isinstance(parts.settings, Features) or not isinstance(wanted, Features):
        return parts.ids
    return np.array([wanted.numbers[parts.settings.names[number]] for number in parts.ids], np.int64)


def _check_dim(name: str, vectors: Vectors, dim: int) -> None:
    if vectors.dim != dim:
        raise Any2VecError(f"{name}: vectors of {vectors.dim} dimensions, but `dim` is {dim}; give `dim={vectors.dim}`")


def _words(frozen: _Frozen | None) -> "tuple[str, ...] | Literal['given'] | None":
    """Return the words to freeze, each once; `GIVEN` for all that are given, None for none."""
    if frozen is None or frozen is False:
        return None
    if frozen is True or (isinstance(frozen, str) and frozen == GIVEN):
        return GIVEN
    assert not isinstance(frozen, bool)
    if isinstance(frozen, str | os.PathLike):
        path = as_path(frozen)
        if not path.is_file():
            message = f"`frozen`: {path}: no such file; give a file with a word per line, or {GIVEN!r}"
            raise file_error(message, FileNotFoundError(errno.ENOENT, "no such file", str(path)))
        try:
            with open_compressed(path) as stream:
                lines = stream.read().decode("utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise Any2VecError(f"{path}: not UTF-8 at byte {error.start:,}") from error
        words = [word for line in lines if (word := line.strip("\r"))]
        if not words:
            raise Any2VecError(f"{path}: holds no word")
    else:
        try:
            words = [as_word(word) for word in frozen]
        except TypeError:  # an array without a dimension
            raise Any2VecError(f"`frozen`: words are expected, not {shown(frozen)}") from None
        for word in words:
            if not isinstance(word, str):
                raise Any2VecError(f"`frozen`: a word is expected, not {shown(word)}")
    return tuple(dict.fromkeys(words)) or None


def _places(vocabulary: Vocabulary, other: Vocabulary) -> NDArray[np.int32]:
    """Return the id in another vocabulary of each word, or -1."""
    ids = other.ids
    return np.fromiter((ids.get(word, -1) for word in vocabulary.words), np.int32, len(vocabulary))


def _gathered(mine: Vectors, communicator: Communicator) -> tuple[Vocabulary, NDArray[np.int64] | None]:
    """Return all words to go on from; where hosts have rows of their own, also where these begin."""
    if first_other(communicator, bytes.fromhex(mine.vocabulary.digest)) is None:
        return mine.vocabulary, None
    words: list[str] = []
    for part in allgather_bytes(communicator, json.dumps(list(mine.words)).encode()):
        words += json.loads(part)
    counts = np.concatenate(
        [np.frombuffer(part, np.int64) for part in allgather_bytes(communicator, mine.counts.tobytes())]
    )
    known = Vocabulary(words, counts)
    if len(known.ids) < len(words):
        raise SharedError("the hosts have different vectors to go on from; give all hosts the same, or each its part")
    sizes = communicator.allgather(np.array([len(mine)], np.int64))[:, 0]
    return known, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _check_same(what: str, value: Any, communicator: Communicator) -> None:
    other = first_other(communicator, hashlib.sha256(json.dumps(value).encode()).digest())
    if other is not None:
        raise SharedError(f"hosts 0 and {other} were given different options: {what}; give all hosts the same")
