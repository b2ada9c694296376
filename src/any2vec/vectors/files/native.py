"""any2vec's own format: a folder, loaded memory-mapped, that holds any word, counts and training vectors.

`vectors.safetensors` has the tensors "e" and, for training, "t", and those of parts; `vocabulary.json` the words and
counts; `any2vec.json` the version and the sizes; `model.json`, if an estimator was saved, its parameters. The files of
JSON have the same `id`, and `any2vec.json` has digests of some rows: files of two saves do not mix. Of a model of
documents, the folder `documents` has their vectors in the same format, and `model.json` its `id`.

A `Shard` has the rows of one host; hosts write one file together, in any format.
"""

import json
import re
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
from any2vec.io.inputs import read_regular
from any2vec.io.memory import check_finite
from any2vec.io.outputs import refusals, replacing
from any2vec.io.safetensors_file import map_open, write_tensors
from any2vec.io.temporary import FolderReader, read_folder
from any2vec.vectors.index import digest, digest_of_rows, sampled_rows
from any2vec.vectors.lookup import NEGATIVE, Lookup
from any2vec.vectors.parts import Parts

_VERSION = 1
_OTHERS = {
    "classifier.json": "it is a classifier: any2vec.Classifier.load reads it",
    "[0-9]*[0-9].json": "it has checkpoints: --resume goes on from them",
    "config.cfg": "it is a pipeline of spaCy: give any2vec.Vectors the words and rows of `nlp.vocab.vectors`",
    "saved_model.pb": "it is a SavedModel of TensorFlow: give any2vec.Vectors words and the matrix that it holds",
    "model.safetensors": "it is a model of PyTorch: give any2vec.Vectors words and the matrix that it holds",
    "metadata/part-*": "it is a model of Spark: give any2vec.Vectors what its `getVectors()` returns",
}
"""Files of other folders, and what can be done with these."""
META, WORDS, TENSORS = FILES = "any2vec.json", "vocabulary.json", "vectors.safetensors"
MODEL = "model.json"  # beside them, if an estimator was saved
DOCUMENTS = "documents"  # likewise: a folder
UNTRAINED = "PV-DBOW trained no vectors of words: train with words=True, or --words"
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


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


def save_native(shard: Shard, path: Path, model: dict[str, Any] | None = None, documents: Lookup | None = None) -> None:
    """Write the folder, with what describes a model and its `documents` on this host, if given; all hosts call this."""
    communicator = shard.communicator
    with together(communicator):
        _check_words(shard, path)
    check_same_parts(shard)
    tensors = {"e": shard.own.matrix}
    if shard.training and shard.own.t is not None:
        tensors["t"] = shard.own.t
    tensors |= _parts_to_tensors(shard.own.parts)
    sizes = {name: communicator.allgather(np.array([len(matrix)], np.int64)) for name, matrix in tensors.items()}
    places = {name: np.append(0, np.cumsum(number)) for name, number in sizes.items()}  # where each host's rows begin
    tensors = {name: matrix for name, matrix in tensors.items() if places[name][-1]}
    rows, id_ = _digests(shard, tensors, places)
    with replacing(path, folder=True, communicator=communicator) as folder:
        totals = {name: int(places[name][-1]) for name in tensors}
        write_tensors(folder / TENSORS, tensors, totals, communicator, path)
        if documents is not None:
            save_native(make_shard(documents, False, communicator, path / DOCUMENTS), folder / DOCUMENTS)
        if shard.first:
            if documents is not None:
                model = (model or {}) | {"documents": json.loads((folder / DOCUMENTS / META).read_bytes())["id"]}
            vocabulary = {"id": id_, "words": list(shard.words), "counts": shard.counts.tolist()}
            (folder / WORDS).write_text(json.dumps(vocabulary), "ascii")
            meta: dict[str, Any] = {"format": _VERSION, "words": shard.total, "dimensions": shard.own.dim}
            meta |= {"id": id_, "rows": rows}
            if shard.own.loss != NEGATIVE:
                meta["loss"] = shard.own.loss
            if shard.own.how:
                meta["how"] = shard.own.how
            meta |= parts_to_meta(shard.own.parts)
            if model is not None:
                (folder / MODEL).write_text(json.dumps({"id": id_, **model}, indent=1) + "\n", "ascii")
            (folder / META).write_text(json.dumps(meta) + "\n", "ascii")


def load_native(path: Path) -> Lookup:
    """Load the folder, its matrices memory-mapped and read-only; raise if a file is missing or damaged."""
    return read_folder(path, _load)[0]


