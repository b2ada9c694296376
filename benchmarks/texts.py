"""Texts for the benchmarks: a whole one, the beginning of one, or the same words in short lines."""

import bz2
import gzip
import lzma
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

__all__ = ["CorpusArgument", "CorpusOption", "beginning", "plain_text", "short_lines"]

_CORPUS = "Text, one sentence per line; also .xz, .gz or .bz2."
CorpusOption = Annotated[Path, typer.Option(help=_CORPUS, exists=True)]
CorpusArgument = Annotated[Path, typer.Argument(help=_CORPUS, exists=True)]

_OPENERS = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
_PIECE = 1 << 22
_SHORTEST, _LONGEST = 3, 8  # words of a short line


@contextmanager
def plain_text(corpus: Path, size: int | None = None) -> Iterator[tuple[Path, Path]]:
    """Yield a plain text file and a folder for more files, which is removed at the end.

    Parameters
    ----------
    corpus : Path
        Plain, .xz, .gz or .bz2. A plain file used as a whole is not copied.
    size : int, optional
        Use the first `size` bytes of text, and the rest of the line they end in.
    """
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        if corpus.suffix not in _OPENERS and size is None:
            yield corpus.absolute(), folder
        else:
            yield beginning(corpus, folder / "corpus.txt", size), folder


def beginning(corpus: Path, path: Path, size: int | None) -> Path:
    """Write the first `size` bytes of a text, and the rest of the line they end in, to `path`."""
    with _OPENERS.get(corpus.suffix, open)(corpus, "rb") as source, path.open("wb") as out:
        left = size
        while piece := source.read(_PIECE if left is None else min(_PIECE, left)):
            out.write(piece)
            if left is not None:
                left -= len(piece)
                if left == 0:
                    out.write(source.readline())
                    break
    return path


def short_lines(corpus: Path, path: Path) -> Path:
    """Write the words of `corpus` in lines of 3 to 8, drawn uniformly with a fixed seed."""
    lengths = random.Random(1)
    left: list[bytes] = []
    with corpus.open("rb") as source, path.open("wb") as out:
        for line in source:
            left += line.split()
            place = 0
            while len(left) - place >= _LONGEST:
                length = lengths.randint(_SHORTEST, _LONGEST)
                out.write(b" ".join(left[place : place + length]) + b"\n")
                place += length
            left = left[place:]
        out.write(b" ".join(left) + b"\n")
    return path
