"""`any2vec info`: what a file or folder of vectors holds."""

from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from any2vec.cli.similar import VectorsFile
from any2vec.corpus.parts import Features
from any2vec.errors import counted, escaped
from any2vec.io.shown import Console, size
from any2vec.vectors.files.formats import BINARY, FASTTEXT, NATIVE, held_format, load
from any2vec.vectors.files.native import MODEL
from any2vec.vectors.vectors import Vectors

__all__ = ["info"]

_SHOWN = 10  # words


def info(vectors: VectorsFile) -> None:
    """Show what VECTORS holds: format, sizes, counts, norms, words.

    Vectors of a folder are mapped, not loaded. A vector that is not finite is an error.
    """
    found = load(vectors)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _facts(found, vectors):
        table.add_row(name, Text(escaped(text)))
    Console().print(table)


def _facts(vectors: Vectors, path: Path) -> list[tuple[str, str]]:
    why, vectors.untrained = vectors.untrained, ""
    kind, norms, counts = held_format(path), vectors.norms, vectors.counts
    formats = {NATIVE: "a folder of any2vec", BINARY: "word2vec's binary format", FASTTEXT: "a model of fastText"}
    files = [path] if path.is_file() else list(path.iterdir())
    taken = sum(file.stat().st_size for file in files)
    zeros = int(np.count_nonzero(norms == 0))
    of_zeros = f"; {zeros:,} are zero" if zeros else ""
    facts = [
        (
            "format",
            f"{formats.get(kind, 'text, as of word2vec or GloVe')}, {size(taken)}",
        ),
        ("vectors", f"{len(vectors):,} of {vectors.dim} dimensions, all finite"),
        ("norms", f"{norms.min():.3f} to {norms.max():.3f}, mean {norms.mean(dtype=float):.3f}{of_zeros}"),
        ("counts", f"{counts.sum():,} in all, from {counts.min():,} to {counts.max():,}" if counts.any() else "none"),
        (
            "training",
            "none" if vectors.t is None else f"vectors t of the loss {vectors.loss}, for --from",
        ),
    ]
    if (parts := vectors.parts) is not None:
        of = f"n-grams of {parts.settings} characters in {parts.settings.buckets:,} buckets"
        if isinstance(parts.settings, Features):
            of = f"{counted(parts.settings.buckets, 'feature')}, such as {parts.settings.names[0]}"
        facts.append(("parts", f"{of}, {len(parts.rows):,} of them with a row"))
    if (path / MODEL).is_file():
        facts.append(("model", f"parameters and report of an estimator, in {MODEL}"))
    if why:
        facts.append(("not trained", why))
    more = ", ..." if len(vectors) > _SHOWN else ""
    return [*facts, ("words", ", ".join(vectors.words[:_SHOWN]) + more)]
