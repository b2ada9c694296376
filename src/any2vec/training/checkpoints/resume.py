"""Going on from a checkpoint: the newest version that is whole, on any number of hosts."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, allreduce, together
from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.memory import is_finite
from any2vec.io.outputs import refusals
from any2vec.io.safetensors_file import map_tensors
from any2vec.operators.matrices import Matrices, zeros
from any2vec.samples.targets import POWER
from any2vec.sync import scheme_of
from any2vec.sync.channel import Partition
from any2vec.training.checkpoints.checkpoint_files import check_not_written
from any2vec.training.checkpoints.manifest import Facts, damage, listed, read_manifest
from any2vec.training.options import Options
from any2vec.training.state import TrainingState

_SAMPLED = 4096  # positions of W by which a corpus is recognised
_USUAL = {declared.name: declared.default for declared in fields(Options)} | {
    "negatives_per": "window",
    "ns_exponent": POWER,
    "lowercase": False,
    "tokenize": False,
}
"""What options were before there were any: checkpoints of earlier versions lack them."""
_CHOOSING = "model", "loss", "subwords", "features"
"""Options that choose what others are by default: they are named before these."""
_FREE = ("threads", "hosts", "rounds", "epochs")
"""Options that may differ from those of the run that is gone on with; epochs may only grow."""


def corpus_facts(corpus: Corpus, communicator: Communicator) -> Facts:
    """Describe a corpus, the same for any number of hosts: its words, and some positions; all hosts call this."""
    words = int(corpus.cuts[-1])
    places = np.unique(np.linspace(0, max(words - 1, 0), min(_SAMPLED, max(words, 1)), dtype=np.int64))
    part = corpus.part(communicator.rank)
    ids = np.zeros(len(places), np.int64)
    for k in np.flatnonzero((places >= part.first) & (places < part.first + part.size)).tolist():
        place = int(places[k]) - part.first
        piece = next(part.pieces(place, place + 1))
        ids[k] = piece.ids[piece.low]
    found, vocabulary = hashlib.sha256(), corpus.vocabulary
    if communicator.rank == 0:  # the same on all
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True):
            found.update(f"{word}\0{count}\0".encode("utf-8", "surrogateescape"))
        if corpus.kinds is not None:
            found.update(corpus.kinds.tobytes())
    names = allgather_bytes(communicator, found.hexdigest().encode())[0].decode()
    text = hashlib.sha256(allreduce(communicator, ids).tobytes()).hexdigest()
    return {"words": words, "sentences": corpus.sentences, "vocabulary": names, "text": text}


def read_state(
    folder: Path,
    facts: dict[str, Facts],
    partition: Partition,
    dim: int,
    communicator: Communicator,
    say: Callable[[str], None],
    *,
    warn: Callable[[str], None],
    documents: range | None = None,
    or_none: bool = False,
    or_another: bool = False,
) -> TrainingState | None:
    """Read the state that a run goes on from; all hosts call this.

    With `or_none`, a folder that has no checkpoint yet, or does not exist, has none: a run that is started again and
    again by the same command may have ended before its first one. With `or_another`, a checkpoint of another corpus
    counts as none. `warn` prints lines that must be seen. As many hosts as wrote it have the masters that they had; of
    others, each has those of `partition`. This host has the `documents`, if there are any. A checkpoint of another run
    is refused, by the name of the option or corpus.
    """
    manifest = _newest(folder, communicator, say, warn, or_none)
    if manifest is None:
        return None
    if or_another and manifest["corpus"] != facts["corpus"]:
        say(f"{folder} has checkpoints of another corpus: a new run begins")
        return None
    with together(communicator), refusals(folder, communicator, "cannot be read"):
        manifest.setdefault("wire", manifest["options"].get("wire"))  # as it once was
        _check_same(folder, manifest, facts)
        masters, missing = _rows(folder, manifest, partition, dim, communicator)
        if documents is not None:
            masters = replace(masters, documents=_documents(folder, manifest, documents, dim))
        state = TrainingState.of(manifest, masters, missing)
    rounds = counted(state.rounds_done, "round")
    if state.within_epoch and not state.rounds_done:  # it was cut
        rounds = f"{1 - (state.left[:, 1] - state.left[:, 0]).sum() / max(facts['corpus']['words'], 1):.0%}"
    hosts = counted(state.hosts, "host")
    where = f"{folder}, checkpoint {manifest['version']}"
    say(f"going on from {where}: {rounds} of epoch {state.epoch + 1} done on {hosts}")
    if state.epoch + 1 == facts["options"]["epochs"] and not state.left.size:
        say("that is all of the run: nothing is left to train")
    return state


def _newest(
    folder: Path, communicator: Communicator, say: Callable[[str], None], warn: Callable[[str], None], or_none: bool
) -> Facts | None:
    """Return the newest manifest all of whose shards are whole."""
    names = ""
    with together(communicator), refusals(folder, communicator, "cannot be read"):
        if communicator.rank == 0:
            found = listed(folder) if folder.exists() or not or_none else []
            if not found and not or_none:
                raise Any2VecError(f"{folder}: has no checkpoint; without `resume`, a run begins anew")
            if found:
                check_not_written(folder)
            names = "\n".join(path.name for _, path in reversed(found))
    names = allgather_bytes(communicator, names.encode())[0].decode()
    if not names:
        say(f"{folder} has no checkpoint yet: a new run begins")
        return None
    versions = names.split("\n")
    for name in versions:
        manifest, problem = read_manifest(folder / name)
        for shard in manifest.get("shards", [])[communicator.rank :: communicator.size]:
            problem = problem or damage(folder, shard)
        problems = allgather_bytes(communicator, problem.encode("utf-8", "surrogateescape"))
        problem = next(filter(None, problems), b"").decode("utf-8", "surrogateescape")
        if not problem:
            return manifest | {"version": int(name.removesuffix(".json"))}
        if name != versions[-1]:
            warn(f"{problem}; an older checkpoint is looked for")
    advice = f"no checkpoint is left in {folder}: without `resume`, and with another folder, a run begins anew"
    raise SharedError(f"{problem}; {advice}")


def _check_same(folder: Path, manifest: Facts, facts: dict[str, Facts]) -> None:
    """Refuse another corpus, and other options, by name."""
    now = json.loads(json.dumps(facts["options"]))
    before = {name: value for name, value in _USUAL.items() if name in now} | manifest["options"]
    before, now = before | {"wire": manifest["wire"]}, now | {"wire": now.get("wire") or manifest["wire"]}
    for name in [*filter(now.__contains__, _CHOOSING), *now, *sorted(before.keys() - now.keys())]:
        if name not in _FREE and before.get(name) != now.get(name):
            raise Any2VecError(
                f"{folder}: the checkpoint is of a run with another `{name if name in now else shown(name)}`: "
                f"{shown(before.get(name))}, not {shown(now.get(name))}"
            )
    for name in ("words", "sentences", "vocabulary", "text"):
        old, new = (known["corpus"].get(name) for known in (manifest, facts))
        if old != new:
            what = f"{new:,} {name}, not {old:,}" if type(old) is type(new) is int else f"another {name}"
            raise Any2VecError(f"{folder}: the checkpoint is of another corpus: this one has {what}")
    if now["epochs"] < before["epochs"]:
        raise Any2VecError(
            f"{folder}: the checkpoint is of a run of {before['epochs']} epochs; there may be more, not fewer"
        )


def _rows(
    folder: Path, manifest: Facts, partition: Partition, dim: int, communicator: Communicator
) -> tuple[Matrices, NDArray[np.float32]]:
    """Read this host's range of vertices, and the pending correction, if the number of hosts is unchanged."""
    vertices, shards = partition.vertices, manifest["shards"]
    if manifest["hosts"] == communicator.size:
        partition = Partition(np.array([shard["first"] for shard in shards] + [vertices]))
    low, high = partition.range(communicator.rank)
    by_columns = scheme_of(manifest.get("scheme")).by_columns
    e = t = np.zeros((0, dim), np.float32)
    missing: Any = None
    filled = 0
    for number, shard in enumerate(shards):
        first, last = max(low, shard["first"]), min(high, shard["first"] + shard["rows"])
        own = number == communicator.rank and manifest["hosts"] == communicator.size
        if first >= last and not own:
            continue
        tensors = map_tensors(folder / shard["file"])
        if own and not by_columns:
            missing = _tensor(tensors, "missing", (dim, dim), folder / shard["file"]).copy()
        if first < last:
            here, there = slice(first - low, last - low), slice(first - shard["first"], last - shard["first"])
            both = [_tensor(tensors, which, (shard["rows"], dim), folder / shard["file"]) for which in "et"]
            if last - first == high - low:  # the usual case: nothing is copied
                e, t = (tensor[there] for tensor in both)
            else:
                if not filled:
                    e, t = (zeros(high - low, dim) for _ in range(2))
                e[here, :dim], t[here, :dim] = (tensor[there] for tensor in both)
            filled += last - first
    if filled != high - low or shards[-1]["first"] + shards[-1]["rows"] != vertices:
        raise Any2VecError(f"{folder}: the shards of checkpoint {manifest['version']} are not of {vertices:,} vertices")
    return Matrices(e, t, low, high - low, dim), np.zeros((dim, dim), np.float32) if missing is None else missing


