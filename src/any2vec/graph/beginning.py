"""What a file of edges begins with: comments, a header, and the first line of an edge, which shows the dialect."""

from collections.abc import Iterable
from typing import NamedTuple

from any2vec.graph.build import ReadOptions
from any2vec.graph.dialect import Dialect, detect_dialect
from any2vec.graph.foreign import refuse_foreign
from any2vec.graph.lines import LineBlock
from any2vec.io.inputs import InputFile

__all__ = ["Beginning", "begin_file"]

SMALL = 1 << 20  # bytes of a file that is looked at as a whole


class Beginning(NamedTuple):
    """The lines before the first that is neither a comment nor a header, and this line, unless there is none."""

    comments: int  # among the lines before it
    lines: int = 0  # before it
    start: int = 0  # the byte of the file's text at which it begins
    line: bytes = b""
    dialect: Dialect | None = None


def begin_file(
    file: InputFile, blocks: Iterable[LineBlock], options: ReadOptions, *, adjacency: bool
) -> tuple[Beginning, list[LineBlock]]:
    """Read up to the first line of an edge; return also the block in which it is, from this line on."""
    comments = tuple(bytes([byte]) for byte in options.comments.encode())
    lines = skipped = start = 0
    started, header = True, options.header
    for block in blocks:
        text = block.text[block.begin : block.end].tobytes()
        if started:
            refuse_foreign(text, len(text) < SMALL and not adjacency, file.name)
            start = block.begin
        started = False
        at = 0
        while at < len(text):
            stop = text.index(b"\n", at)
            found = text[at:stop].strip()
            if found and found.startswith(comments):
                skipped += 1
            elif found and header:
                header = False
            elif found:
                where = f"{file.name}, line {lines + 1:,}"
                dialect = detect_dialect(found, where, options, adjacency=adjacency)
                return Beginning(skipped, lines, start + at, found, dialect), [block._replace(begin=block.begin + at)]
            lines += 1
            at = stop + 1
        start += len(text)
    return Beginning(skipped), []
