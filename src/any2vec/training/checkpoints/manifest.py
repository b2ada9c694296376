"""Manifests of checkpoints: what they hold, and what is refused of one that is damaged, or that others made."""

import hashlib
import json
import math
import re
import zlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.errors import shown
from any2vec.io.inputs import open_regular
from any2vec.io.memory import CACHED
from any2vec.sync import SCHEMES
from any2vec.sync.wire import WIRES
from any2vec.training.options import Decay
from any2vec.training.schedule import MOST_ROUNDS, Schedule
from any2vec.training.state import MeterState

FORMAT = 2
_MANIFEST = re.compile(r"(\d{6,12})\.json")

_LARGEST = 1 << 26  # bytes of a manifest
_MOST = 1 << 62  # of any whole number in it
_COUNTERS = 5  # of a thread, in a part of a round

Facts = dict[str, Any]
"""What a run is of: its options, and its corpus."""


def shard_name(version: int, low: int, high: int, host: int) -> str:
    """Return the name of a host's shard: of vertices from `low` to `high`."""
    return f"{version:06d}.{low}-{high}{'' if high > low else f'.{host}'}.safetensors"


def manifest_name(version: int) -> str:
    """Return the name of a manifest."""
    return f"{version:06d}.json"


def note_name(version: int, host: int) -> str:
    """Return the name of a host's note that its shard is on the disk."""
    return f"{version:06d}.{host}.note"


def listed(folder: Path) -> list[tuple[int, Path]]:
    """List the files named as manifests in a folder, with their versions, the oldest first."""
    found = [(int(m[1]), path) for path in folder.iterdir() if (m := _MANIFEST.fullmatch(path.name))]
    return sorted((version, path) for version, path in found if path.name == manifest_name(version))


