"""Classifiers of fastText: its `.bin`, and its `.ftz`, whose rows are quantized."""

import os
import struct
import warnings
from dataclasses import replace
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.model import LabelModel, LineSettings
from any2vec.classify.quantized import CENTROIDS, Quantized
from any2vec.corpus.lines import PREFIX
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.io.compression import open_compressed
from any2vec.io.memory import blocks, largest, write_all
from any2vec.io.outputs import Kind, check_writable, refusals, replacing
from any2vec.io.temporary import not_followed
from any2vec.samples.targets import huffman_paths
from any2vec.vectors.files.fasttext import (
    FLAG,
    MATRIX,
    SUPERVISED,
    Arguments,
    Dictionary,
    check_fasttext_words,
    check_rows,
    check_shape,
    head_of,
    holds_fasttext,
    put_rows,
    read_arguments,
    read_dictionary,
    turned,
)
from any2vec.vectors.files.word2vec import Reader

_Matrix: TypeAlias = NDArray[np.float32] | Quantized

_HIERARCHICAL = "hierarchical"
_LOSSES = {_HIERARCHICAL: 1, "negative": 2, "softmax": 3, "ova": 4}
_CODES = struct.Struct("<?2qi")  # whether rows have norms, rows, columns, codes
_PARTS = struct.Struct("<4i")  # columns; parts, columns of each, and of the last
_OF_NORMS = 1, 1, 1, 1

KIND = Kind("a model of fastText", holds_fasttext)
"""What `save_fasttext` replaces."""


def load_fasttext(path: Path, prefix: str = PREFIX) -> LabelModel:
    """Read a classifier of fastText. Its file does not say how labels begin: if all do, with `prefix`, else anyhow."""
    if not holds_fasttext(path):
        raise Any2VecError(f"{path}: is no model of fastText")
    with open_compressed(path) as stream:
        reader = Reader(stream, path)
        given = read_arguments(reader)
        if given.model != SUPERVISED:
            instead = "`any2vec.load`, and the commands for vectors, read it"
            raise Any2VecError(f"{path}: is a model of fastText for words (skipgram or cbow), no classifier; {instead}")
        held = read_dictionary(reader)
        settings = _settings(given, held, prefix, path)
        words, shape = len(held.words), (len(held.labels), given.dim)
        (quantized,) = reader.take(FLAG)
        e: _Matrix
        if not quantized and held.kept is None:
            e, ids = _read_rows(reader, words, given)
        elif not quantized:
            raise Any2VecError(f"{path}: is pruned but not quantized, which fastText does not read either")
        elif held.kept is None:
            ids = np.arange(given.buckets)
            e = _read_quantized(reader, (words + given.buckets, given.dim))
        else:
            order = np.argsort(held.kept[:, 0])
            ids, rows = held.kept[order].T.astype(np.int64)
            e = _read_quantized(reader, (words + len(ids), given.dim)).taken(np.append(np.arange(words), words + rows))
        (quantized,) = reader.take(FLAG)
        if not quantized:
            check_shape(reader, shape, "rows of labels")
        t = _read_quantized(reader, shape) if quantized else reader.matrix(*shape)
        reader.end()
    labels = [label.removeprefix(settings.prefix) for label in held.labels]
    t = _turned(t) if settings.loss == _HIERARCHICAL else t
    model = LabelModel(held.words, held.counts, labels, held.label_counts, settings, ids, e, t)
    _check_finite(model, f"{path}: ")
    return model


