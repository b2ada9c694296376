"""A map: words, their places and neighbours, saved as a page or a picture."""

import io
import json
import os
import re
import warnings
from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, is_installed, library, missing_extra, shown
from any2vec.io.outputs import Kind, check_writable, replacing_file, start_of
from any2vec.io.shown import PAGE_ENDINGS, is_page
from any2vec.options import as_path, plain_number
from any2vec.plot.projection import NAMES, NONE, Groups, colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text


_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def _printable(word: str) -> str:
    """Replace signs that neither XML nor UTF-8 has: control characters and lone surrogates."""
    return _NOT_XML.sub("\ufffd", word)


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
        text.set_text(_printable(title)[:40])
    return [chosen[number] if number >= 0 else "#555555" for number in groups.numbers]


def _texts(axes: Any, words: "WordMap", colour: list[str], renderer: Any) -> None:
    if len(words) <= _ADJUSTED:
        adjust = library("adjustText", "plot").adjust_text
        adjust([_text(axes, words, i, colour[i]) for i in range(len(words))], ax=axes, time_lim=2)
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
    return axes.text(x, y, _printable(words.words[i])[:30], **how)


_MARK = "any2vec map"
"""What the pages and pictures say of themselves."""

_ENDINGS = dict.fromkeys(PAGE_ENDINGS, "bokeh") | {".png": "matplotlib", ".svg": "matplotlib"}
"""Endings of outputs, and the library that each needs."""

_GENERATOR = f'<meta name="generator" content="{_MARK}">'.encode()


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
        """Draw a figure of matplotlib, with as many words as do not overlap, most frequent first.

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
        check_size(width, height)
        figure: Figure = library("matplotlib.figure", "plot").Figure((width, height), layout="constrained")
        canvas = library("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg(figure)  # measures texts
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
        colour = _points(axes, self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on signs that the font lacks
            figure.draw_without_rendering()  # the layout must be known
            _texts(axes, self, colour, canvas.get_renderer())
        return figure

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
            content = _page(self, title or f"{len(self):,} words").encode()
        else:
            content = rendered(self.figure(), target.suffix.lower()[1:], _MARK)
        with replacing_file(target) as file:
            file.write(content)


def check_output(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return the path of a map; raise now if it could not be written later."""
    target = as_path(path)
    library = _ENDINGS.get(target.suffix.lower())
    if library is None:
        raise Any2VecError(f"{target}: is no name of a map; it must end with {', '.join(_ENDINGS)}")
    check_writable(target, _MAP, force=force)
    if not is_installed(library):
        raise missing_extra(library, "plot")
    return target


_MAP = Kind("a map", lambda path: _GENERATOR in start_of(path, _HEAD)[0] or is_rendered(path, _MARK))


_COSINE = 1_000  # a cosine is kept as this many parts, as it is shown
_POINTS = ((300, 9, 0.9), (3_000, 7, 0.8), (30_000, 5, 0.65))
_MANY = 3, 0.45
"""Up to a number of words, pixels of a point, and how much of what lies under it it covers."""


def _page(words: "WordMap", title: str) -> str:
    """Return the page."""
    names = ("bokeh.core.templates", "bokeh.embed", "bokeh.resources")
    templates, embed, resources = (library(name, "plot") for name in names)
    numbers, group_names, chosen = _groups(words)
    document = _document(words, numbers, chosen)
    template = templates.get_env().from_string(_file("page.html"))
    data = _data(words, numbers, group_names, chosen)
    variables = {"style": _file("page.css"), "script": _file("page.js"), "data": data, "method": NAMES[words.method]}
    html: str = embed.file_html(
        document, resources.INLINE, _printable(title), template=template, template_variables=variables
    )
    return html


def _groups(words: "WordMap") -> tuple[NDArray[np.int32], list[str], list[str]]:
    """Return the group of each word from 0, and the groups' names and colours; those of no group are the first."""
    if words.groups is None:
        return np.zeros(len(words), np.int32), [""], colours(1)
    numbers, names, chosen = words.groups.numbers, words.groups.names, colours(len(words.groups.names))
    if not (numbers < 0).any():
        return numbers, names, chosen
    return numbers + 1, ["none", *names], [NONE, *chosen]


def _document(words: "WordMap", numbers: NDArray[np.int32], chosen: list[str]) -> Any:
    """Make Bokeh's plot: a scatter of each group, the words that were chosen, and texts, which page.js fills."""
    from bokeh.core.properties import value
    from bokeh.document import Document
    from bokeh.events import DocumentReady, MouseLeave, MouseMove, Tap
    from bokeh.models import ColumnDataSource, CustomJS, Range1d
    from bokeh.plotting import figure

    size, alpha = next(((size, alpha) for most, size, alpha in _POINTS if len(words) <= most), _MANY)
    plot = figure(
        output_backend="webgl",
        sizing_mode="stretch_both",
        toolbar_location=None,
        tools="pan,wheel_zoom",
        active_scroll="wheel_zoom",
        x_range=Range1d(-1, 1),
        y_range=Range1d(-1, 1),
        lod_threshold=None,
        min_border=0,
        outline_line_color=None,
    )
    plot.axis.visible = plot.grid.visible = False
    layers = []
    for number, colour in enumerate(chosen):
        x, y = words.coordinates[numbers == number].T
        source = ColumnDataSource({"x": x.copy(), "y": y.copy()})
        how = {"size": size, "color": colour, "alpha": alpha, "line_color": None}
        layers.append(plot.scatter("x", "y", source=source, visible=False, **how))  # until page.js knows the view
    picked = ColumnDataSource({"x": [], "y": [], "size": [], "width": []})
    plot.scatter("x", "y", source=picked, size="size", line_width="width", fill_alpha=0, line_color="#111111")
    tags = ColumnDataSource({"x": [], "y": [], "text": [], "colour": []})
    plot.text(
        "x",
        "y",
        "text",
        source=tags,
        text_color="colour",
        text_font_size="12px",
        text_font=value("sans-serif"),
        text_align="center",
        text_baseline="bottom",
        background_fill_color="#ffffff",
        background_fill_alpha=0.78,
        border_radius=3,
        padding=1,
        y_offset=-size // 2 - 2,
    )
    models = {"plot": plot, "layers": layers, "chosen": picked, "tags": tags}
    document = Document()
    document.add_root(plot)
    document.js_on_event(DocumentReady, CustomJS(args=models, code="wordMap.start({plot, layers, chosen, tags})"))
    for event, name in ((MouseMove, "hover"), (MouseLeave, "leave"), (Tap, "tap")):
        plot.js_on_event(event, CustomJS(code=f"wordMap.{name}(cb_obj)"))
    return document


def _data(words: "WordMap", numbers: NDArray[np.int32], names: list[str], chosen: list[str]) -> str:
    """Return what page.js reads, as JSON that a <script> can hold; numbers are little-endian, in base64."""
    data = {
        "words": [_printable(word) for word in words.words],
        "groups": _packed(numbers, "<u2"),
        "names": [_printable(name) for name in names],
        "colours": chosen,
        "k": words.neighbours.shape[1],
        "neighbours": _packed(words.neighbours, "<i4"),
        "cosines": _packed(np.rint(words.cosines * _COSINE), "<i2"),
        "parts": _COSINE,
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _packed(numbers: NDArray[Any], kind: str) -> str:
    return b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()


def _file(name: str) -> str:
    return (files("any2vec") / "plot" / name).read_text("utf-8")
