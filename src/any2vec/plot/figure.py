"""A map as a figure of matplotlib."""

import io
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from any2vec.errors import Any2VecError, missing_extra, shown
from any2vec.io.replaceable import start_of
from any2vec.options import plain_number
from any2vec.plot.colours import NONE, colours
from any2vec.plot.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from any2vec.plot.word_map import WordMap

__all__ = ["check_size", "draw", "is_rendered", "rendered"]

_ADJUSTED = 60  # words that adjustText may move: 2 s; the time grows with their square
_TRIED = 2_000  # of the most frequent words, those that get a text if there is space
_TEXTS = 150
_LEGEND = 20  # groups in the legend
_DPI = 150
_LEAST, _MOST = 0.5, 100.0  # inches of a side
_HEAD = 4096  # bytes that have the mark
_STYLE = {"svg.hashsalt": "any2vec", "svg.fonttype": "none", "font.family": "sans-serif"}


def check_size(width: object, height: object) -> None:
    """Refuse what is no size of a figure in inches."""
    for name, value in (("width", width), ("height", height)):
        number = plain_number(value)
        if number is None or not _LEAST <= number <= _MOST:
            raise Any2VecError(f"`{name}` is {shown(value)}; it must be a number of inches, {_LEAST:g} to {_MOST:g}")


def draw(words: "WordMap", width: float = 8.0, height: float = 6.0) -> "Figure":
    """Draw points in the colours of groups, and words where they do not overlap, most frequent first."""
    check_size(width, height)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    figure = Figure((width, height), layout="constrained")
    canvas = FigureCanvasAgg(figure)  # measures texts
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    colour = _points(axes, words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on signs that the font lacks
        figure.draw_without_rendering()  # the layout must be known
        _texts(axes, words, colour, canvas.get_renderer())
    return figure


def rendered(figure: "Figure", kind: str, mark: str) -> bytes:
    """Return a figure as a PNG or SVG file; the same figure is the same file."""
    import matplotlib as mpl

    metadata = {"Software": mark} if kind == "png" else {"Creator": mark, "Date": None}
    with mpl.rc_context(_STYLE), io.BytesIO() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.savefig(file, format=kind, dpi=_DPI, metadata=metadata)
        return file.getvalue()


def is_rendered(path: Path, mark: str) -> bool:
    """Whether a file is a PNG or SVG file that `rendered` made with a mark: its metadata have it."""
    start, _ = start_of(path, _HEAD)
    if start.startswith(b"\x89PNG"):
        return b"tEXtSoftware\0" + mark.encode() in start
    creator = rb"<dc:creator>\s*<cc:Agent>\s*<dc:title>%b</dc:title>" % re.escape(mark.encode())
    return start.startswith(b"<?xml") and re.search(creator, start) is not None


def _points(axes: Any, words: "WordMap") -> list[str]:
    """Draw the points, and a legend if there are groups; return the colour of each word."""
    x, y = words.coordinates.T
    size = 12 if len(words) <= 300 else 6 if len(words) <= 3_000 else 1.5
    how = {"s": size, "linewidths": 0, "alpha": 0.8, "rasterized": len(words) > 5_000}
    groups = words.groups
    if groups is None:
        axes.scatter(x, y, color=colours(1)[0], **how)
        return ["#333333"] * len(words)
    chosen = colours(len(groups.names))
    for number in range(-1, len(groups.names)):
        of = groups.numbers == number
        axes.scatter(x[of], y[of], color=chosen[number] if number >= 0 else NONE, **how)
    listed = range(min(len(chosen), _LEGEND))
    more = len(chosen) - len(listed)
    handles = [axes.scatter([], [], s=16, color=chosen[number]) for number in listed]
    titles = [groups.names[number] for number in listed]
    if more:
        handles, titles = [*handles, axes.scatter([], [], s=0)], [*titles, f"and {more:,} more"]
    legend = axes.legend(
        handles, ["-"] * len(handles), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=7
    )
    for text, title in zip(legend.get_texts(), titles, strict=True):
        text.set_parse_math(False)
        text.set_text(printable(title)[:40])
    return [chosen[number] if number >= 0 else "#555555" for number in groups.numbers]


def _texts(axes: Any, words: "WordMap", colour: list[str], renderer: Any) -> None:
    if len(words) <= _ADJUSTED:
        try:
            from adjustText import adjust_text
        except ImportError:
            raise missing_extra("adjustText", "plot") from None
        texts = [_text(axes, words, i, colour[i]) for i in range(len(words))]
        adjust_text(texts, ax=axes, time_lim=2)
        return
    taken = np.empty((0, 4))
    for i in range(min(_TRIED, len(words))):
        text = _text(axes, words, i, colour[i])
        box = text.get_window_extent(renderer).padded(1)
        x0, y0, x1, y1 = box.extents
        over = (taken[:, 0] < x1) & (x0 < taken[:, 2]) & (taken[:, 1] < y1) & (y0 < taken[:, 3])
        if over.any():
            text.remove()
            continue
        taken = np.vstack([taken, box.extents])
        if len(taken) == _TEXTS:
            return


def _text(axes: Any, words: "WordMap", i: int, colour: str) -> "Text":
    x, y = words.coordinates[i]
    how = {"fontsize": 7, "color": colour, "parse_math": False, "ha": "center", "va": "bottom"}
    return axes.text(x, y, printable(words.words[i])[:30], **how)
