"""Classifiers that are trained: prediction, explanation, files. Training is in `models.classifier`.

A classifier is saved as a folder of any2vec's own, or for fastText: a `.bin`, or, if its rows are quantized, a `.ftz`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any2vec.errors import Any2VecError
from any2vec.io.outputs import check_writable

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel

FASTTEXT, QUANTIZED = ".bin", ".ftz"
"""Endings of fastText's files."""

_OF_OTHERS = (".txt", ".vec", ".csv", ".tsv", ".parquet", ".json", ".npy", ".npz", ".gz", ".html")


def is_folder(path: Path) -> bool:
    """Whether a path is the folder of a classifier."""
    from any2vec.classify.model import META

    return (path / META).is_file()


def _check_ending(path: Path) -> None:
    if path.suffix.lower() in _OF_OTHERS:
        what = "a classifier is a folder, whose name has no such ending; or for fastText, a .bin or .ftz"
        raise Any2VecError(f"{path}: {what}")


def check_output(path: Path, *, force: bool = False) -> None:
    """Raise now what `save` would raise of the path."""
    from any2vec.classify import fasttext, model

    _check_ending(path)
    if path.suffix.lower() in (FASTTEXT, QUANTIZED):
        check_writable(path, fasttext.KIND, force=force)
    else:
        check_writable(path, model.KIND, folder=True, force=force)


def save(model: "LabelModel", path: Path, *, force: bool = False, about: "Mapping[str, Any] | None" = None) -> None:
    """Save a classifier as the ending says, to a `.ftz` quantized; a folder has what is known `about` an estimator."""
    from any2vec.classify.fasttext import save_fasttext
    from any2vec.classify.quantized import Quantized, quantize

    _check_ending(path)
    ending = path.suffix.lower()
    if ending == QUANTIZED and not isinstance(model.e, Quantized):
        model = quantize(model)
    if ending in (FASTTEXT, QUANTIZED):
        save_fasttext(model, path, force)
    else:
        model.save(path, force=force, about=about)


def load(path: Path) -> "LabelModel":
    """Load a classifier: a folder, or a file of fastText.

    Raises
    ------
    Any2VecError
        If it does not exist, is damaged, or is no classifier.
    """
    return load_about(path)[0]


def load_about(path: Path) -> "tuple[LabelModel, dict[str, Any] | None]":
    """Load a classifier, and what a folder has about an estimator, unchecked."""
    from any2vec.classify.fasttext import load_fasttext
    from any2vec.classify.model import LabelModel

    if not path.exists():
        raise Any2VecError(f"{path}: does not exist; a classifier is a folder, or a .bin or .ftz of fastText")
    return LabelModel.load_about(path) if path.is_dir() else (load_fasttext(path), None)
