"""Pictures of the schemes: what a host holds, sends and gets, and the bytes of a run on the speeches."""

from importlib.resources import as_file, files

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from shapes import GREY, HOSTS, INK, LIGHT, SMALL, E, T, arrow, box, page, save, write

from any2vec import Word2Vec

ROWS, MASTERS = 12, 3  # host 1 of four
TOUCHED = {"e": {0, 1, 4, 7}, "t": {0, 1, 3, 5, 7, 10}}  # rows that its round touches
NEXT = {"e": {0, 3, 4, 9}, "t": {0, 2, 3, 6, 9, 11}}
BY_ANY = {"e": {0, 1, 2, 4, 5, 7, 9}, "t": {0, 1, 2, 3, 4, 5, 6, 7, 8, 10}}  # by any host
ALL = {"e": set(range(ROWS)), "t": set(range(ROWS))}
SENT, GOT, HELD = HOSTS[1], HOSTS[0], "#c9c2d6"
TITLES = {
    "rep-naive": "RepModel-Naive",
    "rep-opt": "RepModel-Opt",
    "pull-base": "PullModel-Base",
    "pull-opt": "PullModel-Opt",
    "server": "parameter server",
    "columns": "columns",
}


def schemes() -> None:
    """Draw the four schemes of the paper, seen by one host."""
    figure, axes = page(7.3)
    whole = {which: dict.fromkeys("et", rows["e"] | rows["t"]) for which, rows in (("now", TOUCHED), ("next", NEXT))}
    for k, (name, held, sent, got) in enumerate((
        ("rep-naive", ALL, ALL, ALL),
        ("rep-opt", ALL, TOUCHED, BY_ANY),
        ("pull-base", whole["now"], whole["now"], whole["next"]),
        ("pull-opt", TOUCHED, TOUCHED, NEXT),
    )):  # fmt: skip
        left, low = 0.2 + k % 2 * 2.95, 4.05 - k // 2 * 3.2
        write(axes, left + 1.32, low + 2.63, f"{TITLES[name]}", weight="bold")
        for j, (title, rows, colour) in enumerate((("holds", held, HELD), ("sends", sent, SENT), ("gets", got, GOT))):
            x = left + j * 0.95
            write(axes, x + 0.36, low + 2.36, title, fontsize=SMALL, color=INK if j == 0 else colour)
            _matrix(axes, x, low, rows, colour, masters=j == 0)
    for x, colour, text in ((0.25, HOSTS[3], "its masters"), (1.65, HELD, "mirrors"), (2.85, SENT, "to masters"),
                            (4.3, GOT, "from masters")):  # fmt: skip
        axes.add_patch(Rectangle((x, 0.28), 0.2, 0.2, facecolor=colour))
        write(axes, x + 0.28, 0.37, text, fontsize=SMALL, ha="left")
    write(axes, 3, 7.1, "One host of four. A cell is a row of e, or of t.", color=INK)
    save(figure, "schemes")


def _matrix(axes: plt.Axes, x: float, low: float, rows: dict[str, set[int]], colour: str, *, masters: bool) -> None:
    """Draw the rows of e and t; those of masters, the first, are held, and neither sent nor got."""
    for j, which in enumerate("et"):
        write(axes, x + 0.18 + j * 0.36, low + 2.15, which, fontsize=SMALL, color=E if which == "e" else T)
        left, top = x + j * 0.36, low + 2.02
        axes.add_patch(Rectangle((left, low + 0.04), 0.35, 1.98, facecolor="#f3f3f3"))
        own = range(MASTERS) if masters else ()
        for row in sorted({*own, *(row for row in rows[which] if row >= MASTERS)}):
            place, filled = (left, top - (row + 1) * 0.165), HOSTS[3] if row < MASTERS else colour
            axes.add_patch(Rectangle(place, 0.36, 0.165, facecolor=filled, edgecolor="white", linewidth=1.2))


