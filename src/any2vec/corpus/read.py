"""Read a corpus: scan the text, choose V, encode W; on one host, or as one host of a cluster."""

import time
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, shared_errors
from any2vec.cluster.local import alone
from any2vec.corpus.blocks import (
    BLOCK,
    InputSplits,
    check_same_fingerprint,
    corpus_fingerprint,
    split_evenly,
    split_inputs,
)
from any2vec.corpus.cache import cached, key_of, place_of
from any2vec.corpus.corpus import Corpus, Documents, open_lines, open_worklist
from any2vec.corpus.phrases.phrased_text import PhrasedText, join_phrases
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.scan import (
    SENTENCE_END,
    IdText,
    Progress,
    Scan,
    encode_pieces,
    input_files,
    name_of,
    no_words,
    scan_files,
)
from any2vec.corpus.sentences import scan_sentences
from any2vec.corpus.vocabulary import (
    LINE_END,
    Vocabulary,
    build_vocabulary_distributed,
    given_vocabulary,
    look_up,
    merge_valid,
)
from any2vec.corpus.word_table import WordCounts, merge
from any2vec.errors import Any2VecError, Any2VecWarning, counted, shown
from any2vec.io.inputs import InputFile, Source
from any2vec.io.memory import disk_errors, memory_errors
from any2vec.io.tables import Labels


def read_corpus(source: Source, *, communicator: Communicator | None = None, **options: Any) -> Corpus:
    """Turn text into a vocabulary and a worklist, in one pass over the text; `_Reader` lists the `options`.

    Neither the text nor a sentence has to fit into memory; the distinct words do. Where words and sentences end:
    see `any2vec.corpus`.

    For H hosts, files are cut at the first lines at or after equal shares of the bytes. Files of unknown size and
    sentences in memory are cut at the first sentences at or after equal shares of the words. V and the cuts
    are the same whether one process reads all parts (`hosts`) or each host its own (`communicator`). Then
    all give the same files (a compressed one is read up to the end of the part), or each its own sentences, at least
    one, W being these in host order. An error of one is raised on all.

    `source` is files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences, drawn once:
    lists, tuples, NumPy arrays or pandas Series of tokens, which are strings or integers (5 is the word ``"5"``). Of a
    data frame, or mappings, `column` holds the sentences, as tokens or as a string that is split at whitespace, once
    `raw` is done with it. Before those of tables in files stand their `labels`. If lines, rows or items are
    `documents`, they may be (tag, tokens), or have ``words`` and ``tags`` as gensim's TaggedDocument, with one tag.

    `vocabulary` has the words that may get ids, and their counts; `min_count` and `max_size` apply to these. Words of
    earlier texts that are `known` all get ids, and counts are added; `min_count` is for other words, `max_size` for
    all. A word ``</s>`` ends a sentence if it is the `line_end_word`, as in word2vec.c.

    `cache` is the folder where corpora are kept for reuse; "auto" for ``$ANY2VEC_CACHE`` or the user's. Standard input,
    pipes and sentences in memory are never reused. `progress` is called now and then, in the caller's thread, with the
    bytes of the files that are done and all their bytes (of this host's part; None if unknown); `say` with what the
    user should know of an entry of the cache. `threads`, and bytes that one takes at a time, change no outcome.
    """
    communicator = communicator or alone()
    reader = _Reader(source, communicator, **options)
    seen = dict[str, Any]()
    with shared_errors(communicator):
        settings = reader.settings()
        if communicator.size > 1:
            own = {"cache": reader.cache is not None, "block": reader.block}
            seen = corpus_fingerprint(reader.files, settings | own)
    if communicator.size > 1:
        check_same_fingerprint(communicator, seen)
        reader.hosts, reader.held = communicator.size, range(communicator.rank, communicator.rank + 1)
    with shared_errors(communicator):
        place, key = place_of(reader.cache), None
        if reader.files is not None and place.folder is not None:
            key = key_of(reader.files, settings, reader.hosts, reader.held)
    if place.why and communicator.rank == 0:
        warnings.warn(place.why, Any2VecWarning, stacklevel=2)
    files = reader.files or ()
    return cached(reader.build, place, key, files, communicator, reader.threads, reader.say)  # if the cache has it not


