"""Blocks: pieces of text of bounded size that threads tokenize independently of each other.

A host's part of a file is cut at the first whitespace at or after each multiple of the block size. No word is cut,
and both ends of a block are found without reading the text before it. Threads and hosts can read a plain file at
several positions at once. A sentence may continue in the host's next block.
"""

import hashlib
import json
import os
import platform
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allgather_bytes, first_other
from any2vec.corpus.tokenizer import MAX_WORD
from any2vec.corpus.word_table import PADDING
from any2vec.errors import Any2VecError
from any2vec.io.inputs import BOM, READ, InputFile, changed, fill, naming, open_stream
from any2vec.io.memory import zeros


@dataclass(frozen=True)
class InputSplits:
    """Host h has the lines at positions ``starts[h]`` to ``starts[h + 1] - 1``; those of the hosts `held` are read."""

    starts: list[int]
    held: range

    def within(self, before: int, size: int | None) -> range:
        """Return the hosts whose positions lie in a file of `size` bytes that begins at position `before`."""
        last = before + max(size or 0, 1) - 1
        return range(self._host_at(before), self._host_at(last) + 1)

    def _host_at(self, position: int) -> int:
        return min(bisect_right(self.starts, position), len(self.starts) - 1) - 1


def split_inputs(files: Sequence[InputFile] | None, hosts: int, held: range) -> InputSplits | None:
    """Give each host an equal share of the files' bytes; None if there are no files, or one of unknown size."""
    sizes = [file.size for file in files or () if file.size is not None]
    if files is None or len(sizes) < len(files):
        return None
    return InputSplits([sum(sizes) * host // hosts for host in range(hosts + 1)], held)


def split_evenly(bounds: NDArray[np.int64], hosts: int) -> NDArray[np.int64]:
    """Cut a worklist by words: host h's part begins at the first sentence at or after h/H of them."""
    words = int(bounds[-1])
    least = [-(-words * host // hosts) for host in range(hosts + 1)]
    return bounds[np.searchsorted(bounds, least)]


def line_ends(file: InputFile, offsets: Sequence[int]) -> list[int]:
    """Return where the first line feed is from the byte before each offset (rising, above 0) on, or a file's size."""
    if not offsets:
        return []
    assert file.path is not None
    assert file.size is not None
    found: list[int] = []
    with naming(file), file.path.open("rb", buffering=0) as stream:
        for offset in offsets:
            at = offset - 1
            if found and found[-1] >= at:  # no line begins between the two
                found.append(found[-1])
                continue
            stream.seek(at)
            while (text := stream.read(READ)) and (inside := text.find(b"\n")) < 0:
                at += len(text)
            found.append(at + inside if text else file.size)
    return found


def lines_before(file: InputFile, offset: int) -> int:
    """Count the line feeds before an offset in a file's text, by reading up to it: for error messages."""
    if offset == 0 or file.size is None:  # a pipe is read from its start, and once only
        return 0
    lines, left = 0, offset
    with open_stream(file) as (stream, _), naming(file):
        while left > 0 and (text := stream.read(min(left, READ))):
            lines += text.count(b"\n")
            left -= len(text)
    return lines


BLOCK = 1 << 22
_TAIL = MAX_WORD + 1  # bytes read past a block's size, to find the whitespace that ends it
IS_SPACE = np.isin(np.arange(256), list(b" \t\n\v\f\r"))


@dataclass(frozen=True, eq=False)
class Span:
    """Text in memory: the words of ``text[begin:end]``; there is whitespace at `end` and padding behind it."""

    text: NDArray[np.uint8]
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Block:
    """A piece of a file's text, of the bytes `start` to `stop` of a host's part."""

    file: InputFile
    host: int
    start: int
    stop: int
    size: int  # bytes in a block, about
    first: bool  # whether it begins exactly at `start`, else at the first whitespace from there on
    last: bool  # whether it ends exactly at `stop`, where a sentence ends, else at whitespace after ``start + size``
    consumed: int  # bytes of all files that are done when this block is
    ends: bool  # whether its file ends with it
    span: Span | None = field(default=None, repr=False)  # the text of a block of a stream, which has been read

    def load(self, buffer: NDArray[np.uint8]) -> Span:
        """Return the block's text, read into `buffer` (from `new_buffer`) unless it is in memory."""
        if self.span is not None:
            return self.span
        assert self.file.path is not None
        wanted = min(self.size + _TAIL, self.stop - self.start)
        with naming(self.file), self.file.path.open("rb", buffering=0) as stream:
            stream.seek(self.start)
            filled = fill(stream, buffer[:wanted])
        if filled < wanted:
            raise changed(self.file)
        begin = 0 if self.first else _first_space(buffer, 0, filled)
        begin = begin if self.start else _after_bom(buffer, filled)
        end = filled if self.last else _first_space(buffer, self.size, filled)
        return _ended(buffer, min(begin, end), end, filled)


def blocks_of(files: list[InputFile], size: int = BLOCK, splits: InputSplits | None = None) -> Iterator[Block]:
    """Yield the blocks, of about `size` bytes, of the parts held in `splits`, in order; each has text of one host."""
    splits = splits or InputSplits([0, 0], range(1))  # one host
    before = 0
    for file in files:
        hosts = splits.within(before, file.size)
        done = before
        if hosts.start < splits.held.stop and splits.held.start < hosts.stop:
            read = _blocks_of_stream if file.compression or file.size is None else _blocks_of_plain
            for block in read(file, size, splits, before, hosts):
                done = block.consumed
                yield block
        before = done if file.size is None else before + file.size


def new_buffer(size: int) -> NDArray[np.uint8]:
    """Return memory for one block's text."""
    return zeros(size + _TAIL + PADDING, np.uint8)


def _blocks_of_plain(file: InputFile, size: int, splits: InputSplits, before: int, hosts: range) -> Iterator[Block]:
    assert file.size is not None
    later = [host for host in hosts[1:] if splits.held.start <= host <= splits.held.stop]
    begins = dict(zip(later, line_ends(file, [splits.starts[host] - before for host in later]), strict=True))
    begins[hosts.start] = 0
    for host in splits.held:
        low = begins.get(host, file.size)
        high = begins.get(host + 1, file.size)
        for start in range(low, high, size):
            stop = min(start + size, high)
            at_end = stop == file.size
            yield Block(file, host, start, high, size, start == low, stop == high, before + stop, at_end)


def _blocks_of_stream(file: InputFile, size: int, splits: InputSplits, before: int, hosts: range) -> Iterator[Block]:
    """Read a stream up to the end of the last held part; within a block, positions in the file are interpolated."""
    with open_stream(file) as (stream, position):
        carry = np.empty(0, np.uint8)
        start, full, host, before_block = 0, size + _TAIL, hosts.start, before
        while True:
            text = new_buffer(size)
            text[: len(carry)] = carry
            with naming(file):
                filled = len(carry) + fill(stream, text[len(carry) : full])
            last = filled < full
            end = filled if last else _first_space(text, size, filled)
            begin = 0 if start else min(_after_bom(text, filled), end)
            consumed = before + position()
            carry = text[end:filled].copy()
            span = _ended(text, begin, end, filled)
            while host + 1 < hosts.stop and (cut := _cut(span, splits.starts[host + 1], before_block, consumed)) >= 0:
                if host in splits.held:
                    part = Span(text, begin, cut)
                    yield Block(file, host, start + begin, start + cut, size, True, True, consumed, False, part)
                host, begin = host + 1, cut
                if host >= splits.held.stop:
                    return
            if host in splits.held:
                part = Span(text, begin, end)
                yield Block(file, host, start + begin, start + end, size, True, last, consumed, last, part)
            if last:
                return
            start, before_block = start + end, consumed


def _cut(span: Span, position: int, low: int, high: int) -> int:
    """Return the line feed, in a block at `low` to `high`, after which the part at `position` begins; -1 if none."""
    if position > high:
        return -1
    first = -(-(position - low) * span.end // (high - low)) if position > low else 0
    for at in range(max(first - 1, 0), span.end, READ):
        found = span.text[at : min(at + READ, span.end)].tobytes().find(b"\n")
        if found >= 0:
            return at + found
    return -1


def _first_space(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return where the first whitespace is; `stop` if there is none (the word ends the file, or is too long)."""
    for at in range(start, stop, 512):
        space = IS_SPACE[text[at : min(at + 512, stop)]]
        first = int(space.argmax())
        if space[first]:
            return at + first
    return stop


def _after_bom(text: NDArray[np.uint8], filled: int) -> int:
    return len(BOM) if text[: min(filled, len(BOM))].tobytes() == BOM else 0


def _ended(text: NDArray[np.uint8], begin: int, end: int, filled: int) -> Span:
    if end == filled:  # else there is whitespace already
        text[end] = ord(" ")
    return Span(text, begin, end)


_SAMPLE = 4096  # bytes compared at a position
_COMPARED = 1 << 20  # bytes compared of a file, from its beginning to its end


def corpus_fingerprint(files: Sequence[InputFile] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same on all hosts: options that change the outcome, files and samples of their bytes."""
    found: list[list[Any]] = []
    for file in files or ():
        if file.path is None or file.size is None:
            raise Any2VecError(f"{file.name}: each host of a cluster reads a part, which needs a file; give files")
        found.append([os.fsencode(file.path).decode("latin-1"), file.size, sample_of(file)])
    compressed = any(file.compression for file in files or ())  # how it is decompressed decides where parts begin
    source = "sentences in memory" if files is None else "files"
    python = platform.python_version() if compressed else None
    return {"settings": {"the source": source, **options, "Python": python}, "files": found}


def sample_of(file: InputFile, most: int = _COMPARED) -> int:
    """Return a checksum of at most `most` bytes of a file that has a path and a size: of all, or of pieces of it."""
    assert file.path is not None
    assert file.size is not None
    check, pieces = 0, max(most // _SAMPLE, 2)
    with naming(file), file.path.open("rb") as stream:
        if file.size <= most:
            return zlib.crc32(stream.read(most))
        last = file.size - _SAMPLE
        for k in range(pieces):
            stream.seek(last * k // (pieces - 1))
            check = zlib.crc32(stream.read(_SAMPLE), check)
    return check


def check_same_fingerprint(communicator: Communicator, mine: dict[str, Any], what: str = "corpora") -> None:
    """Raise an error on all hosts if the fingerprints of two differ; `what` they see is for it."""
    packed = json.dumps(mine).encode()
    other = first_other(communicator, hashlib.sha256(packed).digest())
    if other is None:
        return
    every = allgather_bytes(communicator, packed)
    difference = _difference(json.loads(every[0]), json.loads(every[other]), f"host {other}")
    raise Any2VecError(f"hosts 0 and {other} see different {what}: {difference}; give all hosts the same")


def _difference(one: dict[str, Any], two: dict[str, Any], other: str) -> str:
    for name, value in one["settings"].items():
        if value != two["settings"][name]:
            return f"{name} is {value} on host 0, {two['settings'][name]} on {other}"
    for (name, size, check), (name2, size2, check2) in zip(one["files"], two["files"], strict=False):
        shown, shown2 = (text.encode("latin-1").decode(errors="replace") for text in (name, name2))
        if name != name2:
            return f"{shown} on host 0, {shown2} on {other}"
        if size != size2:
            return f"{shown} has {size:,} bytes on host 0, {size2:,} on {other}"
        if check != check2:
            return f"{shown} has other bytes on host 0 than on {other}"
    return f"{len(one['files']):,} files on host 0, {len(two['files']):,} on {other}"