def load_with_model(path: Path) -> tuple[Lookup, dict[str, Any]]:
    """Load the folder, and what `save_native` was given of a model, unchecked; raise if there is none."""
    vectors, id_, model = read_folder(path, _load)
    if model is None:
        raise Any2VecError(f"{path}: holds vectors, but no model: {MODEL} is missing; any2vec.load loads vectors")
    if model.get("id") != id_:
        raise Any2VecError(f"{path}: its files are not of one save; copy all four of one, or save again")
    return vectors, model


def load_documents(path: Path, model: dict[str, Any]) -> Lookup:
    """Load the vectors of documents that were saved with a model, which says their `id`."""
    found, id_, _ = read_folder(path / DOCUMENTS, _load)
    if id_ != model.get("documents"):
        raise Any2VecError(f"{path}: the folder {DOCUMENTS} is not of the same save as {MODEL}; save again")
    return found


def meta_of(folder: FolderReader) -> dict[str, Any]:
    """Return what the file of sizes says, unchecked; raise if a file is missing or it is no JSON."""
    _check_complete(folder)
    return read_json(folder, META)


def _load(folder: FolderReader) -> tuple[Lookup, object, dict[str, Any] | None]:
    """Return the vectors, the id of the save, and what is said of a model, if there is one."""
    path = folder.path
    try:
        meta = _read_meta(folder)
        number, dim = meta["words"], meta["dimensions"]
        words, counts, words_id = read_vocabulary(folder, number)
        with folder.open(TENSORS) as file:
            tensors = map_open(path / TENSORS, file)
    except OSError as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError):
            _check_complete(folder)
        raise Any2VecError(f"{path}: cannot be read: {error.strerror or error}") from error
    if "e" not in tensors:
        raise Any2VecError(f"{path / TENSORS}: has no tensor 'e', only {shown(sorted(tensors))}")
    for name in tensors.keys() & {"e", "t"}:
        if tensors[name].shape != (number, dim):
            shapes = f"tensor {name!r} has shape {tensors[name].shape}, not {(number, dim)} as {META} says"
            raise Any2VecError(f"{path / TENSORS}: {shapes}")
        check_finite(words, tensors[name], f"{path / TENSORS}: tensor {name!r}: ")
    if "id" in meta and (words_id != meta["id"] or not _is_of(tensors, meta.get("rows"))):
        raise Any2VecError(f"{path}: its files are not of one save; copy all three of one, or save again")
    parts = _tensors_to_parts(tensors, meta, path / META, path / TENSORS)
    if parts is not None:
        parts.check_finite(words, f"{path / TENSORS}: ")
    loss = meta.get("loss", NEGATIVE)
    try:
        found = Lookup(words, tensors["e"], counts=counts, t=tensors.get("t"), loss=loss, parts=parts)
    except Any2VecError as error:  # a word occurs twice
        raise Any2VecError(f"{path / WORDS}: {error}") from error
    found.how = how if isinstance(how := meta.get("how"), dict) else {}
    model = read_json(folder, MODEL) if folder.has(MODEL) else None
    parameters = model and model.get("parameters")
    if isinstance(parameters, dict) and parameters.get("model") == "dbow" and not parameters.get("words"):
        found.untrained = f"{path}: {UNTRAINED}; {path / DOCUMENTS} has those of documents"
    return found, meta.get("id"), model


def _check_words(shard: Shard, path: Path) -> None:
    """Refuse words that JSON would turn into others: with two surrogates that it takes for one character."""
    try:
        "\n".join(shard.words).encode()
    except UnicodeEncodeError:
        for word in shard.words:
            if _PAIR.search(word):
                raise Any2VecError(f"{path}: cannot hold the word {shown(word)}: a pair of surrogates") from None


def _digests(
    shard: Shard, tensors: dict[str, NDArray[np.float32]], places: dict[str, NDArray[np.int64]]
) -> tuple[dict[str, str], str]:
    """Return digests of some rows, and of these and the vocabulary, however rows are spread; all hosts call this."""
    communicator = shard.communicator
    found = {}
    for name, matrix in tensors.items():
        rows = sampled_rows(int(places[name][-1])) - places[name][communicator.rank]
        rows = rows[(rows >= 0) & (rows < len(matrix))]
        found[name] = digest(allgather_bytes(communicator, matrix[rows].astype("<f4").tobytes()))
    words = json.dumps([found, list(shard.words), shard.counts.tolist()]) if shard.first else ""
    return found, digest([words.encode()])


def _is_of(tensors: dict[str, NDArray[np.float32]], rows: object) -> bool:
    """Whether the matrices have the digests that were saved; t may have been left out."""
    known = ("e", "t", *_PART_TENSORS)
    return isinstance(rows, dict) and all(
        rows.get(name) == digest_of_rows(matrix) for name, matrix in tensors.items() if name in known
    )


