"""Where hosts' parts of a text begin: at the first lines at or after equal shares of the files' bytes.

A line's position is that of its first byte, the files laid end to end. No sentence is cut, and the parts do not depend
on their reader. In a plain file, each host finds its part without reading the others. (In a compressed file
positions are interpolated, see `blocks`.)
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.io.inputs import InputFile
from any2vec.io.streams import READ, naming, open_stream

__all__ = ["InputSplits", "line_ends", "lines_before", "split_evenly", "split_inputs"]


@dataclass(frozen=True)
class InputSplits:
    """The positions where hosts' parts begin, and the hosts whose parts are to be read.

    Attributes
    ----------
    starts : list of int
        Host h has the lines at positions ``starts[h]`` to ``starts[h + 1] - 1``; length H + 1.
    held : range
        The hosts whose parts are read.
    """

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
    if files is None:
        return None
    total = 0
    for file in files:
        if file.size is None:
            return None
        total += file.size
    return InputSplits([total * host // hosts for host in range(hosts + 1)], held)


def split_evenly(bounds: NDArray[np.int64], hosts: int) -> NDArray[np.int64]:
    """Cut a worklist by words: host h's part begins at the first sentence at or after h/H of them."""
    words = int(bounds[-1])
    least = [-(-words * host // hosts) for host in range(hosts + 1)]
    return bounds[np.searchsorted(bounds, least)]


def line_ends(file: InputFile, offsets: Sequence[int]) -> list[int]:
    """For each offset (rising, above 0) return where the first line feed is at or after the byte before it.

    The file must be plain; if no line feed follows, its size is returned.
    """
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
