"""`any2vec doctor`: what any2vec finds on this machine, and what is wrong with it."""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from any2vec import __version__
from any2vec.cli.help import print_facts
from any2vec.cli.options import completing, setting
from any2vec.cluster.machine import check_launcher, core_ids, core_quotas, usable_cores
from any2vec.corpus.cache import default_cache, entries, limit, place_of, size_of, trim
from any2vec.errors import Any2VecError, installing, is_installed, shown
from any2vec.io.memory import size
from any2vec.io.shown import Console
from any2vec.private import distrust

_EXTRAS = {
    "mpi": "mpi4py",
    "torch": "torch",
    "spark": "pyspark",
    "graphs": "sklearn",
    "classes": "sklearn",
    "evaluate": "scipy",
    "gensim": "gensim",
    "pandas": "pandas",
    "plot": "umap",
    "arrow": "pyarrow",
    "spacy": "spacy",
    "hub": "huggingface_hub",
    "index": "faiss",
    "zstd": "zstandard",
}
"""Extras, and a library that each installs."""
_LAUNCHERS = ("mpiexec", "torchrun", "srun")
_LEAST = 10**9  # bytes of disk: a corpus of 100 million words takes as much


class _Finding(NamedTuple):
    """Something found, and what is wrong with it and what to do, if anything is."""

    name: str
    text: str
    wrong: str = ""


def doctor() -> None:
    """Check this machine: versions, cores, launchers, caches, disk.

    The exit status is 1 if something is wrong; what to do about it is said.
    """
    findings = list(_findings())
    print_facts((finding.name, finding.text) for finding in findings)
    wrong = [Text(f"wrong: {one.name}: {one.wrong}", style="red") for one in findings if one.wrong]
    for line in wrong:
        Console().print(line, soft_wrap=True)
    if wrong:
        raise typer.Exit(1)
    Console().print("nothing is wrong")


def _findings() -> Iterator[_Finding]:
    yield _Finding("any2vec", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield _libraries()
    yield from _extras()
    quotas = core_quotas().values()
    quota = f", a quota of {float(min(quotas)):g}" if quotas else ""
    text = f"{usable_cores()} used: {os.cpu_count()} of the machine, {len(core_ids())} by affinity{quota}"
    yield _Finding("cores", text)
    found = {name: shutil.which(name) for name in _LAUNCHERS}
    yield _Finding(
        "launchers", ", ".join(f"{name}: {path or 'not found'}" for name, path in found.items()), _launched()
    )
    yield _kernels()
    yield _corpora()
    yield _disk(Path(tempfile.gettempdir()))


def _libraries() -> _Finding:
    text = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "numba", "llvmlite"))
    try:
        from any2vec.operators.tiles import register_width

        text += f"; vectors of {32 * register_width()} bits"
    except (ImportError, OSError) as error:
        return _Finding("libraries", text, f"numba cannot be used: {error}; install it again")
    disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return _Finding("libraries", text, "NUMBA_DISABLE_JIT is set: nothing is compiled; unset it" if disabled else "")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _extras() -> Iterator[_Finding]:
    there = {extra: is_installed(module) for extra, module in _EXTRAS.items()}
    yield _Finding("extras", ", ".join(extra for extra, found in there.items() if found) or "none")
    missing = [extra for extra, found in there.items() if not found]
    if missing:
        example = installing(missing[0], _EXTRAS[missing[0]])
        yield _Finding("not there", f"{', '.join(missing)}; {missing[0]} is installed by {example}")


def _launched() -> str:
    try:
        check_launcher()
    except Any2VecError as error:
        return str(error)
    return ""


def _kernels() -> _Finding:
    import any2vec.operators
    from any2vec.llvm.compiled import kernel_folder

    folder, remark = kernel_folder(Path(any2vec.operators.__file__).parent)
    if folder is None:
        return _Finding("kernels", "not kept", remark)
    kept = sum(file.stat().st_size for file in folder.parent.rglob("*.nb[ci]"))
    return _Finding("kernels", f"{size(kept)} compiled, in {folder}", remark)


def _corpora() -> _Finding:
    try:
        place = place_of("auto")
        if place.folder is None:
            return _Finding("corpora", "not kept", place.why)
        folder = place.folder
        found = entries(folder)
        text = f"{len(found):,} kept, {size(sum(entry.size for entry in found))} of {size(limit(folder))}, in {folder}"
    except Any2VecError as error:
        return _Finding("corpora", "not kept", str(error))
    return _Finding("corpora", text, _disk(folder).wrong)


def _disk(folder: Path) -> _Finding:
    try:
        free = shutil.disk_usage(folder).free
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return _Finding("disk", str(folder), f"{folder} cannot be written: {error.strerror or error}; set TMPDIR")
    text = f"{size(free)} free in {folder}"
    return _Finding("disk", text, f"{text}: make space, or name another folder in TMPDIR" if free < _LEAST else "")


_ACTIONS = ("list", "clear")


def cache(
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="list|clear",
            help="clear removes all corpora but those in use.",
            autocompletion=completing(_ACTIONS),
        ),
    ] = None,
    most: Annotated[
        str | None, setting("SIZE", "Remove those not used for longest, until at most SIZE is left: 20GB.", "--limit")
    ] = None,
) -> None:
    """List, limit or clear what is kept of corpora for the next run.

    They lie in the folder ANY2VEC_CACHE, or in the user's folder of caches.

    When one is added, those not used for longest are removed, so that all together
    take at most a fifth of the disk, or ANY2VEC_CACHE_LIMIT, such as 20GB.
    """
    if action is not None and action not in _ACTIONS:
        raise Any2VecError(f"{shown(action)}: known are {', '.join(_ACTIONS)}")
    clear = action == "clear"
    if clear and most is not None:
        raise Any2VecError("clear and --limit are given; give one")
    try:
        folder = default_cache()
    except RuntimeError:
        raise Any2VecError("there is no home folder; set ANY2VEC_CACHE to a folder") from None
    if folder.exists() and (reason := distrust(folder)):
        raise Any2VecError(f"{folder}: is not used, as {reason}; set ANY2VEC_CACHE to a folder of your own")
    console = Console()
    if clear or most is not None:
        removed = trim(folder, -1 if clear else size_of(most or "", "--limit"))
        freed = sum(entry.size for entry in removed)
        console.print(f"{len(removed):,} removed, {size(freed)}", highlight=False)
    found = entries(folder)
    if found and not clear:
        table = Table(box=None, pad_edge=False)
        for name in ("last used", "size", "text"):
            table.add_column(name, justify="right" if name == "size" else "left", overflow="fold")
        for entry in reversed(found):
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
            table.add_row(used, size(entry.size), Text(_texts(entry.texts)))
        console.print(table)
    total = sum(entry.size for entry in found)
    kept = "in use" if clear else "corpus" if len(found) == 1 else "corpora"
    at_most = f", at most {size(limit(folder))}" if folder.exists() else ""
    console.print(f"{len(found):,} {kept}, {size(total)}{at_most}, in {folder}", soft_wrap=True, markup=False)


def _texts(names: list[str]) -> str:
    if not names:
        return "(of another version)"
    more = f" and {len(names) - 1:,} more files" if len(names) > 1 else ""
    return names[0].encode("utf-8", "replace").decode() + more
