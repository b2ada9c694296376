"""The parts of words in any2vec's own format: settings in `any2vec.json`, rows in `vectors.safetensors`.

Settings are an entry "subwords", or "features", with all names and, for each token, the places of its features among
them. The tensors are "own", the words' own rows, "parts", the rows of parts, and "part_ids": the number of each part as
two float32, 65,536 times the first plus the second. Versions that know no parts read all other tensors.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import SharedError, allgather_bytes
from any2vec.corpus.features import Features
from any2vec.corpus.subwords import Subwords
from any2vec.errors import Any2VecError, shown
from any2vec.vectors.parts import Parts
from any2vec.vectors.shard import Shard

__all__ = [
    "PART_TENSORS",
    "check_same_parts",
    "parts_to_meta",
    "parts_to_tensors",
    "settings_of",
    "tensors_to_parts",
]

_SUBWORDS, _FEATURES = "subwords", "features"  # the settings' names in `any2vec.json`
_OWN, _ROWS, _IDS = PART_TENSORS = "own", "parts", "part_ids"
_HIGH = 1 << 16


def check_same_parts(shard: Shard) -> None:
    """Raise on all hosts if their words have parts by different settings; all hosts call this."""
    mine = b"no parts" if shard.own.parts is None else repr(shard.own.parts.settings).encode()
    others = {text.decode() for text in allgather_bytes(shard.communicator, mine)}
    if len(others) > 1:
        raise SharedError(f"not saved: the words of the hosts have different parts: {', '.join(sorted(others))}")


def parts_to_tensors(parts: Parts | None) -> dict[str, NDArray[np.float32]]:
    """Return the tensors that hold a host's parts."""
    if parts is None:
        return {}
    numbers = np.stack(np.divmod(parts.ids, _HIGH), axis=1).astype(np.float32)
    return {_OWN: parts.own, _ROWS: parts.rows, _IDS: numbers}


def parts_to_meta(parts: Parts | None) -> dict[str, Any]:
    """Return the entry that holds the settings of parts."""
    if parts is None:
        return {}
    settings = parts.settings
    return {_FEATURES: settings.as_json()} if isinstance(settings, Features) else {_SUBWORDS: asdict(settings)}


def settings_of(meta: dict[str, Any], path: Path | str) -> Subwords | Features | None:
    """Return the settings of an entry that `parts_to_meta` has made; raise an error if it is damaged."""
    for name in (_SUBWORDS, _FEATURES):
        if (given := meta.get(name)) is None:
            continue
        try:
            if name == _FEATURES:
                return Features.from_json(given)
            return Subwords(given["least"], given["most"], given["buckets"])
        except (Any2VecError, AttributeError, IndexError, KeyError, TypeError):
            raise Any2VecError(f"{path}: damaged: {name!r} is {shown(given)}, no settings of parts") from None
    return None


def tensors_to_parts(
    tensors: dict[str, NDArray[np.float32]], meta: dict[str, Any], meta_path: Path, path: Path
) -> Parts | None:
    """Return the parts that settings and tensors hold, None if there are none; raise if these do not fit."""
    if (settings := settings_of(meta, meta_path)) is None:
        return None
    if _OWN in tensors and not tensors.keys() & {_ROWS, _IDS}:  # an empty tensor is not written
        none = np.zeros((0, tensors[_OWN].shape[1]), np.float32)
        tensors = {**tensors, _ROWS: none, _IDS: np.zeros((0, 2), np.float32)}
    if missing := [name for name in PART_TENSORS if name not in tensors]:
        raise Any2VecError(f"{path}: has no tensor {missing[0]!r}, only {shown(sorted(tensors))}")
    own, rows, numbers = (tensors[name] for name in PART_TENSORS)
    if numbers.shape[1] != 2 or not ((numbers >= 0) & (numbers < _HIGH) & (numbers == np.floor(numbers))).all():
        raise Any2VecError(f"{path}: damaged: tensor {_IDS!r} does not hold numbers of parts")
    high, low = numbers.astype(np.int64).T
    try:
        parts = Parts(settings, own, high * _HIGH + low, rows)
    except Any2VecError as error:
        raise Any2VecError(f"{path}: damaged: {error}") from None
    if own.shape != tensors["e"].shape:
        shapes = f"tensor {_OWN!r} has shape {own.shape}, not {tensors['e'].shape}"
        raise Any2VecError(f"{path}: damaged: {shapes}, as tensor 'e'")
    return parts
