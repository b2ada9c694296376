"""What the benchmarks are run on: a text, the beginning of it, or the same words in short lines."""

import bz2
import gzip
import lzma
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["beginning", "plain_text", "short_lines"]

_OPENERS = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
_PIECE = 1 << 22
_SHORTEST, _LONGEST = 3, 8  # words of a short line


@contextmanager
def plain_text(corpus: Path, size: int | None = None) -> Iterator[tuple[Path, Path]]:
    """Give a plain text file and a folder for more files, which is removed at the end.

    Parameters
    ----------
    corpus : Path
        Plain, .xz, .gz or .bz2. A plain file that is wanted whole is used where it is.
    size : int, optional
        Take the first so many bytes of text, and the rest of the line they end in.
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
    """Write the words of `corpus`, in their order, in lines of 3 to 8, evenly drawn and always the same."""
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
