"""Classifiers as folders, in a format like that of vectors: loaded memory-mapped, so that processes share the rows.

- `vectors.safetensors`: the tensors "e", "t" and, unless all buckets have rows, "ids".
- `vocabulary.json`: words and counts.
- `classifier.json`: labels, their counts, settings, and digests of some rows.
- `model.json`, if an estimator was saved: its parameters and report.

The files of JSON have the same `id`. So files of two saves do not mix.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import check_finite
from any2vec.io.outputs import Kind, check_writable, json_of, replacing
from any2vec.io.safetensors_file import map_open, write_tensors
from any2vec.io.temporary import FolderReader, read_folder
from any2vec.options import typed
from any2vec.samples.targets import huffman_paths
from any2vec.vectors.files.native import MODEL, TENSORS, WORDS, read_json, read_vocabulary
from any2vec.vectors.files.shard import ids_to_tensor, tensor_to_ids
from any2vec.vectors.index import digest, digest_of_rows

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel, LineSettings

META = "classifier.json"
_VERSION = 1


def _holds_folder(path: Path) -> bool:
    content = json_of(path / META)
    return isinstance(content, dict) and "labels" in content


KIND = Kind("a classifier", _holds_folder, files=(META, WORDS, TENSORS, MODEL))


def save_folder(model: "LabelModel", path: Path, force: bool, about: Mapping[str, Any] | None) -> None:
    """Write the folder, with what is to be known `about` an estimator, if given."""
    if not isinstance(model.e, np.ndarray) or not isinstance(model.t, np.ndarray):
        raise Any2VecError(f"{path}: not saved: rows of the classifier are quantized; give a name that ends in .ftz")
    check_writable(path, KIND, folder=True, force=force)
    tensors = {"e": model.e, "t": model.t}
    if 0 < len(model.ids) < model.settings.buckets:
        tensors["ids"] = ids_to_tensor(model.ids)
    meta = {
        "format": _VERSION,
        "settings": asdict(model.settings),
        "words": len(model.words),
        "labels": list(model.labels),
        "label_counts": model.label_counts.tolist(),
        "rows": {name: digest_of_rows(matrix) for name, matrix in tensors.items()},
    }
    vocabulary = {"words": list(model.words), "counts": model.counts.tolist()}
    id_ = {"id": digest([json.dumps([meta, vocabulary]).encode()])}
    with replacing(path, folder=True) as folder:
        write_tensors(folder / TENSORS, tensors, {name: len(rows) for name, rows in tensors.items()}, alone(), path)
        (folder / WORDS).write_text(json.dumps(id_ | vocabulary), "ascii")
        if about is not None:
            (folder / MODEL).write_text(json.dumps(id_ | dict(about), indent=1) + "\n", "ascii")
        (folder / META).write_text(json.dumps(id_ | meta) + "\n", "ascii")


def load_folder(path: Path, kind: "type[LineSettings]") -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the fields of a LabelModel, its matrices memory-mapped, and what was said about an estimator, unchecked.

    Of the rows only some are looked at, so that a large model is there at once.
    """
    return read_folder(path, partial(_load, kind=kind))


def _load(folder: FolderReader, kind: "type[LineSettings]") -> tuple[dict[str, Any], dict[str, Any] | None]:
    path = folder.path
    for name in (META, WORDS, TENSORS):
        if not folder.has(name):
            raise Any2VecError(f"{path}: not a folder of a classifier: {name} is missing")
    meta = read_json(folder, META)
    if meta.get("format") != _VERSION:
        raise Any2VecError(f"{path / META}: has format {shown(meta.get('format'))}; this any2vec reads {_VERSION}")
    try:
        settings = typed(meta.get("settings"), kind, "settings")
        labels, counts = typed(meta.get("labels"), list[str], "labels"), typed(meta.get("label_counts"), list[int])
        number, rows = typed(meta.get("words"), int, "words"), typed(meta.get("rows"), dict[str, str], "rows")
        settings.check()
        _check(labels, counts)
        label_counts = np.array(counts, np.int64)
        if settings.loss == "hierarchical" and len(labels) > 1:
            huffman_paths(label_counts)
    except (ValueError, Any2VecError) as error:
        raise Any2VecError(f"{path / META}: damaged: {error}") from None
    words, word_counts, id_ = read_vocabulary(folder, number)
    with folder.open(TENSORS) as file:
        tensors = map_open(path / TENSORS, file)
    about = read_json(folder, MODEL) if folder.has(MODEL) else None
    ids_of = {id_, meta.get("id"), meta.get("id") if about is None else about.get("id")}
    if len(ids_of) > 1 or rows != {name: digest_of_rows(matrix) for name, matrix in tensors.items()}:
        raise Any2VecError(f"{path}: its files are not of one save; copy all of one, or save again")
    where = path / TENSORS
    e, t = (tensors.get(name, np.zeros((0, 0), np.float32)) for name in ("e", "t"))
    ids = tensor_to_ids(tensors["ids"], "ids", where) if "ids" in tensors else np.arange(max(0, len(e) - number))
    if len(ids) != len(e) - number or ("ids" not in tensors and len(ids) not in (0, settings.buckets)):
        raise Any2VecError(f"{where}: damaged: {len(e):,} rows of e are not {number:,} of words and those of n-grams")
    if len(ids) and ((np.diff(ids) <= 0).any() or ids[-1] >= settings.buckets):
        raise Any2VecError(f"{where}: damaged: buckets do not rise, or are not below {settings.buckets:,}")
    if t.shape != (len(labels), e.shape[1]):
        raise Any2VecError(f"{where}: damaged: t has shape {t.shape}, not {(len(labels), e.shape[1])}")
    check_finite(labels, t, f"{where}: tensor 't': ")
    fields = {"words": words, "counts": word_counts, "labels": labels, "label_counts": label_counts}
    return fields | {"settings": settings, "ids": ids, "e": e, "t": t}, about


def _check(labels: list[str], counts: list[int]) -> None:
    """Raise a ValueError if there are no labels, or these, or their counts, make no sense."""
    if not 0 < len(set(labels)) == len(labels) == len(counts):
        raise ValueError(f"{len(labels):,} labels, of which {len(set(labels)):,} differ, have {len(counts):,} counts")
    if sorted(counts, reverse=True) != counts or not 0 <= counts[-1] <= counts[0] < 1 << 62:
        raise ValueError("counts of labels are not in falling order, or no counts")
