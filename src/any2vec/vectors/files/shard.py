"""Vectors that lie on many hosts, each host's shard; and the parts of words in files."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, exchange, together
from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import Any2VecError, shown
from any2vec.io.outputs import refusals
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.parts import Parts


@dataclass(frozen=True)
class Shard:
    """The rows of one host, and what the first host must know of all to write them."""

    own: Lookup
    """This host's rows; those of all hosts, in host order, are the whole."""
    training: bool
    """Whether the training vectors t are saved as well."""
    communicator: Communicator
    total: int
    """V, the number of words of the whole."""
    words: Sequence[str]
    """On the first host all words, length V; empty on others."""
    counts: NDArray[np.int64]
    """On the first host all counts, shape (V,); empty on others."""

    @property
    def first(self) -> bool:
        """Whether this is the first host, which writes what occurs once."""
        return self.communicator.rank == 0

    @property
    def header(self) -> bytes:
        """The first line of word2vec's formats on the first host; empty on others."""
        return f"{self.total} {self.own.dim}\n".encode() if self.first else b""


def make_shard(own: Lookup, training: bool, communicator: Communicator, path: Path) -> Shard:
    """Gather words and counts on the first host; matrices stay. All hosts raise if a word occurs on two of them."""
    sizes = communicator.allgather(np.array([len(own), own.dim], np.int64))
    if len(dims := set(sizes[:, 1].tolist())) > 1:
        raise Any2VecError(f"{path}: not saved: the vectors of the hosts have {sorted(dims)} dimensions")
    if not (total := int(sizes[:, 0].sum())):
        raise Any2VecError(f"{path}: not saved: there are no vectors")
    if communicator.size == 1:
        return Shard(own, training, communicator, total, own.vocabulary.words, own.counts)
    with together(communicator), refusals(path, communicator):
        text = json.dumps(list(own.vocabulary.words)).encode()
    parts = _to_first(communicator, np.frombuffer(text, np.uint8))
    counts = np.concatenate(_to_first(communicator, own.counts))
    with together(communicator), refusals(path, communicator):
        words = [word for part in parts if len(part) for word in json.loads(part.tobytes())]
        if len(set(words)) < len(words):
            twice = next(word for word, times in Counter(words).items() if times > 1)
            raise Any2VecError(f"{path}: not saved: the word {shown(twice)} occurs twice; a word has one vector")
    return Shard(own, training, communicator, total, words, counts)


def _to_first(communicator: Communicator, values: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Send arrays of any length to the first host, which gets them in host order; others get empty ones."""
    send_counts = np.zeros(communicator.size, np.int64)
    send_counts[0] = len(values)
    received, counts = exchange(communicator, np.ascontiguousarray(values), send_counts)
    return np.split(received, np.cumsum(counts)[:-1])


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
    return {_OWN: parts.own, _ROWS: parts.rows, _IDS: ids_to_tensor(parts.ids)}


def ids_to_tensor(ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return numbers below 2^32 in two columns, which float32 holds exactly."""
    return np.stack(np.divmod(ids, _HIGH), axis=1).astype(np.float32)


def tensor_to_ids(tensor: NDArray[np.float32], name: str, path: Path) -> NDArray[np.int64]:
    """Return what `ids_to_tensor` was given; raise if a tensor does not hold that."""
    if tensor.shape[1] != 2 or not ((tensor >= 0) & (tensor < _HIGH) & (tensor == np.floor(tensor))).all():
        raise Any2VecError(f"{path}: damaged: tensor {name!r} does not hold numbers of parts")
    high, low = tensor.astype(np.int64).T
    return high * _HIGH + low


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
    ids = tensor_to_ids(numbers, _IDS, path)
    try:
        parts = Parts(settings, own, ids, rows)
    except Any2VecError as error:
        raise Any2VecError(f"{path}: damaged: {error}") from None
    if own.shape != tensors["e"].shape:
        shapes = f"tensor {_OWN!r} has shape {own.shape}, not {tensors['e'].shape}"
        raise Any2VecError(f"{path}: damaged: {shapes}, as tensor 'e'")
    return parts