def _check_complete(folder: FolderReader) -> None:
    if missing := [name for name in FILES if not folder.has(name)]:
        lacking = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        hint = next((f"; {said}" for name, said in _OTHERS.items() if list(folder.path.glob(name))), "")
        raise Any2VecError(f"{folder.path}: not a folder of vectors: {lacking}{hint}") from None


def read_json(folder: FolderReader, name: str) -> dict[str, Any]:
    """Return the JSON object of a file; raise if it is damaged, or the FileNotFoundError if it is missing."""
    path = folder.path / name
    try:
        with folder.open(name) as file:
            content = json.loads(read_regular(file))
    except (ValueError, RecursionError) as error:
        raise Any2VecError(f"{path}: damaged, not JSON: {error}") from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Any2VecError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not isinstance(content, dict):
        raise Any2VecError(f"{path}: damaged: a JSON object is expected, not {type(content).__name__}")
    return content


def _read_meta(folder: FolderReader) -> dict[str, Any]:
    meta, path = read_json(folder, META), folder.path / META
    if meta.get("format") != _VERSION:
        raise Any2VecError(f"{path}: has format {shown(meta.get('format'))}; this any2vec reads format {_VERSION}")
    sizes = meta.get("words"), meta.get("dimensions")
    if not all(type(size) is int and size > 0 for size in sizes):
        both = " and ".join(map(shown, sizes))
        raise Any2VecError(f"{path}: words and dimensions are {both}, not positive numbers")
    loss = meta.get("loss", NEGATIVE)
    if type(loss) is not str:
        raise Any2VecError(f"{path}: the loss is {shown(loss)}, not a name")
    return meta


def read_vocabulary(folder: FolderReader, number: int) -> tuple[list[str], NDArray[np.int64], object]:
    """Return words, counts and the id of the save, unless these are not so many."""
    content, path = read_json(folder, WORDS), folder.path / WORDS
    words, counts = content.get("words"), content.get("counts")
    if not isinstance(words, list) or not isinstance(counts, list):
        raise Any2VecError(f'{path}: damaged: {{"words": [...], "counts": [...]}} is expected')
    if not len(words) == len(counts) == number:
        sizes = f"{len(words):,} words and {len(counts):,} counts"
        raise Any2VecError(f"{path}: {sizes} do not fit the matrix of {number:,} rows")
    for word, count in zip(words, counts, strict=True):
        if type(word) is not str:
            raise Any2VecError(f"{path}: {shown(word)} is not a word: a string is expected")
        if type(count) is not int or not 0 <= count < 1 << 63:
            raise Any2VecError(f"{path}: the count of {shown(word)} is {shown(count)}, not a whole number from 0 up")
    return words, np.array(counts, np.int64), content.get("id")


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
_OWN, _ROWS, _IDS = _PART_TENSORS = "own", "parts", "part_ids"
_HIGH = 1 << 16


def check_same_parts(shard: Shard) -> None:
    """Raise on all hosts if their words have parts by different settings; all hosts call this."""
    mine = b"no parts" if shard.own.parts is None else repr(shard.own.parts.settings).encode()
    others = {text.decode() for text in allgather_bytes(shard.communicator, mine)}
    if len(others) > 1:
        raise SharedError(f"not saved: the words of the hosts have different parts: {', '.join(sorted(others))}")


def _parts_to_tensors(parts: Parts | None) -> dict[str, NDArray[np.float32]]:
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


def _tensors_to_parts(
    tensors: dict[str, NDArray[np.float32]], meta: dict[str, Any], meta_path: Path, path: Path
) -> Parts | None:
    """Return the parts that settings and tensors hold, None if there are none; raise if these do not fit."""
    if (settings := settings_of(meta, meta_path)) is None:
        return None
    if _OWN in tensors and not tensors.keys() & {_ROWS, _IDS}:  # an empty tensor is not written
        none = np.zeros((0, tensors[_OWN].shape[1]), np.float32)
        tensors = {**tensors, _ROWS: none, _IDS: np.zeros((0, 2), np.float32)}
    if missing := [name for name in _PART_TENSORS if name not in tensors]:
        raise Any2VecError(f"{path}: has no tensor {missing[0]!r}, only {shown(sorted(tensors))}")
    own, rows, numbers = (tensors[name] for name in _PART_TENSORS)
    ids = tensor_to_ids(numbers, _IDS, path)
    try:
        parts = Parts(settings, own, ids, rows)
    except Any2VecError as error:
        raise Any2VecError(f"{path}: damaged: {error}") from None
    if own.shape != tensors["e"].shape:
        shapes = f"tensor {_OWN!r} has shape {own.shape}, not {tensors['e'].shape}"
        raise Any2VecError(f"{path}: damaged: {shapes}, as tensor 'e'")
    return parts
