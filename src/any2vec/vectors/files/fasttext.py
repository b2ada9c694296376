"""Models of fastText, its `.bin`: arguments, dictionary, rows of words and of n-grams, training vectors.

The input matrix has the words' own rows, then those of all buckets; the output matrix is t. The tree of hierarchical
softmax numbers inner vertices from the leaves up, and has the codes of a path the other way: its t is reversed and
negated.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from io import FileIO
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import together
from any2vec.corpus.parts import Features, Subwords, encoded_word
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.compression import open_compressed
from any2vec.io.memory import blocks, check_finite, write_all
from any2vec.io.outputs import refusals, replacing, start_of
from any2vec.io.temporary import not_followed
from any2vec.vectors.files.native import Shard, check_same_parts
from any2vec.vectors.files.word2vec import Reader, first_of_each
from any2vec.vectors.lookup import HIERARCHICAL, NEGATIVE, Lookup
from any2vec.vectors.parts import Parts

_MAGIC = struct.pack("<i", 793_712_314)
_VERSION = struct.Struct("<i")
_ARGUMENTS = struct.Struct("<12id")
_SIZES = struct.Struct("<3i2q")  # words and labels, words, labels, tokens of the text, n-grams that pruning kept
_ENTRY = struct.Struct("<qb")  # count, kind
_VERSIONS = 11, 12
_LONGEST_WORD = 1 << 20
_CLASSIFIERS = "`any2vec predict` and `any2vec.Classifier.load` read it"
_NUMBERS = {HIERARCHICAL: 1, NEGATIVE: 2}  # of the losses that are ours, too
_SKIPGRAM, SUPERVISED = 2, 3  # models
_WORD, _LABEL = 0, 1  # kinds


@dataclass(frozen=True)
class Arguments:
    """fastText's arguments, in the order of a file; the defaults are fastText's."""

    dim: int
    window: int = 5
    epochs: int = 5
    min_count: int = 1
    negative: int = 5
    word_ngrams: int = 1
    loss: int = _NUMBERS[NEGATIVE]
    model: int = _SKIPGRAM
    buckets: int = 0
    least: int = 0
    most: int = 0
    update_rate: int = 100
    sample: float = 1e-4


def read_arguments(reader: Reader) -> Arguments:
    """Read what precedes the dictionary; raise if it is of another version or makes no sense."""
    reader.skip(len(_MAGIC))
    (version,) = reader.take(_VERSION)
    if version not in _VERSIONS:
        known = " and ".join(map(str, _VERSIONS))
        raise Any2VecError(f"{reader.path}: a model of fastText of version {version}; known are {known}")
    found = Arguments(*reader.take(_ARGUMENTS))
    if found.dim < 1 or found.buckets < 0 or found.model not in (1, _SKIPGRAM, SUPERVISED):
        sizes = f"{found.dim:,} dimensions, {found.buckets:,} buckets, a model of kind {found.model}"
        raise Any2VecError(f"{reader.path}: damaged: its arguments are {sizes}")
    if version == _VERSIONS[0] and found.model == SUPERVISED:
        return replace(found, most=0)  # classifiers had no n-grams of characters
    return found


class Dictionary(NamedTuple):
    """A model's words and labels, in the order of their rows, with their counts."""

    words: Sequence[str]
    counts: NDArray[np.int64]
    labels: Sequence[str] = ()
    label_counts: NDArray[np.int64] = np.empty(0, np.int64)
    tokens: int = 0  # of the text, as a file has it; 0 if the counts of words are unknown
    kept: NDArray[np.int32] | None = None  # (K, 2): buckets of n-grams that pruning kept, and their rows behind words'


def read_dictionary(reader: Reader) -> Dictionary:
    """Read words and labels, and which n-grams were kept."""
    size, words, labels, tokens, kept = reader.take(_SIZES)
    if size < 1 or min(words, labels) < 0 or words + labels != size:
        raise Any2VecError(f"{reader.path}: damaged: {size:,} entries are not {words:,} words and {labels:,} labels")
    reader.promised((1 + _ENTRY.size) * size, f"the dictionary of {counted(size, 'word')}")
    names: tuple[list[str], list[str]] = ([], [])
    numbers: tuple[list[int], list[int]] = ([], [])
    for _ in range(size):
        while (end := reader.chunk.find(b"\0", reader.at)) < 0 or len(reader.chunk) <= end + _ENTRY.size:
            if len(reader.chunk) - reader.at > _LONGEST_WORD + _ENTRY.size:
                raise Any2VecError(f"{reader.where}: damaged: a word of more than {_LONGEST_WORD:,} bytes")
            reader.more()
        name = reader.chunk[reader.at : end].decode("utf-8", "surrogateescape")
        count, kind = _ENTRY.unpack_from(reader.chunk, end + 1)
        if count < 0 or kind not in (_WORD, _LABEL):
            raise Any2VecError(f"{reader.where}: damaged: the count of {shown(name)} is {count:,}, its kind {kind}")
        names[kind].append(name)
        numbers[kind].append(count)
        reader.at = end + 1 + _ENTRY.size
    if len(names[_WORD]) != words:
        raise Any2VecError(f"{reader.path}: damaged: {len(names[_WORD]):,} entries are words, not {words:,}")
    index = None
    if kept >= 0:
        reader.promised(8 * kept, f"an index of {kept:,} n-grams")
        index = reader.array((kept, 2), np.int32)
    counts, label_counts = (np.array(some, np.int64) for some in numbers)
    return Dictionary(names[_WORD], counts, names[_LABEL], label_counts, tokens, index)


