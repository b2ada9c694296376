"""any2vec's own format: a folder, loaded memory-mapped, that holds any word, counts and training vectors.

`vectors.safetensors` has the tensors "e" and, for training, "t"; `vocabulary.json` the words and counts;
`any2vec.json` the version and the sizes.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.errors import Any2VecError, shown
from any2vec.io.finite import check_finite
from any2vec.io.outputs import replacing
from any2vec.io.safetensors_file import map_tensors, write_tensors
from any2vec.vectors.shard import Shard
from any2vec.vectors.vectors import NEGATIVE, Vectors

__all__ = ["FILES", "load_native", "save_native"]

VERSION = 1
_CHECKPOINTS = "[0-9]*[0-9].json"  # files of a folder of checkpoints
META, WORDS, TENSORS = FILES = "any2vec.json", "vocabulary.json", "vectors.safetensors"


def save_native(shard: Shard, path: Path) -> None:
    """Write the folder, replacing one of an earlier save; all hosts call this."""
    communicator = shard.communicator
    tensors = {"e": shard.own.matrix}
    if shard.training and shard.own.t is not None:
        tensors["t"] = shard.own.t
    with replacing(path, folder=True, communicator=communicator) as folder:
        write_tensors(folder / TENSORS, tensors, shard.total, communicator, path)
        if shard.first:
            vocabulary = {"words": list(shard.words), "counts": shard.counts.tolist()}
            (folder / WORDS).write_text(json.dumps(vocabulary), "ascii")
            meta: dict[str, Any] = {"format": VERSION, "words": shard.total, "dimensions": shard.own.dim}
            if shard.own.loss != NEGATIVE:
                meta["loss"] = shard.own.loss
            (folder / META).write_text(json.dumps(meta) + "\n", "ascii")


def load_native(path: Path) -> Vectors:
    """Load the folder, its matrices memory-mapped and read-only; raise if a file is missing or damaged."""
    if missing := [name for name in FILES if not (path / name).is_file()]:
        lacking = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        hint = "; it has checkpoints: --resume goes on from them" if list(path.glob(_CHECKPOINTS)) else ""
        raise Any2VecError(f"{path}: not a folder of vectors: {lacking}{hint}")
    number, dim, loss = _read_meta(path / META)
    words, counts = _read_vocabulary(path / WORDS, number)
    tensors = map_tensors(path / TENSORS)
    if "e" not in tensors:
        raise Any2VecError(f"{path / TENSORS}: has no tensor 'e', only {sorted(tensors)}")
    for name in tensors.keys() & {"e", "t"}:
        if tensors[name].shape != (number, dim):
            shapes = f"tensor {name!r} has shape {tensors[name].shape}, not {(number, dim)} as {META} says"
            raise Any2VecError(f"{path / TENSORS}: {shapes}")
        check_finite(words, tensors[name], f"{path / TENSORS}: tensor {name!r}: ")
    try:
        return Vectors(words, tensors["e"], counts=counts, t=tensors.get("t"), loss=loss)
    except Any2VecError as error:  # a word occurs twice
        raise Any2VecError(f"{path / WORDS}: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise Any2VecError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise Any2VecError(f"{path}: damaged, not JSON: {error}") from error
    if not isinstance(content, dict):
        raise Any2VecError(f"{path}: damaged: a JSON object is expected, not {type(content).__name__}")
    return content


def _read_meta(path: Path) -> tuple[int, int, str]:
    meta = _read_json(path)
    if meta.get("format") != VERSION:
        raise Any2VecError(f"{path}: has format {meta.get('format')!r}; this any2vec reads format {VERSION}")
    sizes = meta.get("words"), meta.get("dimensions")
    if not all(type(size) is int and size > 0 for size in sizes):
        raise Any2VecError(f"{path}: words and dimensions are {sizes[0]!r} and {sizes[1]!r}, not positive numbers")
    loss = meta.get("loss", NEGATIVE)
    if type(loss) is not str:
        raise Any2VecError(f"{path}: the loss is {shown(loss)}, not a name")
    return (*sizes, loss)  # type: ignore[return-value]


def _read_vocabulary(path: Path, number: int) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    content = _read_json(path)
    words, counts = content.get("words"), content.get("counts")
    if not isinstance(words, list) or not isinstance(counts, list):
        raise Any2VecError(f'{path}: damaged: {{"words": [...], "counts": [...]}} is expected')
    if not len(words) == len(counts) == number:
        sizes = f"{len(words):,} words and {len(counts):,} counts"
        raise Any2VecError(f"{path}: {sizes} do not fit the matrix of {number:,} rows")
    for word, count in zip(words, counts, strict=True):
        if type(word) is not str:
            raise Any2VecError(f"{path}: {word!r} is not a word: a string is expected")
        if type(count) is not int or not 0 <= count < 1 << 63:
            raise Any2VecError(f"{path}: the count of {word!r} is {count!r}, not a whole number from 0 up")
    return words, np.array(counts, np.int64)
