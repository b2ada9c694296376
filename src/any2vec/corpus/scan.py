"""The one pass over text in files: threads count words and write their provisional ids."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import BLOCK, Block, InputSplits, blocks_of, lines_before, new_buffer
from any2vec.corpus.corpus import BOUNDS, IDS, LINES, map_file
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.tokenizer import MAX_WORD, NUL, Scanned, tokenize
from any2vec.corpus.vocabulary import merge_valid
from any2vec.corpus.word_table import DONE, WordCounts, WordTable
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import HEAD, OF_NUL, InputFile, check_unchanged, files_of, names_files, refuse
from any2vec.io.memory import disk_errors, write_all, zeros
from any2vec.io.tables import PARQUET, Labels, list_type, table_columns, table_ending
from any2vec.llvm.compiled import njit


class Piece(NamedTuple):
    """The place of a block's provisional ids: `entries` int32s at `offset` bytes of a part's file."""

    part: int
    offset: int
    entries: int
    host: int = 0
    line: int = 0  # lines of the text that have ended before it, if documents are counted

    def read(self, files: Sequence[Path], buffer: NDArray[np.int32]) -> NDArray[np.int32]:
        """Read the ids into the beginning of a buffer, and return it."""
        ids = buffer[: self.entries]
        with files[self.part].open("rb") as file:
            file.seek(self.offset)
            file.readinto(ids.data)
        return ids


@dataclass(frozen=True, eq=False)
class Scan:
    """The outcome of one pass over (a part of) the text."""

    parts: list[WordCounts]  # of each thread; a provisional id is a place there
    files: list[Path]  # the provisional ids that each thread wrote; -1 ends a sentence
    pieces: list[Piece]  # the blocks, in the order of the text
    words: int
    lines: int = 0  # line feeds; 0 if it is no text
    documents: int = 0  # lines, whether or not a file ends with a line feed, or items
    tags: Sequence[str] = ()  # of the items; empty if they have none


class _Done(NamedTuple):
    block: Block
    piece: Piece
    scanned: Scanned
    unended: bool
    """Whether its text ends in the middle of a line."""


class _Counter:
    """A thread's table, buffers and file."""

    def __init__(self, number: int, folder: Path, size: int, raw: RawText, *, every_line: bool) -> None:
        self.number, self._every_line = number, every_line
        self.path = folder / f"provisional-{number}"
        self.table = WordTable()
        self._buffer = new_buffer(size)
        self._out = zeros(len(self._buffer) + 2, np.int32)
        self._raw = raw
        self._buffers: dict[float, NDArray[np.uint8]] = {}
        self.file = self.path.open("wb", buffering=0)  # last: nobody closes it if there is no memory

    def count(self, block: Block) -> _Done:
        span = block.load(self._buffer)
        if block.start == 0:
            head = span.text[span.begin : min(span.end, span.begin + HEAD)].tobytes()
            refuse(head, block.file.name, "text", but="html")  # whose tags may be tokens
        span = self._raw.span(span, self._buffers)
        scanned = tokenize(self.table, span.text, span.begin, span.end, self._out, every_line=self._every_line)
        entries = scanned.entries
        unended = not (entries and self._out[entries - 1] == -1)
        if block.last and unended:
            self._out[entries] = -1
            entries += 1
        piece = Piece(self.number, self.file.tell(), entries, block.host)
        write_all(self.file, self._out[:entries])
        return _Done(block, piece, scanned, unended)


T = TypeVar("T")


def lent(objects: Sequence[Any], work: Callable[[Any, Any], T]) -> Callable[[Any], T]:
    """Return `work` for threads: a call has one of the objects, which are taken in order, for itself, and an item."""
    free: LifoQueue[Any] = LifoQueue()
    for one in reversed(objects):
        free.put(one)

    def call(item: Any) -> T:
        one = free.get()
        try:
            return work(one, item)
        finally:
            free.put(one)

    return call


Progress = Callable[[int, int | None], None]
"""Called now and then with the bytes that are done, and all bytes, None if unknown."""


