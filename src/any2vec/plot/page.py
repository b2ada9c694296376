"""A map as a page: one file of HTML, with BokehJS in it, that asks the network for nothing."""

import json
from base64 import b64encode
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import missing_extra
from any2vec.plot.colours import NONE, colours
from any2vec.plot.printable import printable
from any2vec.plot.projection import NAMES

if TYPE_CHECKING:
    from any2vec.plot.word_map import WordMap

__all__ = ["page"]

_COSINE = 1_000  # a cosine is kept as this many parts, as it is shown
_POINTS = ((300, 9, 0.9), (3_000, 7, 0.8), (30_000, 5, 0.65))
_MANY = 3, 0.45
"""Up to a number of words, pixels of a point, and how much of what lies under it it covers."""


def page(words: "WordMap", title: str) -> str:
    """Return the page."""
    try:
        from bokeh.core.templates import get_env
        from bokeh.embed import file_html
        from bokeh.resources import INLINE
    except ImportError:
        raise missing_extra("bokeh", "plot") from None
    order, document = _document(words)
    template = get_env().from_string(_file("page.html"))
    variables = {"style": _file("page.css"), "script": _file("page.js"), "data": _data(words, order)}
    variables["method"] = NAMES[words.method]
    return file_html(document, INLINE, printable(title), template=template, template_variables=variables)


def _groups(words: "WordMap") -> tuple[NDArray[np.int32], list[str], list[str]]:
    """Return the group of each word from 0, and the groups' names and colours; those of no group are the first."""
    if words.groups is None:
        return np.zeros(len(words), np.int32), [""], colours(1)
    numbers, names, chosen = words.groups.numbers, words.groups.names, colours(len(words.groups.names))
    if not (numbers < 0).any():
        return numbers, names, chosen
    return numbers + 1, ["none", *names], [NONE, *chosen]


def _document(words: "WordMap") -> tuple[tuple[NDArray[np.int32], list[str], list[str]], Any]:
    """Make Bokeh's plot: a scatter of each group, the words that were chosen, and texts, which page.js fills."""
    from bokeh.core.properties import value
    from bokeh.document import Document
    from bokeh.events import DocumentReady, MouseLeave, MouseMove, Tap
    from bokeh.models import ColumnDataSource, CustomJS, Range1d
    from bokeh.plotting import figure

    grouped = _groups(words)
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
    for number, colour in enumerate(grouped[2]):
        x, y = words.coordinates[grouped[0] == number].T
        source = ColumnDataSource({"x": x.copy(), "y": y.copy()})
        how = {"size": size, "color": colour, "alpha": alpha, "line_color": None}
        layers.append(plot.scatter("x", "y", source=source, visible=False, **how))  # until page.js knows the view
    chosen = ColumnDataSource({"x": [], "y": [], "size": [], "width": []})
    plot.scatter("x", "y", source=chosen, size="size", line_width="width", fill_alpha=0, line_color="#111111")
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
    models = {"plot": plot, "layers": layers, "chosen": chosen, "tags": tags}
    document = Document()
    document.add_root(plot)
    document.js_on_event(DocumentReady, CustomJS(args=models, code="wordMap.start({plot, layers, chosen, tags})"))
    for event, name in ((MouseMove, "hover"), (MouseLeave, "leave"), (Tap, "tap")):
        plot.js_on_event(event, CustomJS(code=f"wordMap.{name}(cb_obj)"))
    return grouped, document


def _data(words: "WordMap", grouped: tuple[NDArray[np.int32], list[str], list[str]]) -> str:
    """Return what page.js reads, as JSON that a <script> can hold; numbers are little-endian, in base64."""
    numbers, names, chosen = grouped
    data = {
        "words": [printable(word) for word in words.words],
        "groups": _packed(numbers, "<u2"),
        "names": [printable(name) for name in names],
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