def _settings(given: Arguments, held: Dictionary, prefix: str, path: Path) -> LineSettings:
    """Return how lines are read; raise if what precedes the matrices makes no sense for a classifier."""
    loss = next((name for name, number in _LOSSES.items() if number == given.loss), "")
    least, grams = max(given.least, 1), given.word_ngrams > 1
    most, number = given.most if given.most >= least else 0, len(held.words) + len(held.labels)
    wrong = {
        f"its loss has the number {given.loss}": not loss,
        "it has no labels": not held.labels,
        "a word or a label occurs twice": len({*held.words, *held.labels}) < number,
        "its n-grams have no buckets": (most > 0 or grams) and not given.buckets,
        "its index of n-grams has a bucket twice, or one or a row that is not there": not _is_index(held, given),
        "labels, of which it has a tree, are not sorted by their counts": loss == _HIERARCHICAL
        and bool((np.diff(held.label_counts) > 0).any()),
    }
    for what in (what for what, found in wrong.items() if found):
        raise Any2VecError(f"{path}: damaged: {what}")
    if loss == _HIERARCHICAL and len(held.labels) > 1:
        try:
            huffman_paths(held.label_counts)
        except Any2VecError as error:
            raise Any2VecError(f"{path}: damaged: {error}") from None
    return LineSettings(
        word_ngrams=max(given.word_ngrams, 1),
        buckets=given.buckets,
        least=least if most else 0,
        most=most,
        prefix=prefix if all(label.startswith(prefix) for label in held.labels) else "",
        loss=loss,
        counts_unknown=held.kept is None,
    )


def _is_index(held: Dictionary, given: Arguments) -> bool:
    """Whether each of the K n-grams that were kept, if any were not, has a bucket of its own, and one of K rows."""
    if held.kept is None:
        return True
    ids, rows = held.kept.T
    inside = (ids >= 0) & (ids < given.buckets) & (rows >= 0) & (rows < len(rows))
    return bool(inside.all()) and len(np.unique(ids)) == len(ids)


def _read_rows(reader: Reader, words: int, given: Arguments) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Read rows of words, and those of n-grams that are not zeros, with their buckets."""
    check_shape(reader, (words + given.buckets, given.dim), "rows of words and n-grams")
    e = np.empty((words + given.buckets, given.dim), "<f4")  # memory that is not written is not taken
    reader.fill(e[:words])
    end, ids = words, [np.empty(0, np.int64)]
    for some in blocks(e[words:]):
        block = e[end : end + some.stop - some.start]
        reader.fill(block)
        used = np.flatnonzero(block.any(axis=1))
        e[end : end + len(used)] = block[used]
        ids.append(some.start + used)
        end += len(used)
    return e[:end].astype(np.float32, copy=False), np.concatenate(ids)


def _read_quantized(reader: Reader, shape: tuple[int, int]) -> Quantized:
    """Read a matrix of quantized rows."""
    has_norms, *found, size = reader.take(_CODES)
    rows, dim = shape
    if (*found,) != shape or not 0 <= size <= rows * dim:
        sizes = f"{size:,} codes of {found[0]:,} x {found[1]:,} numbers"
        raise Any2VecError(f"{reader.path}: damaged: {sizes}, not of {rows:,} x {dim:,}")
    reader.promised(size, f"{size:,} codes")
    codes = reader.array((size,), np.uint8)
    columns, parts, dsub, last = reader.take(_PARTS)
    if columns != dim or not 1 <= last <= dsub or (parts - 1) * dsub + last != dim or parts * rows != size:
        sizes = f"{columns:,} columns in {parts:,} parts of {dsub:,}, the last of {last:,}, with {size:,} codes"
        raise Any2VecError(f"{reader.path}: damaged: {sizes}")
    reader.promised(4 * CENTROIDS * dim, "centroids")
    first, final = np.split(reader.array((CENTROIDS * dim,), np.float32), [CENTROIDS * (dim - last)])
    centroids = np.zeros((parts, CENTROIDS, min(dsub, dim)), np.float32)
    centroids[:-1] = first.reshape(parts - 1, *centroids.shape[1:])
    centroids[-1, :, :last] = final.reshape(CENTROIDS, last)
    norms, scales = np.empty(0, np.uint8), np.ones(CENTROIDS, np.float32)
    if has_norms:
        reader.promised(rows + 4 * CENTROIDS, "the lengths of rows")
        norms = reader.array((rows,), np.uint8)
        if (of_norms := reader.take(_PARTS)) != _OF_NORMS:
            raise Any2VecError(f"{reader.path}: damaged: lengths of rows have the parts {of_norms}")
        scales = reader.array((CENTROIDS,), np.float32)
    return Quantized(codes.reshape(rows, parts), centroids, norms, scales, dim)


def _turned(t: _Matrix) -> _Matrix:
    """Return rows of inner vertices in fastText's order if they are in ours, and the other way round."""
    if isinstance(t, np.ndarray):
        return turned(t)
    last = len(t) - 1
    return replace(t.taken(np.append(np.arange(last)[::-1], last)), centroids=-t.centroids)


