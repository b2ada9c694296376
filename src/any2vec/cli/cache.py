"""`any2vec cache`: the encoded corpora that are kept for the next run."""

import time
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from any2vec.cli.options import completing
from any2vec.corpus.cache import default_cache, entries, limit, size_of, trim
from any2vec.errors import Any2VecError, shown
from any2vec.io.shown import Console, size
from any2vec.private import distrust

__all__ = ["cache"]


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
        str | None,
        typer.Option(
            "--limit",
            metavar="SIZE",
            help="Remove those not used for longest, until at most SIZE is left: 20GB.",
        ),
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
