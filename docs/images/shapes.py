"""Shapes of the pictures of "How it works": a page in inches, boxes, arrows and cells in common colours.

Pages are 6 inches wide with letters of 12 points or more, so that they can be read on a telephone. Their ground is
white, in a dark theme, too.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

__all__ = [
    "FOLDER",
    "GREY",
    "HOSTS",
    "INK",
    "LIGHT",
    "SMALL",
    "STYLE",
    "E",
    "T",
    "arrow",
    "box",
    "cell",
    "page",
    "save",
    "write",
]

FOLDER = Path(__file__).parent
INK, GREY, LIGHT = "#222222", "#8a8a8a", "#e6e6e6"
HOSTS = ("#00798c", "#d1495b", "#8a6d00", "#5b3a8c")  # of hosts, and of threads
E, T = "#30638e", "#c05a00"  # the two matrices
SMALL = 12
STYLE = {
    "svg.hashsalt": "any2vec",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 13,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.w_pad": 0.14,
    "figure.constrained_layout.h_pad": 0.1,
}


def page(height: float, width: float = 6.0) -> tuple[plt.Figure, plt.Axes]:
    """Make a figure whose coordinates are inches."""
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return figure, axes


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture without a date, so that it changes only with what it shows."""
    figure.savefig(FOLDER / f"how-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def write(axes: plt.Axes, x: float, y: float, text: str, **how: object) -> None:
    """Write text, centred unless said otherwise."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", "color": INK, "zorder": 5, **how})


def box(axes: plt.Axes, x: float, y: float, width: float, height: float, text: str = "", **how: object) -> None:
    """Draw a box with round corners from its lower left corner, and its text in the middle."""
    letters = {name: how.pop(name) for name in ("fontsize", "color", "weight") if name in how}
    look = {"facecolor": "white", "edgecolor": GREY, "linewidth": 1.2, **how}
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.06", **look))
    if text:
        write(axes, x + width / 2, y + height / 2, text, **letters)


def cell(axes: plt.Axes, x: float, y: float, width: float, height: float, colour: str, text: str = "") -> None:
    """Draw a cell of a row, and its text in white, or black on a light one."""
    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor="white", linewidth=1.5, zorder=2))
    if text:
        write(axes, x + width / 2, y + height / 2, text, color=INK if colour in (LIGHT, "white") else "white")


def arrow(axes: plt.Axes, start: tuple[float, float], end: tuple[float, float], **how: object) -> None:
    """Draw an arrow."""
    look = {
        "color": GREY,
        "linewidth": 1.6,
        "mutation_scale": 13,
        "arrowstyle": "-|>",
        "shrinkA": 0,
        "shrinkB": 0,
        **how,
    }
    axes.add_patch(FancyArrowPatch(start, end, **{"zorder": 3, **look}))