def input_files(
    source: Any, column: str | None, raw: RawText = AS_IT_IS, labels: Labels | None = None
) -> list[InputFile] | None:
    """List the files that a source names, which hold text if `raw` needs it; None for sentences in memory."""
    if not names_files(source):
        return None
    files = files_of(cast("str | Path | Sequence[str | Path]", source))
    if column is not None:
        files = [file for file in files if file.path is None or not file.path.name.startswith("_")]  # Spark's _SUCCESS
        if not files:
            raise Any2VecError(f"{shown(source)}: has no table, only what Spark writes beside them")
    for file in files:
        ending = table_ending(file.path) if file.path else ""
        if column is not None and not ending:
            tables = "files that end in .parquet, .csv or .tsv, and rows"
            raise Any2VecError(f"`column` is {shown(column)}, but {file.name} is text; it is for {tables}")
        if column is None and ending == PARQUET:
            path = cast("Path", file.path)
            raise Any2VecError(f"{path}: give the `column` that has the text; it has {table_columns(path)}")
    for path in [file.path for file in files if file.path and raw.tokenize]:
        if column is not None and (kind := list_type(path, column)):
            raw.refuse_to_tokenize(f"{path}: the column {shown(column)}", kind)
    return [replace(file, column=column, labels=labels) for file in files]


def scan_files(
    files: list[InputFile],
    folder: Path,
    splits: InputSplits | None,
    progress: Progress | None = None,
    *,
    threads: int = 1,
    size: int = BLOCK,
    raw: RawText = AS_IT_IS,
    documents: bool = False,
) -> Scan:
    """Count the words of the parts held in `splits`, for `documents` also lines; write their ids to `folder`.

    Threads take blocks of about `size` bytes.
    """
    before = splits.starts[splits.held.start] if splits else 0
    total = splits.starts[splits.held.stop] - before if splits else None
    pieces: list[Piece] = []
    words = lines = all_lines = ended = 0
    begun: Block | None = None  # the first block of the file being read
    with disk_errors(folder), ExitStack() as stack:
        counters = [_Counter(number, folder, size, raw, every_line=documents) for number in range(threads)]
        for counter in counters:
            stack.callback(counter.file.close)
        counted = ordered(lent(counters, _Counter.count), blocks_of(files, size, splits), threads)
        for block, piece, scanned, unended in stack.enter_context(closing(counted)):
            if begun is None or begun.file is not block.file:
                begun, lines = block, 0
            lines += scanned.lines
            if scanned.status != DONE:
                line = lines_before(begun.file, begun.start) + lines + 1
                what = f"a word longer than {MAX_WORD:,} bytes; is this text, with whitespace between words?"
                what = f"a NUL byte; {OF_NUL}" if scanned.status == NUL else what
                raise Any2VecError(f"{block.file.name}, line {line:,}: {what}")
            pieces.append(piece._replace(line=ended))
            words += scanned.words
            all_lines += scanned.lines
            ended += scanned.lines
            if block.ends and unended and (scanned.entries or block.start):  # else the next part has the line feed
                ended += 1
            if progress is not None:
                done = block.consumed - before
                progress(done if total is None else min(max(done, 0), total), total)
    check_unchanged(files)
    parts = [counter.table.part() for counter in counters]
    return Scan(parts, [counter.path for counter in counters], pieces, words, all_lines, ended)


def no_words(files: list[InputFile] | None) -> Any2VecError:
    """Make the error for a corpus without a word; without files it is of sentences in memory."""
    if files is None:
        return Any2VecError("the corpus is empty: the sentences hold no token")
    name = name_of(files)
    if all(file.size == 0 for file in files):
        return Any2VecError(f"{name}: empty (0 bytes)")
    return Any2VecError(f"{name}: no words, nothing but whitespace")


def name_of(files: list[InputFile]) -> str:
    """Name the files of a corpus, for messages."""
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"


END, INSIDE = -1, -2


