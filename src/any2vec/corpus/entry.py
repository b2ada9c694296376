"""Where a corpus's files go: an entry of the cache, or a folder that is removed with the corpus."""

import shutil
import tempfile
import threading
import weakref
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from any2vec.corpus import cache as caching
from any2vec.corpus.build import Job
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.team import Team
from any2vec.errors import Any2VecError
from any2vec.io.outputs import replacing

__all__ = ["build_cached", "build_temporary"]

_building = threading.Lock()  # two threads must not write one entry of the cache


def build_cached(job: Job, folder: Path, key: str) -> Corpus:
    """Take a corpus from the cache, or build it there; the hosts of a cluster all do the one or the other.

    Parameters
    ----------
    job : Job
        What to build.
    folder : Path
        The cache.
    key : str
        The name of the entry.

    Returns
    -------
    Corpus
        It stays in the cache.

    Raises
    ------
    Any2VecError
        If it cannot be built or written.
    """
    alone = job.team.communicator is None
    with _building if alone else nullcontext():  # hosts that are threads wait for each other, so not here
        entry = folder / key
        loaded = caching.load(entry)
        if _all_have(job.team, loaded):
            assert loaded is not None
            return loaded
        with ExitStack() as stack:
            with job.team.together():
                caching.make_folder(folder)
                caching.sweep(folder)
                beside = stack.enter_context(replacing(entry, folder=True))
            corpus = job.build(beside, keep=True)
            with job.team.together():
                try:
                    stack.close()
                except Any2VecError:
                    loaded = caching.load(entry)
                    if loaded is None:
                        raise
                    return loaded  # another process put it there a moment ago
        return replace(corpus, folder=entry)


def _all_have(team: Team, loaded: Corpus | None) -> bool:
    """Whether all hosts found entries, and those of one corpus."""
    if team.communicator is None:
        return loaded is not None
    return team.all_equal(-1 - team.communicator.rank if loaded is None else caching.digest(loaded))


def build_temporary(job: Job, folder: Path | None) -> Corpus:
    """Build a corpus that is not kept.

    Parameters
    ----------
    job : Job
        What to build.
    folder : Path or None
        Where; None: in the system's folder of temporary files.

    Returns
    -------
    Corpus
        Its files go when it goes.

    Raises
    ------
    Any2VecError
        If it cannot be built or written.
    """
    with job.team.together():
        if folder is not None:
            caching.make_folder(folder)
            caching.sweep(folder)
        try:
            where = Path(tempfile.mkdtemp(prefix=".any2vec-", suffix=".part", dir=folder))
        except OSError as error:
            where = folder or Path(tempfile.gettempdir())
            raise Any2VecError(f"{where}: cannot be written: {error.strerror}") from error
    try:
        corpus = job.build(where, keep=False)
    except BaseException:
        shutil.rmtree(where, ignore_errors=True)
        raise
    weakref.finalize(corpus, shutil.rmtree, where, ignore_errors=True)
    return corpus