def own_digest(manifest: Facts) -> str:
    """SHA-256 of a manifest without this, in hexadecimal."""
    text = json.dumps({name: value for name, value in manifest.items() if name != "sha256"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(path: Path) -> int:
    """CRC-32 of a file."""
    found = 0
    with open_regular(path) as file:
        while block := file.read(4 * CACHED):
            found = zlib.crc32(block, found)
    return found


def read_manifest(path: Path) -> tuple[Facts, str]:
    """Read a manifest; return it and what is wrong with it."""
    try:
        with open_regular(path) as file:
            text = file.read(_LARGEST + 1)
        manifest = json.loads(text) if len(text) <= _LARGEST else None
        if not isinstance(manifest, dict) or "format" not in manifest:
            problem = "damaged, or no manifest: it has no `format`"
        elif manifest["format"] != FORMAT:
            problem = f"has format {shown(manifest['format'])}; this any2vec reads {FORMAT}"
        elif manifest["sha256"] != own_digest(manifest):
            problem = "damaged: its SHA-256 is not that in it"
        else:
            _check(manifest, int(path.stem))
            return manifest, ""
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        kind = "not JSON: " if isinstance(error, json.JSONDecodeError) else ""
        kind = kind if isinstance(error, ValueError) else f"{type(error).__name__} "
        problem = f"damaged: {kind}{error}"
    return {}, f"{path}: {problem}"


def damage(folder: Path, shard: Facts) -> str:
    """Return what is wrong with a shard, or an empty text."""
    path = folder / shard["file"]
    try:
        size = path.stat().st_size
        if size != shard["bytes"]:
            return f"{path}: has {size:,} bytes, not {shard['bytes']:,}: it was truncated, or changed"
        return "" if _checksum(path) == shard["crc32"] else f"{path}: damaged: its CRC-32 is not that of the manifest"
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror or error}"


def _check(manifest: Facts, version: int) -> None:
    """Raise a ValueError if a manifest whose digest is right holds what no run writes."""
    kinds = {"options": dict, "corpus": dict, "meter": dict, "shards": list}
    for name, kind in kinds.items():
        if not isinstance(manifest[name], kind):
            raise ValueError(f"`{name}` is {shown(manifest[name])}")
    options, corpus, meter, shards = (manifest[name] for name in kinds)
    words, epochs = _whole(corpus, "words", least=1), _whole(options, "epochs", least=1)
    _whole(corpus, "sentences")
    _whole(manifest, "hosts", least=len(shards), most=len(shards))
    _whole(manifest, "rounds", least=1, most=MOST_ROUNDS)
    _whole(manifest, "epoch", most=epochs - 1)
    _number(manifest, "kappa")
    if manifest.get("sample") is not None:
        _number(manifest, "sample", most=1.0)
    for name, known, where in (("scheme", SCHEMES, manifest), ("wire", WIRES, manifest), ("wire", WIRES, options)):
        if where.get(name) not in (None, *known):
            raise ValueError(f"`{name}` is {shown(where[name])}")
    _check_meter(meter)
    for name in ("left", "begun"):
        if name == "left" or manifest[name] is not None:
            _check_ranges(name, manifest[name], words)
    _whole(manifest, "rounds_done", most=_most_rounds(manifest))
    _check_shards(shards, version)


def _check_shards(shards: list[Any], version: int) -> None:
    """Raise unless these are one after the other, and named so."""
    end = 0
    for host, shard in enumerate(shards):
        if not isinstance(shard, dict):
            raise ValueError(f"shard {host} is {shown(shard)}")
        first, rows = _whole(shard, "first"), _whole(shard, "rows")
        _whole(shard, "bytes")
        _whole({"documents": 0} | shard, "documents")
        _whole(shard, "crc32", most=(1 << 32) - 1)
        if first != end:
            raise ValueError(f"shard {host} begins with vertex {first:,}, not {end:,}")
        end = first + rows
        if shard["file"] != shard_name(version, first, end, host):
            raise ValueError(f"shard {host} is {shown(shard['file'])}, not {shard_name(version, first, end, host)!r}")
    if not end:
        raise ValueError("the shards have no vertices")


def _most_rounds(manifest: Facts) -> int:
    """Return the rounds of the epoch; of what is left of one, one host may make any number."""
    hosts, rounds, begun = (manifest[name] for name in ("hosts", "rounds", "begun"))
    words = manifest["corpus"]["words"]
    if begun is not None:
        most = math.ceil(rounds * sum(high - low for low, high in begun) / words)
        return max(1, most) if hosts > 1 else _MOST
    epoch = manifest["epoch"]
    return len(Schedule(Decay(1.0), epoch + 1, rounds, np.arange(hosts + 1)).numbers(epoch))


def _check_meter(meter: Facts) -> None:
    known, usual = set(MeterState._fields), set(MeterState._field_defaults)
    if not known - usual <= meter.keys() <= known:
        raise ValueError(f"`meter` holds {shown(list(meter))}")
    _whole(meter, "words")
    _number(meter, "seconds")
    _number(meter, "samples")
    _number(meter, "loss", least=-math.inf)
    for name in ("losses", "held_out"):
        losses = meter.get(name, [])  # NaN where an epoch had no samples
        if not isinstance(losses, list) or not all(type(loss) in (int, float) for loss in losses):
            raise ValueError(f"`{name}` is {shown(losses)}")
    part = meter.get("part", [])
    if not isinstance(part, list) or len(part) not in (0, _COUNTERS):
        raise ValueError(f"`part` is {shown(part)}")
    for count in part:
        _number({"part": count}, "part", least=-math.inf)


def _check_ranges(name: str, ranges: Any, words: int) -> None:
    """Raise unless these are ranges of positions that do not overlap."""
    pairs = isinstance(ranges, list) and all(isinstance(r, list) and [*map(type, r)] == [int, int] for r in ranges)
    if not pairs:
        raise ValueError(f"`{name}` is {shown(ranges)}, not pairs of positions")
    ranges = sorted(ranges)
    if any(low > high for low, high in ranges) or any(one[1] > other[0] for one, other in pairwise(ranges)):
        raise ValueError(f"`{name}` has ranges that overlap, or end before they begin")
    if ranges and not 0 <= ranges[0][0] <= ranges[-1][1] <= words:
        raise ValueError(f"`{name}` goes from {ranges[0][0]:,} to {ranges[-1][1]:,}; there are {words:,} words")


def _whole(values: Mapping[str, Any], name: str, *, least: int = 0, most: int = _MOST) -> int:
    value = values[name]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"`{name}` is {shown(value)}")
    return value


def _number(values: Mapping[str, Any], name: str, *, least: float = 0.0, most: float = math.inf) -> None:
    value = values[name]
    if type(value) not in (int, float) or not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"`{name}` is {shown(value)}")