def _documents(folder: Path, manifest: Facts, wanted: range, dim: int) -> NDArray[np.float32]:
    """Read the rows of some documents, numbered in the order of the shards."""
    rows, first, filled = np.empty((len(wanted), dim), np.float32), 0, 0
    for shard in manifest["shards"]:
        number = shard.get("documents", 0)
        low, high = max(wanted.start, first), min(wanted.stop, first + number)
        if low < high:
            path = folder / shard["file"]
            whole = _tensor(map_tensors(path), "documents", (number, dim), path)
            rows[low - wanted.start : high - wanted.start] = whole[low - first : high - first]
            filled += high - low
        first += number
    if filled != len(wanted):
        raise Any2VecError(f"{folder}: checkpoint {manifest['version']} has {first:,} documents, not those of this run")
    return rows


def _tensor(
    tensors: dict[str, NDArray[np.float32]], name: str, shape: tuple[int, int], path: Path
) -> NDArray[np.float32]:
    """Return a matrix of a shard."""
    if name not in tensors or tensors[name].shape != shape:
        raise Any2VecError(f"{path}: damaged: has no {name} of {shape[0]} x {shape[1]}")
    if not is_finite(tensors[name]):
        raise Any2VecError(f"{path}: damaged: `{name}` has numbers that are not finite")
    return tensors[name]