def columns() -> None:
    """Draw a matrix that is cut by rows, and one that is cut by columns."""
    figure, axes = page(4.5)
    for x, title, by_rows in ((0.35, "by rows", True), (3.45, "by columns", False)):
        write(axes, x + 1.1, 4.28, title, weight="bold")
        for row in range(8):
            for column in range(8):
                host = (row if by_rows else column) // 2
                place = (x + column * 0.28, 3.75 - row * 0.22)
                axes.add_patch(Rectangle(place, 0.28, 0.22, facecolor=HOSTS[host], edgecolor="white", linewidth=1))
    write(axes, 1.45, 1.9, "RepModel, PullModel, server", fontsize=SMALL)
    write(axes, 4.55, 1.9, "scheme columns", fontsize=SMALL)
    write(axes, 0.2, 3.1, "words", rotation=90, fontsize=SMALL, color=GREY)
    box(axes, 0.2, 0.2, 2.5, 1.4)
    box(axes, 3.3, 0.2, 2.5, 1.4)
    write(axes, 1.45, 1.35, "whole rows are sent", fontsize=SMALL)
    for k in range(2):
        for column in range(8):
            axes.add_patch(Rectangle((0.4 + column * 0.13, 0.5 + k * 0.4), 0.13, 0.2, facecolor=HOSTS[2 * k]))
        arrow(axes, (1.52, 0.6 + k * 0.4), (2.45, 0.6 + k * 0.4))
    write(axes, 4.55, 1.35, "sums of scores are sent", fontsize=SMALL)
    for k in range(4):
        axes.add_patch(Rectangle((3.5, 0.34 + k * 0.22), 0.2, 0.16, facecolor=HOSTS[k]))
        arrow(axes, (3.75, 0.42 + k * 0.22), (4.5, 0.75), linewidth=1.1)
    write(axes, 4.72, 0.75, "score", fontsize=SMALL)
    arrow(axes, (5.0, 0.75), (5.6, 0.75))
    write(axes, 5.3, 0.92, "step", fontsize=SMALL, color=GREY)
    save(figure, "columns")


def sent() -> None:
    """Train on the speeches with four hosts by each scheme; draw the bytes that its report counts."""
    total, by_round = {}, {}
    with as_file(files("any2vec") / "data" / "presidents.txt.xz") as text:
        for scheme in TITLES:
            how = {"combine": "gradient"} if scheme == "server" else {}
            found = Word2Vec(hosts=4, scheme=scheme, threads=1, cache=None, **how).fit(text).report_.rounds.bytes
            total[scheme] = {
                phase: sum(sum(n) for what, n in found.items() if what.startswith(phase)) / 1e6
                for phase in ("reduce", "broadcast", "inspect")
            }
            by_round[scheme] = np.sum(list(found.values()), axis=0) / 1e6
            print(scheme, total[scheme], len(by_round[scheme]), "rounds")
    figure, (above, below) = plt.subplots(2, figsize=(6, 7), height_ratios=(3, 2.6), layout="constrained")
    left = np.zeros(len(total))
    for phase, colour in (("reduce", SENT), ("broadcast", GOT), ("inspect", GREY)):
        widths = np.array([of[phase] for of in total.values()])
        above.barh(list(TITLES.values()), widths, left=left, color=colour, height=0.62, label=phase)
        left += widths
    for k, width in enumerate(left):
        above.text(width + 20, k, f"{width:,.0f}", va="center")
    above.invert_yaxis()
    above.set(title="MB sent in the whole run", xlim=(0, 2050), xticks=[])
    above.spines["bottom"].set_visible(False)
    above.tick_params(axis="y", length=0)
    above.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.4, 0.04), ncols=3, fontsize=SMALL)
    for scheme, colour, y in zip(
        list(TITLES)[:4], (INK, HOSTS[2], HOSTS[3], GOT), (34.2, 27.8, 31.2, 23.9), strict=True
    ):
        rounds = by_round[scheme]
        below.plot(np.arange(1, len(rounds) + 1), rounds, color=colour, linewidth=2)
        below.text(51.5, y, TITLES[scheme], color=colour, fontsize=SMALL, va="center")
    below.set(title="MB sent in each round", xlabel="round", ylim=(0, 39), xlim=(0, 69), xticks=range(0, 51, 10))
    below.axvspan(1, 20.5, color=LIGHT, alpha=0.5, linewidth=0)
    below.text(10.5, 1.5, "short rounds\nat the start", ha="center", color=GREY, fontsize=SMALL)
    save(figure, "sent")


PICTURES = (schemes, columns, sent)