def _check_finite(model: LabelModel, where: str) -> None:
    for name, matrix in (("words and n-grams", model.e), ("labels", model.t)):
        found = largest(matrix) if isinstance(matrix, np.ndarray) else matrix.largest
        if not np.isfinite(np.float32(found)):
            raise Any2VecError(f"{where}rows of {name} hold {found}, not finite numbers of 32 bits")


def save_fasttext(model: LabelModel, path: Path, force: bool = False) -> None:
    """Write a `.ftz` if rows are quantized, else a `.bin`: with zeros for other n-grams, which take little space."""
    settings, words, quantized = model.settings, len(model.words), isinstance(model.e, Quantized)
    ending, kind = (".ftz", "quantized classifiers") if quantized else (".bin", "classifiers")
    if path.suffix.lower() != ending:
        raise Any2VecError(f"{path}: give a name that ends in {ending}, as {kind} of fastText have")
    if not quantized and not settings.counts_unknown:
        raise Any2VecError(f"{path}: fastText reads a pruned classifier only if it is quantized; quantize it")
    labels = [settings.prefix + label for label in model.labels]
    check_fasttext_words(chain(model.words, labels), path)
    check_rows(words, settings.buckets, path)
    _check_finite(model, f"{path}: not saved: ")
    check_writable(path, KIND, force=force)
    given = Arguments(
        dim=model.e.shape[1],
        word_ngrams=settings.word_ngrams,
        loss=_LOSSES[settings.loss],
        model=SUPERVISED,
        buckets=settings.buckets,
        least=settings.least,
        most=settings.most,
    )
    kept = None if settings.counts_unknown else np.column_stack([model.ids, np.arange(len(model.ids))])
    head = head_of(given, Dictionary(model.words, model.counts, labels, model.label_counts, kept=kept))
    places = np.append(np.arange(words), words + model.ids)
    t = _turned(model.t) if settings.loss == _HIERARCHICAL else model.t
    with replacing(path, kind=KIND) as part, refusals(path):
        if part == path:
            raise Any2VecError(f"{path}: is no regular file; a model of fastText is written to one")
        with open(part, "wb", buffering=0, opener=not_followed) as file:
            _write(file, head)
            _write_matrix(file, model.e, places, words + settings.buckets)
            _write_matrix(file, t, np.arange(len(labels)), len(labels))
    if settings.lowercase or settings.tokenize:
        steps = " and ".join(step for step in ("lowercase", "tokenize") if getattr(settings, step))
        text = f"{path}: a model of fastText does not say `{steps}`: give fastText texts that are so already"
        warnings.warn(text, Any2VecWarning, stacklevel=2)


def _write(file: FileIO, *contents: bytes | NDArray[np.generic]) -> None:
    for content in contents:
        array = np.frombuffer(content, np.uint8) if isinstance(content, bytes) else np.ascontiguousarray(content)
        write_all(file, array)


def _write_matrix(file: FileIO, matrix: _Matrix, places: NDArray[np.int64], number: int) -> None:
    """Write rows at the end of a file: quantized ones as they are, others at their places among `number` ones."""
    if isinstance(matrix, np.ndarray):
        _write(file, MATRIX.pack(False, number, matrix.shape[1]))
        start = file.tell()
        file.truncate(start + 4 * number * matrix.shape[1])
        put_rows(file, start, places, matrix, alone=True)
        file.seek(0, os.SEEK_END)
        return
    parts, _, dsub = matrix.centroids.shape
    last = matrix.dim - (parts - 1) * dsub
    _write(file, FLAG.pack(True), _CODES.pack(bool(len(matrix.norms)), *matrix.shape, matrix.codes.size), matrix.codes)
    _write(file, _PARTS.pack(matrix.dim, parts, dsub, last), matrix.centroids[:-1], matrix.centroids[-1, :, :last])
    if len(matrix.norms):
        _write(file, matrix.norms, _PARTS.pack(*_OF_NORMS), matrix.scales)