@dataclass(eq=False)
class IdText:
    """A text as ids of distinct words, all UTF-8, in files that may be changed."""

    table: WordTable
    counts: NDArray[np.int64]
    words: int  # in the text: the sum of `counts`
    invalid: int  # words that were not UTF-8
    files: list[Path]
    pieces: list[Piece]  # in the order of the text
    final: list[NDArray[np.int32]]  # the ids that those in each file stand for

    @classmethod
    def of(cls, scan: Scan) -> "IdText":
        """Take what a pass over the text found; its files may be changed."""
        part, places, invalid = merge_valid(scan.parts)
        table = WordTable()
        moved = table.add(part)
        final = [moved[place] for place in places]
        return cls(table, table.part().counts, scan.words, invalid, scan.files, scan.pieces, final)

    def part(self) -> WordCounts:
        """Return the words with their counts."""
        words = self.table.part()
        return WordCounts(words.arena, words.starts, self.counts)

    def add(self, words: list[bytes]) -> NDArray[np.int32]:
        """Return the ids of words, which are added if they are new."""
        ids = self.table.add(WordCounts.of(words, np.zeros(len(words), np.int64)))
        more = len(self.table.part()) - len(self.counts)
        self.counts = np.concatenate((self.counts, np.zeros(more, np.int64)))
        return ids

    def load(self, piece: Piece) -> NDArray[np.int32]:
        """Read the ids of a piece."""
        return piece.read(self.files, np.empty(piece.entries, np.int32))

    def store(self, piece: Piece, ids: NDArray[np.int32]) -> None:
        """Replace the ids of a piece."""
        with self.files[piece.part].open("r+b", buffering=0) as file:
            file.seek(piece.offset)
            write_all(file, ids)

    def views(self) -> list[NDArray[np.int32]]:
        """Map the ids of each piece, read-only."""
        files = [map_file(path, np.int32, []) for path in self.files]
        firsts = [piece.offset // 4 for piece in self.pieces]
        return [files[at.part][first : first + at.entries] for at, first in zip(self.pieces, firsts, strict=True)]


SENTENCE_END = -2
"""The final id of a word that ends a sentence."""


def encode_pieces(
    pieces: Sequence[Piece],
    files: Sequence[Path],
    final: Sequence[NDArray[np.int32]],
    folder: Path,
    *,
    threads: int = 1,
    hosts: int = 1,
    documents: bool = False,
) -> tuple[NDArray[np.int64], int]:
    """Write the worklist of a text, of its `documents` also lines; return each host's words, and all sentences."""
    ending = [bool((ids == SENTENCE_END).any()) for ids in final]
    largest = max((piece.entries for piece in pieces), default=0)
    spare: SimpleQueue[NDArray[np.int32]] = SimpleQueue()  # written buffers: fresh pages cost more than the remap

    def encode(piece: Piece) -> tuple[int, NDArray[np.int32], int, NDArray[np.int64], NDArray[np.int64]]:
        try:
            buffer = spare.get_nowait()
        except Empty:
            buffer = zeros(largest, np.int32)
        ids = piece.read(files, buffer)
        most = np.count_nonzero(ids < 0) if not ending[piece.part] else piece.entries
        ends = np.empty(int(most), np.int64)
        lines = np.empty(len(ends) if documents else 0, np.int64)
        kept, ended = remap(ids, final[piece.part], ends, lines)
        return piece.host, buffer, kept, ends[:ended], lines[:ended] + piece.line

    by_host = [0] * hosts
    words = sentences = end = 0
    with ExitStack() as stack:
        ids_file = stack.enter_context((folder / IDS).open("wb", buffering=0))
        bounds_file = stack.enter_context((folder / BOUNDS).open("wb", buffering=0))
        write_all(bounds_file, np.zeros(1, np.int64))
        lines_file = stack.enter_context((folder / LINES).open("wb", buffering=0)) if documents else None
        for host, buffer, kept, relative, numbers in stack.enter_context(closing(ordered(encode, pieces, threads))):
            ends, lines = relative + words, numbers
            if len(ends) and ends[0] == end:  # the sentence had ended with the last block, or has no words
                ends, lines = ends[1:], lines[1:]
            write_all(ids_file, buffer[:kept])
            spare.put(buffer)
            write_all(bounds_file, ends)
            if lines_file:
                write_all(lines_file, lines)
            words += kept
            by_host[host] += kept
            sentences += len(ends)
            end = int(ends[-1]) if len(ends) else end
    return np.array(by_host, np.int64), sentences


@njit(nogil=True, cache=True)
def remap(
    ids: NDArray[np.int32], final: NDArray[np.int32], ends: NDArray[np.int64], lines: NDArray[np.int64]
) -> tuple[int, int]:
    """Turn provisional ids into final ones in place, without INSIDE and final ids below 0; return the number left.

    `ends` gets where sentences end, and their number is returned too. The first end is always written, as a sentence
    that began in an earlier block may end there. `lines`, unless empty, gets the number, from 1, of each of these ends.
    """
    kept = ended = seen = 0
    last = -1
    for i in range(ids.size):
        word = ids[i]
        if word >= 0:
            word = final[word]
            ids[kept] = word  # kept <= i, so nothing unread is overwritten
            kept += word >= 0
            if word != SENTENCE_END:
                continue
        elif word != END:
            continue
        seen += 1
        if kept != last:
            ends[ended] = kept
            if lines.size:
                lines[ended] = seen
            ended += 1
            last = kept
    return kept, ended