def head_of(given: Arguments, held: Dictionary) -> bytes:
    """Return what precedes the matrices; if counts are unknown, those of words are 1, and that of the text 0."""
    listed = (held.words, held.counts, _WORD), (held.labels, held.label_counts, _LABEL)
    entries = chain.from_iterable(
        zip(names, np.maximum(counts, 1).tolist(), repeat(kind)) for names, counts, kind in listed
    )
    tokens = int(held.counts.sum() + held.label_counts.sum())
    kept = -1 if held.kept is None else len(held.kept)
    arguments = _MAGIC + _VERSION.pack(_VERSIONS[-1]) + _ARGUMENTS.pack(*astuple(given))
    sizes = _SIZES.pack(len(held.words) + len(held.labels), len(held.words), len(held.labels), tokens, kept)
    words = b"".join(b"%b\0%b" % (encoded_word(word), _ENTRY.pack(count, kind)) for word, count, kind in entries)
    return arguments + sizes + words + (b"" if held.kept is None else held.kept.astype("<i4").tobytes())


MATRIX = struct.Struct("<?2q")  # whether it is quantized, rows, columns
FLAG = struct.Struct("<?")
_SHAPE = struct.Struct("<2q")
_GAP = 4  # rows; a write takes longer than some more zeros
_MOST = 1 << 31  # words and buckets, which have ids of 32 bits


def holds_fasttext(path: Path) -> bool:
    """Recognize a model by its magic number."""
    return start_of(path, len(_MAGIC))[0] == _MAGIC


def load_fasttext(path: Path) -> Lookup:
    """Read a model of words, with its n-grams; refuse a classifier, and one that is quantized."""
    with open_compressed(path) as stream:
        reader = Reader(stream, path)
        given = read_arguments(reader)
        if given.model == SUPERVISED:
            raise Any2VecError(f"{path}: is a classifier of fastText (supervised); {_CLASSIFIERS}")
        held = read_dictionary(reader)
        words, counts = held.words, held.counts * (held.tokens > 0)
        (quantized,) = reader.take(FLAG)
        if quantized or (held.kept is not None and len(held.kept)):
            instead = "any2vec reads models of `fasttext skipgram` and `cbow`, and vectors of words as text (.vec)"
            raise Any2VecError(f"{path}: is a quantized model of fastText; {instead}")
        rows, dim = len(words) + given.buckets, given.dim
        check_shape(reader, (rows, dim), "rows of words and n-grams")
        own = reader.matrix(len(words), dim)
        parts, least = None, max(given.least, 1)  # 0 and 1 mean the same
        if held.kept is None and given.buckets and given.most >= least:
            subwords = Subwords(least, given.most, given.buckets)
            parts = Parts(subwords, own, np.arange(given.buckets), reader.matrix(given.buckets, dim))
        else:
            reader.skip(4 * given.buckets * dim)
        (quantized,) = reader.take(FLAG)
        if quantized:
            raise Any2VecError(f"{path}: its output matrix is quantized; save the model before it is quantized")
        check_shape(reader, (len(words), dim), "output rows")
        output = reader.matrix(len(words), dim)
        reader.end()
    if firsts := first_of_each(words, path):
        words, counts, own, output = [words[i] for i in firsts], counts[firsts], own[firsts], output[firsts]
        parts = parts and replace(parts, own=own)
    if parts is None:
        check_finite(words, own, f"{path}: ")
    else:
        parts.check_finite(words, f"{path}: ")
    check_finite(words, output, f"{path}: output matrix: ")
    loss, t = {number: name for name, number in _NUMBERS.items()}.get(given.loss), output if output.any() else None
    if loss is None or (loss == HIERARCHICAL and (firsts or (np.diff(counts) > 0).any())):
        t = None  # of a loss, or a tree, that is not ours
    elif loss == HIERARCHICAL and t is not None:
        t = turned(t)
    try:
        matrix = own if parts is None else parts.means(words)
        return Lookup(words, matrix, counts=counts, t=t, loss=loss or NEGATIVE, parts=parts)
    except Any2VecError as error:  # a word is too long for its n-grams
        raise Any2VecError(f"{path}: {error}") from None


