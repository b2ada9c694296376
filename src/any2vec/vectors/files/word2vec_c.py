"""Files as the program word2vec writes them: </s>, the end of a line, comes first."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.corpus.given_vocabulary import LINE_END, numbers_of
from any2vec.io.outputs import write_in_host_order
from any2vec.io.replaceable import Kind, has_mark
from any2vec.vectors.classes import classes
from any2vec.vectors.files.formats import VECTORS, Format
from any2vec.vectors.files.shard import Shard
from any2vec.vectors.files.word2vec import check_words, load_text, six_decimals, text_rows
from any2vec.vectors.files.word2vec_binary import binary_rows, load_binary
from any2vec.vectors.lookup import Lookup


def save_classes(vectors: Lookup, path: Path, number: int, threads: int | None, communicator: Communicator) -> None:
    """Write a line with each word and its class, 0 to `number` - 1, in the order of ids."""
    with_end = _with_line_end(vectors)
    check_words(with_end.words, path)
    found = zip(with_end.words, classes(with_end, number, threads=threads).tolist(), strict=True)
    lines = (f"{word} {of}\n".encode() for word, of in found)
    write_in_host_order(path, lines, communicator, VECTORS_OR_CLASSES)


def _with_line_end(vectors: Lookup) -> Lookup:
    """Put </s> before all other words."""
    matrix = np.concatenate((_line_end(vectors.dim).matrix, vectors.matrix))
    return Lookup([LINE_END, *vectors.words], matrix)


def _line_end(dim: int) -> Lookup:
    """Return </s> alone: as in word2vec, no sample has it, and its vector is what a word's is before training."""
    drawn: NDArray[np.float64] = np.random.default_rng(0).uniform(-0.5, 0.5, (1, dim)) / dim
    return Lookup([LINE_END], drawn.astype(np.float32))


def _save(shard: Shard, path: Path, rows: Callable[[Lookup], Iterator[bytes]]) -> None:
    """Write </s> and a shard's rows; compressed if the name ends in .gz."""
    parts = [rows(shard.own)]
    if shard.first:
        parts = [iter([replace(shard, total=shard.total + 1).header]), rows(_line_end(shard.own.dim)), *parts]
    write_in_host_order(path, chain.from_iterable(parts), shard.communicator)


def _holds_either(path: Path) -> bool:
    """Recognize vectors; or lines of a word and a number from </s> on, which unlike a vocabulary's do not fall."""
    if VECTORS.holds(path) or has_mark(path, VECTORS_OR_CLASSES.name):
        return True
    numbers = numbers_of(path)
    return numbers is not None and numbers != sorted(numbers, reverse=True)


VECTORS_OR_CLASSES = Kind("vectors or classes of words", _holds_either, marked=True)
"""The files that word2vec's ``-output`` may replace."""
TEXT = Format(load_text, partial(_save, rows=partial(text_rows, formatted=six_decimals)), check_words=check_words)
"""The default of word2vec."""
BINARY = Format(load_binary, partial(_save, rows=binary_rows), check_words=check_words)
"""Its ``-binary 1``."""
