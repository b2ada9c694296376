"""Read a corpus: from text, or lists of tokens, to a vocabulary and a worklist."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import cache as caching
from any2vec.corpus.blocks import BLOCK
from any2vec.corpus.build import Job, Progress
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.entry import build_cached, build_temporary
from any2vec.corpus.fingerprint import about, check_same
from any2vec.corpus.team import Team
from any2vec.errors import Any2VecError
from any2vec.io.inputs import Source, files_of, names_files

__all__ = ["read_corpus"]


def read_corpus(
    source: Source,
    *,
    min_count: int = 5,
    max_size: int | None = None,
    threads: int = 1,
    cache: str | Path | None = "auto",
    progress: Progress | None = None,
    hosts: int = 1,
    communicator: Communicator | None = None,
    _block: int = BLOCK,
) -> Corpus:
    """Turn text into a vocabulary and a worklist, in one pass over the text.

    Words are separated by ASCII blanks; sentences, of any length, by line ends and by the ends of files.
    Neither the text nor a sentence has to fit into memory; the distinct words have to.

    For H hosts the text is cut where the first lines at or after equal shares of its bytes begin (`edges`);
    without files of known sizes, where the first sentences at or after equal shares of its words do. V and the
    cuts are the same whether one process reads all parts (`hosts`) or each host its own (`communicator`).

    Parameters
    ----------
    source : str, Path, sequence of them, or iterable of sequences of str
        Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences as lists of
        tokens, drawn once.
    min_count : int
        Words that occur less often are dropped.
    max_size : int, optional
        At most so many words are kept, the most frequent ones.
    threads : int
        They change the time, not the outcome. (For lists of tokens there is always one.)
    cache : str, Path or None
        Folder where corpora are kept to be reused; "auto": see `cache.default_cache`; None: nothing is kept.
        Standard input, pipes and lists of tokens are never reused.
    progress : function, optional
        Called now and then, in the caller's thread, with the bytes of the files that are done and all their
        bytes (of this host's part), None if that is not known. Not called for lists of tokens.
    hosts : int
        H, for how many hosts that live in this process the text is cut.
    communicator : Communicator, optional
        Of a cluster, all of whose hosts call this with the same files and options. This host then reads its
        own part alone (a compressed file up to the end of it), and V is merged.
    _block : int
        For tests: the bytes of text that a thread takes at a time.

    Returns
    -------
    Corpus
        The vocabulary and the worklist.

    Raises
    ------
    Any2VecError
        If the text cannot be read, is not text, leaves fewer than two words, has fewer sentences than there are
        hosts, or if there is no room to write. On a cluster it is raised on all hosts.
    """
    team = Team(communicator)
    facts = None
    with team.together():
        _check_options(min_count, max_size, threads, hosts)
        files = files_of(cast("str | Path | Sequence[str | Path]", source)) if names_files(source) else None
        if team.communicator is not None:
            if hosts not in (1, team.communicator.size):
                raise Any2VecError(f"`hosts` is {hosts}, but the communicator has {team.communicator.size} hosts")
            if files is None:
                raise Any2VecError("a cluster reads files, not lists of tokens; write them to one, a sentence a line")
            options = {"min_count": min_count, "max_size": max_size, "cache": cache is not None, "block": _block}
            facts = about(files, options)
    held = range(hosts)
    if team.communicator is not None and facts is not None:
        check_same(team.communicator, facts)
        hosts = team.communicator.size
        held = range(team.communicator.rank, team.communicator.rank + 1)
    sentences = cast("Iterable[Sequence[str]]", source)
    job = Job(files, sentences, min_count, max_size, threads, progress, _block, hosts, held, team)
    folder = caching.default_cache() if cache == "auto" else cache if cache is None else Path(cache)
    key = None if files is None else caching.key_of(files, min_count, max_size, hosts, held)
    if folder is None or key is None:
        return build_temporary(job, folder)
    return build_cached(job, folder, key)


def _check_options(min_count: int, max_size: int | None, threads: int, hosts: int) -> None:
    options = (("min_count", min_count, 1), ("max_size", max_size, 2), ("threads", threads, 1), ("hosts", hosts, 1))
    for name, value, least in options:
        if value is None and name == "max_size":
            continue
        if value is None or isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise Any2VecError(f"`{name}` is {value!r}; it must be a whole number, at least {least}")