def turned(t: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of inner vertices in fastText's order if they are in ours, and the other way round."""
    found = np.zeros_like(t)
    np.negative(t[:-1][::-1], out=found[:-1])
    return found


def check_fasttext_words(words: Iterable[str], path: Path) -> None:
    """Refuse words that a dictionary cannot hold: a zero byte ends a word there, and surrogates stand for bytes."""
    for word in words:
        if "\0" in word or encoded_word(word).decode("utf-8", "surrogateescape") != word:
            reason = "a zero byte" if "\0" in word else "a surrogate that stands for no byte"
            raise Any2VecError(f"{path}: a model of fastText cannot hold the word {shown(word)}, with {reason}")


def check_rows(words: int, buckets: int, path: Path) -> None:
    """Refuse more rows than fastText can number."""
    if words + buckets >= _MOST:
        raise Any2VecError(f"{path}: {words:,} words and {buckets:,} buckets are too many for fastText's 31 bits")


def save_fasttext(shard: Shard, path: Path) -> None:
    """Write a shard's rows at their places in the file; all hosts call this."""
    own, communicator, dim = shard.own, shard.communicator, shard.own.dim
    parts, total = own.parts, shard.total
    check_same_parts(shard)
    given = _arguments_of(own, path)
    check_rows(total, given.buckets, path)
    head = head_of(given, Dictionary(shard.words, shard.counts)) if shard.first else b""
    sizes = communicator.allgather(np.array([len(head), len(own)], np.int64))
    rows, places = total + given.buckets, int(sizes[: communicator.rank, 1].sum()) + np.arange(len(own))
    inputs = int(sizes[0, 0]) + MATRIX.size  # where the matrices begin
    outputs = inputs + 4 * rows * dim + MATRIX.size
    matrices = [(inputs, places, own.matrix if parts is None else parts.own)]
    if parts is not None:
        matrices.append((inputs, total + parts.ids, parts.rows))
    if own.t is not None and own.loss == HIERARCHICAL:
        inner = places < total - 1
        matrices.append((outputs, total - 2 - places[inner], -own.t[inner]))
    elif own.t is not None and own.loss == NEGATIVE:
        matrices.append((outputs, places, own.t))
    with replacing(path, communicator=communicator) as part:
        for turn in range(communicator.size):
            with together(communicator), refusals(path, communicator):
                if turn != communicator.rank:
                    continue
                if part == path:
                    raise Any2VecError(f"{path}: is no regular file; a model of fastText is written to one")
                with open(part, "w+b" if turn == 0 else "r+b", buffering=0, opener=not_followed) as file:
                    if turn == 0:
                        file.truncate(outputs + 4 * total * dim)
                        write_all(file, np.frombuffer(head + MATRIX.pack(False, rows, dim), np.uint8))
                        file.seek(outputs - MATRIX.size)
                        write_all(file, np.frombuffer(MATRIX.pack(False, total, dim), np.uint8))
                    for start, lines, matrix in matrices:
                        put_rows(file, start, lines, matrix, alone=communicator.size == 1)


def _arguments_of(vectors: Lookup, path: Path) -> Arguments:
    """Return the arguments of vectors of our own; those that are not known are fastText's defaults."""
    given = Arguments(vectors.dim)
    if vectors.loss == HIERARCHICAL:
        given = replace(given, negative=0, loss=_NUMBERS[HIERARCHICAL])
    if vectors.parts is None:
        return given
    if isinstance(settings := vectors.parts.settings, Features):
        raise no_features(path)
    return replace(given, buckets=settings.buckets, least=settings.least, most=settings.most)


def no_features(path: Path) -> Any2VecError:
    """Return what refuses vectors with features."""
    return Any2VecError(f"{path}: a model of fastText cannot hold features; save to a folder, or without the format")


def put_rows(file: FileIO, start: int, places: NDArray[np.int64], rows: NDArray[np.float32], alone: bool) -> None:
    """Write rows at their places in a matrix that begins at a byte of a file, near ones, zeros between, at once."""
    width, order, apart = rows.shape[1], np.argsort(places, kind="stable"), _GAP if alone else 1
    for block in blocks(rows):
        some = order[block]
        at, numbers = places[some], rows[some]
        cuts = np.flatnonzero(np.diff(at) > apart) + 1
        for begin, end in pairwise([0, *cuts.tolist(), len(at)]):
            near = np.zeros((int(at[end - 1] - at[begin]) + 1, width), "<f4")
            near[at[begin:end] - at[begin]] = numbers[begin:end]
            file.seek(start + 4 * width * int(at[begin]))
            write_all(file, near)


def check_shape(reader: Reader, wanted: tuple[int, int], what: str) -> None:
    """Read a matrix's shape; raise if it is another one, or the file too small for it."""
    shape = reader.take(_SHAPE)
    if shape != wanted:
        raise Any2VecError(
            f"{reader.path}: damaged: {shape[0]:,} x {shape[1]:,} {what}, not {wanted[0]:,} x {wanted[1]:,}"
        )
    reader.promised(4 * shape[0] * shape[1], f"{shape[0]:,} {what}")
