"""What an experiment is given: data, sizes, options of training."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from texts import plain_text

from any2vec import Any2VecError

__all__ = ["FILES", "Settings"]

FILES = {
    "corpus": "imdb-reviews.txt.xz",
    "questions": "questions-words.txt",
    "simlex": "simlex999.txt",
    "wordsim": "wordsim353.tsv",
    "blogcatalog": "blogcatalog.mat",
}
"""Names in the folder of data."""


@dataclass(frozen=True)
class Settings:
    """Data, and sizes; an experiment has a default for each size that is None."""

    data: Path | None = None
    corpus: Path | None = None
    questions: Path | None = None
    size: int | None = None
    dim: int | None = None
    window: int | None = None
    negative: int | None = None
    epochs: int | None = None
    hosts: int | None = None
    seeds: tuple[int, ...] | None = None
    threads: int | None = None
    word2vec: Path | None = None

    def filled(self, **defaults: Any) -> "Settings":
        """Return these with an experiment's own sizes, and those of all, where none were given."""
        common = {"size": 60_000_000, "dim": 100, "window": 5, "negative": 5, "epochs": 5, "hosts": 32}
        sizes = common | {"seeds": (1,), "threads": 2} | defaults
        return replace(self, **{name: value for name, value in sizes.items() if getattr(self, name) is None})

    def file(self, name: str) -> Path:
        """Return the path of a file of `FILES`; raise Any2VecError if it is not there."""
        given = getattr(self, name, None)
        if given is None and self.data is None:
            raise Any2VecError(f"{FILES[name]}: give --data FOLDER, the folder that has it")
        path = Path(given) if given else Path(self.data or "") / FILES[name]
        if not path.exists():
            raise Any2VecError(f"{path}: no such file")
        return path

    @contextmanager
    def text(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the text, and the options of `any2vec.Word2Vec` that all runs of an experiment share."""
        with plain_text(self.file("corpus"), self.size) as (path, folder):
            options = {name: getattr(self, name) for name in ("dim", "window", "negative", "epochs", "threads")}
            yield path, options | {"sample": 1e-4, "cache": str(folder / "cache"), "wire": "float32"}  # as the papers

    def shown(self) -> dict[str, Any]:
        """Return the sizes, which the figures hold for."""
        names = ("size", "dim", "window", "negative", "epochs", "hosts", "seeds", "threads")
        return {name: getattr(self, name) for name in names}
