"""A map: words, their places and neighbours, saved as a page or a picture."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, is_installed, missing_extra, shown
from any2vec.io.outputs import check_writable, replacing_file
from any2vec.io.replaceable import Kind, start_of
from any2vec.io.shown import PAGE_ENDINGS, is_page
from any2vec.options import can_be_path
from any2vec.plot.figure import draw, is_rendered, rendered
from any2vec.plot.groups import Groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ENDINGS", "WordMap", "check_output"]

MARK = "any2vec map"
"""What the pages and pictures say of themselves."""

ENDINGS = dict.fromkeys(PAGE_ENDINGS, "bokeh") | {".png": "matplotlib", ".svg": "matplotlib"}
"""Endings of outputs, and the library that each needs."""

_GENERATOR = f'<meta name="generator" content="{MARK}">'.encode()
_HEAD = 4096  # bytes that have it


@dataclass(frozen=True, eq=False)
class WordMap:
    """Words at places in two dimensions.

    Attributes
    ----------
    words : list of str, length n
        The words shown, in the order of their ids or as given.
    coordinates : float32 array, shape (n, 2)
        The place of each word.
    method : str
        "umap", "pca" or "tsne".
    neighbours : int32 array, shape (n, k)
        The nearest words of each word among those shown, as places in `words`: by cosine of the vectors, best first.
    cosines : float32 array, shape (n, k)
        Their cosines.
    groups : Groups, optional
        The group of each word (`numbers`, -1 for none) and the groups' names (`names`), if there are any.
    """

    words: list[str]
    coordinates: NDArray[np.float32]
    method: str
    neighbours: NDArray[np.int32]
    cosines: NDArray[np.float32]
    groups: Groups | None = None

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<WordMap: {len(self):,} words by {self.method}>"

    def figure(self, width: float = 8.0, height: float = 6.0) -> "Figure":
        """Draw a figure of matplotlib, with as many words as do not overlap.

        Parameters
        ----------
        width, height : float
            Its size in inches.

        Returns
        -------
        matplotlib.figure.Figure
            With one axes. `figure.savefig(path)` saves it.

        Raises
        ------
        Any2VecError
            If a side is not 0.5 to 100 inches, or matplotlib is not installed.
        """
        return draw(self, width, height)

    def save(self, path: str | os.PathLike[str], *, force: bool = False, title: str = "") -> None:
        """Write a page or a picture.

        Parameters
        ----------
        path : str or Path
            ``.html``: a page in one file that needs no network; ``.png``, ``.svg``: a picture.
        force : bool
            Replace a file that is no map, too.
        title : str
            Of the page.

        Raises
        ------
        Any2VecError
            If the ending is another one, the file holds something else, or a library is not installed.
        """
        target = check_output(path, force=force)
        if is_page(target):
            from any2vec.plot.page import page

            content = page(self, title or f"{len(self):,} words").encode()
        else:
            content = rendered(draw(self), target.suffix.lower()[1:], MARK)
        with replacing_file(target) as file:
            file.write(content)


def check_output(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return the path of a map; raise now if it could not be written later."""
    if not isinstance(path, str | os.PathLike) or not can_be_path(os.fspath(path)):
        raise Any2VecError(f"path: the name of a file is expected, not {shown(path)}")
    target = Path(path)
    library = ENDINGS.get(target.suffix.lower())
    if library is None:
        raise Any2VecError(f"{target}: is no name of a map; it must end with {', '.join(ENDINGS)}")
    check_writable(target, _MAP, force=force)
    if not is_installed(library):
        raise missing_extra(library, "plot")
    return target


_MAP = Kind("a map", lambda path: _GENERATOR in start_of(path, _HEAD)[0] or is_rendered(path, MARK))
