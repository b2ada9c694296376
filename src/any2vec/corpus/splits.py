"""Where the hosts' parts of a text begin: at the first line at or after equal shares of the files' bytes.

A line's place is that of its first byte, the files laid one after the other. So no sentence is cut, the parts
do not depend on who reads them, and of a plain file each host finds its own without reading the others'. (In a
compressed file places are interpolated, see blocks.)
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.io.inputs import InputFile
from any2vec.io.streams import naming, open_stream

__all__ = ["InputSplits", "line_ends", "lines_before", "split_evenly", "split_inputs"]

READ = 1 << 18


@dataclass(frozen=True)
class InputSplits:
    """The places where hosts' parts begin, and which of them are to be read.

    Attributes
    ----------
    places : list of int
        Host h has the lines at places ``places[h]`` to ``places[h + 1] - 1``; length H + 1.
    held : range
        The hosts whose parts are read.
    """

    places: list[int]
    held: range

    @classmethod
    def whole(cls) -> "InputSplits":
        """Make those of one host."""
        return cls([0, 0], range(1))

    def within(self, before: int, size: int | None) -> range:
        """Return the hosts whose places lie in a file of `size` bytes that begins at place `before`."""
        last = before + max(size or 0, 1) - 1
        return range(self._host_at(before), self._host_at(last) + 1)

    def _host_at(self, place: int) -> int:
        return min(bisect_right(self.places, place), len(self.places) - 1) - 1


def split_inputs(files: Sequence[InputFile] | None, hosts: int, held: range) -> InputSplits | None:
    """Give each host an equal share of the files' bytes.

    Parameters
    ----------
    files : sequence of InputFile or None
        The text.
    hosts : int
        H.
    held : range
        The hosts whose parts are to be read.

    Returns
    -------
    InputSplits or None
        None if the text has no places: it is not in files, or the size of one is not known.
    """
    if files is None:
        return None
    total = 0
    for file in files:
        if file.size is None:
            return None
        total += file.size
    return InputSplits([total * host // hosts for host in range(hosts + 1)], held)


def split_evenly(bounds: NDArray[np.int64], hosts: int) -> NDArray[np.int64]:
    """Cut a worklist by words, for a text without places.

    Parameters
    ----------
    bounds : int64 array, shape (sentences + 1,)
        Where sentences begin and end.
    hosts : int
        H.

    Returns
    -------
    int64 array, shape (hosts + 1,)
        Host h's part begins at the first sentence whose position is at least h/H of the words.
    """
    words = int(bounds[-1])
    least = [-(-words * host // hosts) for host in range(hosts + 1)]
    return bounds[np.searchsorted(bounds, least)]


def line_ends(file: InputFile, offsets: Sequence[int]) -> list[int]:
    """Find the line ends after which the first lines at or after some offsets begin.

    Parameters
    ----------
    file : InputFile
        A plain file.
    offsets : sequence of int
        In rising order, above 0.

    Returns
    -------
    list of int
        For each, where the first line feed is at or after the byte before it; the file's size if there is none.

    Raises
    ------
    Any2VecError
        If the file cannot be read.
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
    """Count the line ends before an offset in a file's text, by reading up to there: for error messages."""
    if offset == 0 or file.size is None:  # a pipe is read from its start, and once only
        return 0
    lines, left = 0, offset
    with open_stream(file) as (stream, _), naming(file):
        while left > 0 and (text := stream.read(min(left, READ))):
            lines += text.count(b"\n")
            left -= len(text)
    return lines
