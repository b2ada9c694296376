"""A text with its phrases joined: what `Phrases.transform` gives, and `Word2Vec.fit` takes, without writing text."""

import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from any2vec.cluster.local import alone
from any2vec.corpus.blocks import BLOCK, blocks_of, split_inputs
from any2vec.corpus.phrases.joins import joined_blocks, sentence_runs, spelled
from any2vec.corpus.phrases.phrase_list import PhraseList, join_phrases
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.scan import IdText, Progress, no_words, scan_files
from any2vec.corpus.sentences import scan_sentences, sentences_of, tokens_in
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import PARQUET, InputFile, Source, check_unchanged, files_of, names_files
from any2vec.io.memory import disk_errors, memory_errors
from any2vec.io.outputs import Chunk, check_writable, write_in_host_order
from any2vec.io.replaceable import marked
from any2vec.io.streams import list_type, parquet_columns
from any2vec.io.temporary import temporary_folder


@dataclass(frozen=True, eq=False)
class KeptText:
    """A text as ids in a temporary folder, which is removed with it; the files it is from, None for sentences."""

    text: IdText
    files: list[InputFile] | None
    folder: Path


@dataclass(frozen=True, eq=False)
class PhrasedText:
    """A text whose phrases are joined when it is read: iterate over its sentences, or give it to `Word2Vec.fit`.

    Iteration gives each sentence as a list of tokens, again and again if the source can be read again.
    """

    source: Source
    phrases: PhraseList
    column: str | None = None
    threads: int = 1
    raw: RawText = AS_IT_IS
    kept: KeptText | None = field(default=None, repr=False)
    _block: int = field(default=BLOCK, repr=False)

    def __repr__(self) -> str:
        phrases = sum(len(found.firsts) for found in self.phrases.passes)
        return f"{type(self).__name__}({shown(self.source)}, {phrases:,} phrases)"

    def __iter__(self) -> Iterator[list[Any]]:
        if self.kept is not None or names_files(self.source):
            kept = self._joined()  # its folder goes with it
            yield from _sentences(kept.text)
            return
        for i, sentence in enumerate(sentences_of(self.source, self.column, self.raw)):
            yield self.phrases.join_tokens([*map(self.raw.token, tokens_in(i, sentence))])

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text, a sentence per line, with its phrases joined.

        Text of files stays as it is but for the whitespace inside a phrase, which the joiner replaces; a last line
        without a line feed gets one. Of a pipe and of sentences in memory, words are separated by one space.

        Parameters
        ----------
        path : str or Path
            Gzip-compressed if its name ends in .gz. A text that this wrote before is replaced.
        force : bool
            Replace any other file, too.

        Raises
        ------
        Any2VecError
            If the text cannot be read or written, or there is another file.
        """
        path = path_of(path)
        if path.suffix.lower() in (".bz2", ".xz", ".zst"):
            raise Any2VecError(f"{path}: text is written plain or as .gz; leave out the ending {path.suffix}")
        check_writable(path, PHRASED_TEXT, force=force)
        write_in_host_order(path, self.chunks(), alone(), PHRASED_TEXT)

    def chunks(self) -> Iterator[Chunk]:
        """Yield what `write` writes."""
        kept = self._joined()
        if kept.files is None or any(file.size is None for file in kept.files):
            yield from spelled(kept.text)
        else:
            blocks = blocks_of(kept.files, self._block)
            yield from joined_blocks(kept.text, blocks, self.raw, self.phrases.joiner, self.threads)
            check_unchanged(kept.files)

    def read_as(self, wanted: RawText) -> RawText:
        """Return how this text is read; raise an error if something else is wanted."""
        for name in ("lowercase", "tokenize"):
            if getattr(wanted, name) and not getattr(self.raw, name):
                raise Any2VecError(f"`{name}` is True, but the source has phrases found without; give it to Phrases")
        return self.raw

    def kept_for(self, files: list[InputFile] | None, hosts: int) -> IdText | None:
        """Return the text as ids if it was read for as many hosts, and its files have not changed since."""
        if self.kept is None or self.kept.files != files or (files is not None and hosts > 1):
            return None
        return self.kept.text

    def _joined(self) -> KeptText:
        if self.kept is not None:
            return self.kept
        kept = keep_text(self.source, self.column, self.threads, self.raw, None, self._block)
        with memory_errors("the text"), disk_errors(kept.folder):
            join_phrases(kept.text, self.phrases)
        return kept


PHRASED_TEXT = marked("a text that any2vec wrote")


def keep_text(
    source: Source,
    column: str | None,
    threads: int,
    raw: RawText = AS_IT_IS,
    progress: Progress | None = None,
    block: int = BLOCK,
) -> KeptText:
    """Read a text in one pass; keep it as ids in a temporary folder."""
    files = input_files(source, column, raw)
    temporary = temporary_folder()
    folder = temporary.path
    try:
        with memory_errors("the text"):
            if files is None:
                scan = scan_sentences(cast("Iterable[Any]", source), folder, column=column, raw=raw)
            else:
                how = {"threads": threads, "size": block, "raw": raw}
                scan = scan_files(files, folder, split_inputs(files, 1, range(1)), progress, **how)
            if scan.words == 0:
                raise no_words(files)
            kept = KeptText(IdText.of(scan), files, folder)
    except BaseException:
        temporary.remove()
        raise
    weakref.finalize(kept, temporary.remove)
    return kept


def input_files(source: Any, column: str | None, raw: RawText = AS_IT_IS) -> list[InputFile] | None:
    """List the files that a source names, which hold text if `raw` needs it; None for sentences in memory."""
    if not names_files(source):
        return None
    files = files_of(cast("str | Path | Sequence[str | Path]", source))
    if column is not None:
        files = [file for file in files if file.path is None or not file.path.name.startswith("_")]  # Spark's _SUCCESS
        if not files:
            raise Any2VecError(f"{shown(source)}: has no Parquet file, only what Spark writes beside them")
    tables = [file for file in files if file.path and file.path.suffix.lower() == f".{PARQUET}"]
    if column is not None and len(tables) < len(files):
        text = next(file for file in files if file not in tables)
        raise Any2VecError(f"`column` is {shown(column)}, but {text.name} is text; it is for Parquet files and rows")
    if tables and column is None:
        path = cast("Path", tables[0].path)
        raise Any2VecError(f"{path}: give the `column` that has the text; it has {parquet_columns(path)}")
    for path in [file.path for file in files if file.path and raw.tokenize]:
        if column is not None and (kind := list_type(path, column)):
            raw.refuse_to_tokenize(f"{path}: the column {shown(column)}", kind)
    return [replace(file, column=column) for file in files]


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return what a user gave as a path; raise an error if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise Any2VecError(f"a path must be a str or a Path, not {shown(path)}")
    return Path(path)


def _sentences(text: IdText) -> Iterator[list[str]]:
    """Yield the sentences of a text; lines without a word are left out."""
    words = [word.decode() for word in text.part().words()]
    sentence: list[str] = []
    for run, ended in sentence_runs(text):
        sentence += [words[i] for i in run]
        if ended and sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