@dataclass(eq=False)
class _Reader:
    """The arguments of `read_corpus`, and what is found of them before the text is read."""

    source: Any
    communicator: Communicator
    _: KW_ONLY
    min_count: int = 5
    max_size: int | None = None
    threads: int = 1
    cache: str | Path | None = "auto"
    progress: Progress | None = None
    column: str | None = None  # of tables and rows
    labels: Labels | None = None  # of tables in files: these stand before a text
    raw: RawText = AS_IT_IS
    hosts: int = 1
    vocabulary: Vocabulary | str | Path | None = None
    known: Vocabulary | None = None
    line_end_word: bool = False
    documents: bool = False
    say: Callable[[str], None] = lambda _: None
    block: int = BLOCK
    files: list[InputFile] | None = field(init=False)  # None for sentences in memory
    phrased: PhrasedText | None = field(init=False, default=None)
    given: Vocabulary | None = field(init=False, default=None)
    held: range = field(init=False)  # the hosts whose parts are read

    def _check(self) -> None:
        """Raise an error if an argument is of a wrong type, too small, or does not go with another."""
        if self.column is not None and not isinstance(self.column, str):
            raise Any2VecError(f"`column` is {shown(self.column)}; it must be the name of a column, a str")
        for name, least in (("min_count", 1), ("max_size", 2), ("threads", 1), ("hosts", 1)):
            value = getattr(self, name)
            if value is None and name == "max_size":
                continue
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise Any2VecError(f"`{name}` is {shown(value)}; it must be a whole number, at least {least}")
        if self.vocabulary is not None and self.known is not None:
            raise Any2VecError("`vocabulary` is given, and `known` words too; give one")

    def settings(self) -> dict[str, Any]:
        """Find the files and the words that are given; return all that decides V and W besides the text."""
        self._check()
        if self.hosts not in (1, self.communicator.size) and self.communicator.size > 1:
            raise Any2VecError(f"`hosts` is {self.hosts}, but the communicator has {self.communicator.size} hosts")
        if self.vocabulary is not None:
            self.given = given_vocabulary(self.vocabulary, self.min_count, self.max_size)
        if isinstance(self.source, PhrasedText):
            self.phrased = self.source
            if self.column is not None:
                raise Any2VecError(f"`column` is {shown(self.column)}, but the source has phrases; give it to Phrases")
            self.raw = self.phrased.read_as(self.raw)
            self.source, self.column = self.phrased.source, self.phrased.column
        self.files = input_files(self.source, self.column, self.raw, self.labels)
        self.held = range(self.hosts)
        settings = {
            "min_count": self.min_count,
            "max_size": self.max_size,
            "whether </s> ends a sentence": self.line_end_word,
            "the vocabulary": None if self.given is None else self.given.digest,
            "known words": None if self.known is None else self.known.digest,
            "the checksum of the phrases": None if self.phrased is None else self.phrased.phrases.digest,
        }
        if self.documents and self.phrased is not None:
            advice = "give the file that its `write` writes"
            raise Any2VecError(f"the documents are a text of Phrases, whose lines are not kept; {advice}")
        return settings | self.raw.settings | ({"documents": True} if self.documents else {})

    def build(self, where: Path) -> Corpus:
        """Read the corpus; its files are made in the folder `where`."""
        began, communicator = time.perf_counter(), self.communicator
        splits = split_inputs(self.files, self.hosts, self.held)
        with shared_errors(communicator), memory_errors("the corpus"):
            part, places, invalid, found = self._counted(where, splits)
            end = _place_of(LINE_END, part) if self.line_end_word else None
            ends = 0 if end is None else int(part.counts[end])
            if end is not None:
                part.counts[end] = 0  # no word: `min_count` leaves it out
            line_ends = getattr(found, "lines", 0) + ends
        found_by_all = communicator.allgather(np.array([found.words - ends, invalid, line_ends])).sum(0)
        raw_words, invalid, line_ends = found_by_all.tolist()
        if raw_words == 0:
            raise no_words(self.files)
        if self.given is None:
            vocabulary, ids = build_vocabulary_distributed(
                part, self.min_count, self.max_size, communicator, self.known
            )
        else:
            with shared_errors(communicator):
                vocabulary, ids = self.given, look_up(self.given, part)
        if end is not None:
            ids[end] = SENTENCE_END
        final = [ids[place] for place in places]
        del part, places, ids
        scanned = time.perf_counter()
        with shared_errors(communicator), memory_errors("the corpus"), disk_errors(where):
            given = found.pieces, found.files, final, where
            own, ended = encode_pieces(*given, threads=self.threads, hosts=self.hosts, documents=self.documents)
            for path in found.files:
                if path.parent == where:  # else it is kept
                    path.unlink()
        counts = communicator.allgather(np.append(own, ended))
        *words, sentences = counts.sum(0).tolist()
        if self.given is not None and sum(words) == 0:
            raise _no_words_known(self.files, raw_words, vocabulary)
        self._check_sentences(sentences, counts[:, -1].tolist())
        cuts = np.cumsum([0, *words], dtype=np.int64)
        with shared_errors(communicator), disk_errors(where):
            worklist = open_worklist(where, int(cuts[self.held.start]))
            numbers = open_lines(where) if self.documents else None
        if splits is None and communicator.size == 1:
            cuts = split_evenly(worklist.bounds, self.hosts)
        documents = None
        if numbers is not None:
            assert isinstance(found, Scan)
            lines = communicator.allgather(np.array([found.documents], np.int64))[:, 0]
            here = slice(communicator.rank)
            before = int(counts[here, -1].sum()), int(lines[here].sum()), int(lines.sum())
            documents = Documents(numbers, *before, found.tags)
        seconds = {"scan": scanned - began, "encode": time.perf_counter() - scanned}
        facts = (raw_words, sentences, invalid, cuts, self.held, False, seconds)
        return Corpus(vocabulary, worklist, *facts, folder=where, line_ends=line_ends, documents=documents)

    def _counted(
        self, where: Path, splits: InputSplits | None
    ) -> tuple[WordCounts, list[NDArray[np.int32]], int, "Scan | IdText"]:
        """Return what `merge_valid` does, and where the ids are: of the text, or of that with its phrases joined."""
        phrased = self.phrased
        if phrased is None:
            scan = self._scan(where, splits)
            part, places, invalid = merge_valid(scan.parts)
            scan.parts.clear()
            return part, places, invalid, scan
        text = phrased.kept_for(self.files, self.hosts)
        if text is None:
            text = IdText.of(self._scan(where, splits))
            with disk_errors(where):
                join_phrases(text, phrased.phrases)
        elif self.communicator.size > 1:
            text = replace(text, pieces=[piece._replace(host=self.communicator.rank) for piece in text.pieces])
        return text.part(), text.final, text.invalid, text

    def _scan(self, where: Path, splits: InputSplits | None) -> Scan:
        how: dict[str, Any] = {"raw": self.raw, "documents": self.documents}
        if self.files is None:
            return scan_sentences(self.source, where, column=self.column, host=self.communicator.rank, **how)
        return scan_files(self.files, where, splits, self.progress, threads=self.threads, size=self.block, **how)

    def _check_sentences(self, sentences: int, by_process: list[int]) -> None:
        if sentences < self.hosts:
            had = f"{counted(sentences, 'sentence')} with words of the vocabulary"
            fact = "a line is a sentence, which is never cut" if self.files else "a sentence is never cut"
            advice = f"use fewer hosts, or shorter {'lines' if self.files else 'sentences'}"
            raise Any2VecError(f"{self.hosts} hosts, but the corpus has {had}; {fact}: {advice}")
        if self.files is None and 0 in by_process:
            host = by_process.index(0)
            reason = f"host {host} gave no sentence with words of the vocabulary"
            raise Any2VecError(f"{reason}; each host gives its own part of the sentences")


def _place_of(word: str, part: WordCounts) -> int | None:
    """Return the place of a word, None if it is not there."""
    one = WordCounts.of([word.encode()], np.zeros(1, np.int64))
    _, (_, (place,)) = merge([part, one])
    return int(place) if place < len(part) else None


def _no_words_known(files: list[InputFile] | None, words: int, vocabulary: Vocabulary) -> Any2VecError:
    text = "the corpus" if files is None else name_of(files)
    some = ", ".join(map(shown, vocabulary.words[:3]))
    return Any2VecError(
        f"{text}: none of its {words:,} words is in the vocabulary, which begins with {some}; "
        "give a vocabulary built from similar text"
    )
