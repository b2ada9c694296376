"""Draw the pictures of the pages "How it works": ``pip install . matplotlib && python docs/images/draw_how.py``.

Names of pictures, such as ``sent``, draw only these.
"""

import sys
from collections import Counter

import draw_combiners
import draw_schemes
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from numba import njit
from shapes import GREY, HOSTS, INK, LIGHT, SMALL, STYLE, E, T, arrow, box, cell, page, save, write

from any2vec.samples.draws import NEGATIVES, draw, epoch_key
from any2vec.samples.windows import window_size

SENTENCES = ("the cat sat", "the dog sat", "the cat ran", "a dog ran")


def worklist() -> None:
    """Draw how text, or walks, become the worklist, and how that is cut."""
    figure, axes = page(6.4)
    words = " ".join(SENTENCES).split()
    counts = Counter(words)
    names = sorted(counts, key=lambda word: -counts[word])
    write(axes, 1.35, 6.2, "Text", weight="bold")
    box(axes, 0.35, 4.85, 2.0, 1.2, "\n".join(SENTENCES), fontsize=13)
    write(axes, 4.55, 6.2, "or walks on a graph", weight="bold")
    box(axes, 3.4, 4.85, 2.3, 1.2)
    write(axes, 4.55, 5.0, "a walk: a b d e", fontsize=SMALL, color=HOSTS[1])
    places = [(3.7, 5.8), (4.35, 5.35), (4.55, 5.85), (5.1, 5.35), (5.4, 5.8)]
    for a, b in ((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (2, 3)):
        axes.plot(*zip(places[a], places[b], strict=True), color=LIGHT, linewidth=3, zorder=1)
    for a, b in ((0, 1), (1, 3), (3, 4)):
        arrow(axes, places[a], places[b], color=HOSTS[1], shrinkA=9, shrinkB=9)
    for place, name in zip(places, "abcde", strict=True):
        axes.plot(*place, "o", color=GREY, markersize=17, zorder=3)
        write(axes, *place, name, color="white")
    arrow(axes, (1.35, 4.8), (1.35, 4.5))
    arrow(axes, (4.55, 4.8), (4.55, 4.5))
    write(axes, 1.5, 4.66, "count words", color=GREY, ha="left")
    write(axes, 4.7, 4.66, "vertices", color=GREY, ha="left")
    write(axes, 3, 4.3, "Vocabulary V: the most frequent word is 0", weight="bold")
    for i, name in enumerate(names):
        x = 0.35 + i * 0.9
        cell(axes, x, 3.72, 0.8, 0.36, LIGHT, name)
        write(axes, x + 0.4, 3.5, f"{counts[name]}x  →  {i}", fontsize=SMALL, color=INK)
    arrow(axes, (3, 3.3), (3, 3.0))
    write(axes, 3.15, 3.17, "replace words by numbers", color=GREY, ha="left")
    write(axes, 3, 2.8, "Worklist W", weight="bold")
    for k, word in enumerate(words):
        x = 0.3 + k * 0.45
        cell(axes, x, 2.2, 0.45, 0.4, HOSTS[k // 6], str(names.index(word)))
        if k % 3 == 0 and k:
            axes.plot((x, x), (2.13, 2.67), color=INK, linewidth=1.5, zorder=4)
    write(axes, 3, 1.98, "| a sentence ends", fontsize=SMALL, color=GREY)
    for host in range(2):
        for part in range(3):
            x = 0.3 + host * 2.9 + part * 0.85
            arrow(axes, (0.75 + host * 2.7 + part * 0.9, 1.83), (x + 0.4, 1.42), color=HOSTS[host], linewidth=1.1)
            ids = [str(names.index(word)) for word in words[host * 6 + part * 2 :][:2]]
            box(axes, x, 1.0, 0.75, 0.4, "  ".join(ids), edgecolor=HOSTS[host], color=HOSTS[host], fontsize=13)
            write(axes, x + 0.38, 0.8, f"round {part + 1}", fontsize=SMALL)
        write(axes, 1.55 + host * 2.9, 0.42, f"host {host + 1}", color=HOSTS[host], weight="bold")
    save(figure, "worklist")


def samples() -> None:
    """Draw a window, its edges, and what the operator does to one source and two targets."""
    figure, axes = page(6.9)
    write(axes, 3, 6.7, "1  A window: a centre and its context", weight="bold")
    for i, word in enumerate(("the", "quick", "brown", "fox", "jumps", "over", "the")):
        colour = (T if word == "fox" else E) if 0 < i < 6 else LIGHT
        cell(axes, 0.13 + i * 0.82, 6.1, 0.82, 0.4, colour, word)
    write(axes, 3, 5.6, "2  Samples: edges from e to t", weight="bold")
    targets = (("fox", 4.95, "1"), ("lamp", 4.15, "0"), ("river", 3.35, "0"))
    sources = (("quick", 5.15), ("brown", 4.5), ("jumps", 3.85), ("over", 3.2))
    for source, y in sources:
        cell(axes, 0.6, y - 0.2, 1.0, 0.4, E, source)
        for _, at, label in targets:
            seen = label == "1"
            axes.plot((1.62, 3.58), (y, at), color=INK if seen else GREY, linewidth=2 if seen else 1,
                      linestyle="-" if seen else (0, (4, 3)), zorder=1)  # fmt: skip
    for target, at, label in targets:
        cell(axes, 3.6, at - 0.2, 0.9, 0.4, T if label == "1" else GREY, target)
        write(axes, 4.6, at, "centre: label 1" if label == "1" else "drawn: label 0", fontsize=SMALL, ha="left")
    write(axes, 0.3, 4.2, "rows of e", rotation=90, color=E)
    write(axes, 3, 2.75, "3  The operator moves both ends of an edge", weight="bold")
    e, seen, drawn = np.array([1.5, 0.35]), np.array([0.5, 1.45]), np.array([1.2, -0.75])
    moved = e.copy()
    for target, label in ((seen, 1), (drawn, 0)):
        moved += 0.7 * (label - 1 / (1 + np.exp(-e @ target))) * target
    ends = [target + 0.7 * (label - 1 / (1 + np.exp(-e @ target))) * e for target, label in ((seen, 1), (drawn, 0))]
    zero, scale = np.array([0.55, 1.15]), 0.85
    for before, after, colour, name, where in (
        (e, moved, E, "e of brown", (0.1, 0.06)),
        (seen, ends[0], T, "t of fox", (0.12, 0.0)),
        (drawn, ends[1], GREY, "t of lamp", (0.12, 0.02)),
    ):
        arrow(
            axes, tuple(zero), tuple(zero + scale * before), color=colour, linewidth=1, linestyle=(0, (3, 2)), alpha=0.6
        )
        arrow(axes, tuple(zero), tuple(zero + scale * after), color=colour, linewidth=2.6)
        write(axes, *(zero + scale * after + where), name, color=colour, fontsize=SMALL, ha="left")
    write(axes, 2.8, 0.22, "dashed: before", fontsize=SMALL, color=GREY)
    write(
        axes,
        4.5,
        1.35,
        "score = σ(e · t)\nstep = α (label − score)\n\ne  +=  step · t\nt  +=  step · e",  # noqa: RUF001
        linespacing=1.5,
    )
    save(figure, "samples")


def rounds() -> None:
    """Draw rounds of four hosts, and one synchronization close up."""
    figure, axes = page(6.4)
    write(axes, 3, 6.2, "Rounds: compute, then synchronize", weight="bold")
    for host, colour in enumerate(HOSTS):
        y = 5.3 - host * 0.5
        write(axes, 0.62, y + 0.19, f"host {host + 1}", color=colour)
        for k in range(3):
            box(axes, 1.2 + k * 1.6, y, 1.15, 0.38, "compute", facecolor=colour, edgecolor=colour, color="white")
    for k in range(3):
        box(axes, 2.42 + k * 1.6, 3.72, 0.3, 2.04, facecolor=LIGHT, edgecolor=LIGHT)
        write(axes, 2.57 + k * 1.6, 4.74, "synchronize", rotation=90, fontsize=SMALL)
        write(axes, 1.77 + k * 1.6, 5.85, f"round {k + 1}", fontsize=SMALL)
    axes.plot((2.42, 0.3), (3.7, 3.18), color=GREY, linewidth=1, linestyle=":")
    axes.plot((2.72, 5.7), (3.7, 3.18), color=GREY, linewidth=1, linestyle=":")
    box(axes, 0.15, 0.15, 5.7, 3.0, edgecolor=GREY)
    write(axes, 3, 2.93, "One synchronization, for the row “fox”", weight="bold")
    for side, x in (("before", 0.9), ("after", 4.9)):
        for k, host in enumerate((0, 2, 3)):
            y = 2.1 - k * 0.65
            box(axes, x - 0.65, y, 1.3, 0.42, edgecolor=HOSTS[host])
            write(axes, x, y + 0.21, f"host {host + 1}: mirror", fontsize=SMALL, color=HOSTS[host])
            if side == "before":
                arrow(axes, (1.58, y + 0.21), (2.2, 1.66 + (1 - k) * 0.18), color=HOSTS[host])
            else:
                arrow(axes, (3.8, 1.66 + (1 - k) * 0.18), (4.22, y + 0.21), color=HOSTS[1])
    box(axes, 2.23, 1.15, 1.55, 1.0, "host 2: master\n\ncombines\nthe changes", facecolor=HOSTS[1], edgecolor=HOSTS[1],
        color="white", fontsize=SMALL)  # fmt: skip
    write(axes, 1.75, 0.5, "1  reduce: changed rows", fontsize=SMALL)
    write(axes, 4.55, 0.5, "2  broadcast: new rows", fontsize=SMALL)
    save(figure, "rounds")


def threads() -> None:
    """Draw two threads that share the rows of a host."""
    figure, axes = page(5.3)
    for thread, colour in enumerate((HOSTS[0], HOSTS[3])):

        def at(x: float, thread: int = thread) -> float:
            return x if thread == 0 else 6 - x

        box(axes, at(1.0) - 0.85, 4.6, 1.7, 0.45, f"thread {thread + 1}", facecolor=colour, edgecolor=colour,
            color="white")  # fmt: skip
        arrow(axes, (at(1.2), 4.57), (at(1.2), 4.08), color=colour)
        for k, word in enumerate(("the", "of", "and")):
            cell(axes, at(1.2) - 0.55, 3.6 - k * 0.42, 1.1, 0.4, colour, word)
            arrow(axes, (at(1.8), 3.8 - k * 0.42), (at(2.3), 3.8 - k * 0.42), arrowstyle="<|-|>", mutation_scale=10)
        write(axes, at(1.2), 2.55, "copies", color=colour)
        rows = [1.75 - k * 0.42 for k in ((0, 2), (1, 2, 3))[thread]]
        axes.plot((at(0.35), at(0.35)), (4.58, rows[-1]), color=colour, linewidth=1.6)
        for y in rows:
            arrow(axes, (at(0.35), y), (at(2.3), y), color=colour)
    write(axes, 3, 4.82, "rows of the host", weight="bold")
    for k, word in enumerate(("the", "of", "and")):
        cell(axes, 2.35, 3.6 - k * 0.42, 1.3, 0.4, INK, word)
    write(axes, 3, 4.25, "hot rows: merged\nnow and then", fontsize=SMALL)
    for k, word in enumerate(("violin", "harbour", "walnut", "glacier")):
        cell(axes, 2.35, 1.55 - k * 0.42, 1.3, 0.4, LIGHT, word)
    write(axes, 3, 2.2, "other rows:\nboth write, no locks", fontsize=SMALL)
    save(figure, "threads")


@njit
def _size(key: int, position: int) -> int:
    """Draw the size of the window at a position."""
    return window_size(draw(key, position), 5, 1)


def draws() -> None:
    """Draw what window sizes are drawn from: real ones, by the library's own functions."""
    figure, axes = page(4.9)
    key = np.uint64(epoch_key(1, 0, NEGATIVES))
    sizes = [_size(key, position) for position in range(12)]
    write(axes, 3, 4.68, "Each position draws for itself", weight="bold")
    for k, (x, text) in enumerate(((0.55, "seed 1"), (2.0, "epoch 0"), (3.45, "position 7"))):
        box(axes, x, 3.98, 1.3, 0.4, text, edgecolor=HOSTS[k], color=HOSTS[k])
    arrow(axes, (4.78, 4.18), (5.1, 4.18))
    write(axes, 5.42, 4.18, f"size {sizes[7]}", weight="bold")
    for y, cuts, label in (
        (2.85, (12,), "one host"),
        (1.65, (4, 8, 12), "three hosts"),
        (0.45, (7, 12), "two, cut elsewhere"),
    ):
        write(axes, 0.55, y + (0.78 if len(cuts) == 1 else 0.55), label, ha="left", fontsize=SMALL)
        for position, size in enumerate(sizes):
            host = sum(position >= cut for cut in cuts)
            cell(axes, 0.55 + position * 0.4 + host * 0.06, y, 0.4, 0.38, HOSTS[host], str(size))
            if position == 7:
                axes.add_patch(Rectangle((0.55 + 2.8 + host * 0.06, y), 0.4, 0.38, fill=False, linewidth=3, zorder=6))
    for position in range(12):
        write(axes, 0.75 + position * 0.4, 3.36, str(position), fontsize=SMALL, color=GREY)
    write(axes, 3.0, 0.2, "the same window sizes, wherever the text is cut", fontsize=SMALL)
    save(figure, "draws")


def trust() -> None:
    """Draw what is trusted, and what is checked."""
    figure, axes = page(4.1)
    box(axes, 1.95, 1.45, 3.9, 2.45, edgecolor=HOSTS[0], linewidth=2)
    write(axes, 3.9, 3.65, "trusted", color=HOSTS[0], weight="bold")
    box(axes, 2.15, 2.5, 1.6, 0.9, "your account,\nyour code", edgecolor=HOSTS[0])
    box(axes, 4.05, 2.5, 1.6, 0.9, "other hosts\nof the run", edgecolor=HOSTS[0])
    arrow(axes, (3.75, 2.95), (4.05, 2.95), arrowstyle="<|-|>", mutation_scale=10)
    write(axes, 3.9, 1.95, "messages: not encrypted,\nnot signed", fontsize=SMALL)
    box(axes, 0.1, 2.25, 1.0, 1.4, "files:\ntexts,\ngraphs,\nvectors", edgecolor=HOSTS[1], fontsize=SMALL)
    box(axes, 1.38, 2.1, 0.32, 1.7, facecolor=HOSTS[1], edgecolor=HOSTS[1])
    write(axes, 1.54, 2.95, "checked", rotation=90, color="white")
    arrow(axes, (1.1, 2.95), (1.36, 2.95), color=HOSTS[1])
    arrow(axes, (1.72, 2.95), (2.13, 2.95), color=HOSTS[1])
    box(axes, 1.95, 0.25, 3.9, 0.6, "strangers on the network", edgecolor=HOSTS[1])
    axes.plot((1.95, 5.85), (1.15, 1.15), color=HOSTS[1], linewidth=4)
    write(axes, 1.85, 1.15, "you keep\nthem out", ha="right", color=HOSTS[1], fontsize=SMALL)
    save(figure, "trust")


if __name__ == "__main__":
    plt.rcParams.update(STYLE)
    for draw_one in (
        worklist,
        samples,
        rounds,
        threads,
        draws,
        trust,
        *draw_schemes.PICTURES,
        *draw_combiners.PICTURES,
    ):
        if not sys.argv[1:] or draw_one.__name__ in sys.argv:
            draw_one()
