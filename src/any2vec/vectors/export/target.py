"""What all targets share: the checks before anything is written, and the output that replaces only its own kind."""

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError, Any2VecWarning, shown
from any2vec.io.memory import check_finite
from any2vec.io.outputs import Kind, check_writable, replacing
from any2vec.options import as_path, whole_number
from any2vec.vectors.parts import lost_parts

if TYPE_CHECKING:
    from any2vec.vectors import Vectors


F = TypeVar("F", bound=Callable[..., None])

_NOT_TEXT = re.compile("[\ud800-\udfff]")  # surrogates, which UTF-8 cannot hold


@dataclass(frozen=True)
class Target:
    """A file or folder that another program reads."""

    kind: Kind
    """What may be replaced; with `files`, it is a folder."""
    endings: tuple[str, ...] = ()
    """Endings that the name of a file must have."""
    refused: str = r"(?!)"
    """A regular expression that matches words which it cannot hold."""
    reason: str = ""
    """What is wrong with these words."""

    def check(
        self, vectors: "Vectors", path: str | os.PathLike[str], top: int | None, force: bool
    ) -> tuple["Vectors", Path]:
        """Return the vectors that are to be written and where; raise if they cannot be held, or the path is taken."""
        where = as_path(path)
        if self.endings and not where.name.lower().endswith(self.endings):
            raise Any2VecError(f"{where}: give a name that ends in {' or '.join(self.endings)}")
        check_writable(where, self.kind, folder=bool(self.kind.files), force=force)
        rows = first_words(vectors, top)
        if vectors.parts is not None:
            warnings.warn(lost_parts(vectors.parts.settings, where), Any2VecWarning, stacklevel=5)
        if not len(rows):
            raise Any2VecError(f"{where}: not written: there are no vectors")
        check_finite(rows.words, rows.matrix, f"{where}: not written: ")
        for pattern, reason in ((re.compile(self.refused), self.reason), (_NOT_TEXT, "a lone surrogate, not text")):
            bad = next(filter(pattern.search, rows.words), None)
            if bad is not None:
                raise Any2VecError(f"{where}: {self.kind.name} cannot hold the word {shown(bad)} ({reason})")
        return rows, where

    @contextmanager
    def writing(
        self, vectors: "Vectors", path: str | os.PathLike[str], top: int | None, force: bool
    ) -> Iterator[tuple["Vectors", Path]]:
        """Check, and yield the vectors with a temporary file or folder that is renamed to `path` in the end."""
        rows, where = self.check(vectors, path, top, force)
        with replacing(where, folder=bool(self.kind.files), kind=self.kind) as part:
            yield rows, part


def first_words(vectors: "Vectors", top: int | None) -> "Vectors":
    """Return the vectors of the first `top` words; all if it is None."""
    if top is None or whole_number("top", top, 1) >= len(vectors):
        return vectors
    return type(vectors)(Vocabulary(vectors.words[:top], vectors.counts[:top]), vectors.matrix[:top])


def opened_by(command: str) -> Callable[[F], F]:
    """Note, of a function that writes a target, what a user calls next; {shell} or {python} stands for the output."""

    def note(write: F) -> F:
        vars(write)["opened_by"] = command
        return write

    return note
