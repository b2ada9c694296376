"""Pictures of combiners: their own code at work on a loss of two dimensions, and their accuracy on text.

The loss of a row of e is quadratic: steep along x, flat along y. A host's updates take the row towards the host's
optimum, the share 1 - exp(-steps) of the way (ARCHITECTURE, section 7). The rows of t are fixed.
"""

import re
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from numpy.typing import NDArray
from shapes import FOLDER, GREY, HOSTS, INK, SMALL, arrow, save

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.local import simulate
from any2vec.cluster.workers import Workers
from any2vec.operators.matrices import Matrices, zeros
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import CombinerContext, Round, Touched, combiner_of
from any2vec.sync.masters import Changes, merge

ALPHA, KAPPA, UPDATES = 0.025, 0.25, 100  # UPDATES by each host in a round
STEPS = np.array([1.6, 0.35])  # alpha kappa C n of a host, along x and y
START = np.array([-2.4, -2.2])
COLOURS = {"average": GREY, "sum": HOSTS[1], "gradient": HOSTS[2], "adasum": "#4b7b2b", "curvature": HOSTS[3]}


def trained(
    start: NDArray[np.float64], optimum: NDArray[np.float64], steps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Take a row towards an optimum, as the updates of a host do."""
    return start + -np.expm1(-steps) * (optimum - start)


def combined(name: str, start: NDArray[np.float64], ends: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Let the library combine what hosts made of a row that all began with `start`."""

    def program(communicator: Communicator) -> NDArray[np.float64]:
        masters, values, t = Matrices(zeros(1, 2), zeros(1, 2), 0, 1, 2), zeros(len(ends), 2), zeros(2, 2)
        masters.e[0, :2], values[:, :2] = start, ends
        t[(0, 1), (0, 1)] = np.sqrt(2 * STEPS / (ALPHA * KAPPA * UPDATES))  # rows of t that make the loss so steep
        rows, one = np.arange(2), np.full(2, UPDATES, np.int32)
        here = {"e": Touched(zeros(1, 2), rows[:1], one[:1]), "t": Touched(t, rows, one)}
        context = CombinerContext(masters, {"e": 1.0, "t": 1.0}, Channel(communicator))
        combiner = combiner_of(name).bind(context)
        combiner.begin(Round(0, ALPHA, KAPPA), here)
        each = np.full(len(ends), UPDATES, np.int32)
        changes = Changes(np.zeros(len(ends), np.int32), values, each, np.ones(len(ends), np.int64))
        with Workers(1, communicator) as workers:
            merge(masters, {"e": changes}, combiner, workers)
        return masters.e[0, :2].astype(float)

    return simulate(len(ends), 1, program)[0]


def optima(hosts: int, apart: float) -> NDArray[np.float64]:
    """Return the optima of hosts, whose texts differ; their mean is 0."""
    angles = 2 * np.pi * (np.arange(hosts) + 0.5) / hosts
    return apart * np.column_stack([0.15 * np.cos(angles), np.sin(angles)])


def combiners() -> None:
    """Draw what two hosts make of a row, and what each combiner makes of that."""
    both = optima(2, 1.7)
    ends = [trained(START, optimum, STEPS) for optimum in both]
    one = START
    for optimum in both:
        one = trained(one, optimum, STEPS)
    figure, panels = plt.subplots(3, 2, figsize=(6, 7.6), layout="constrained")
    for axes, name in zip(panels.flat, (None, *COLOURS), strict=True):
        for radius in np.arange(1, 9):  # lines of equal loss
            width, height = radius / np.sqrt(STEPS)
            axes.add_patch(Ellipse((0, 0), width, height, fill=False, edgecolor="#d5d5d5"))
        axes.plot(0, 0, "*", color=INK, markersize=11)
        for k, end in enumerate(ends):
            arrow(axes, tuple(START), tuple(end), color=HOSTS[0], linewidth=2 if name is None else 1,
                  alpha=1 if name is None else 0.5, zorder=2)  # fmt: skip
            if name is None:
                x, y = end[0], end[1] + (0.28, -0.28)[k]
                axes.text(x, y, f"host {k + 1}", color=HOSTS[0], fontsize=SMALL, ha="center", va="center")
        axes.plot(*one, "o", color=INK, markersize=11, fillstyle="none", markeredgewidth=1.8)
        if name is None:
            axes.text(one[0] + 0.3, one[1], "one host alone", fontsize=SMALL, va="center")
            axes.text(0.25, 0.2, "optimum", fontsize=SMALL)
            axes.text(START[0], START[1] - 0.42, "start", fontsize=SMALL, ha="center")
        else:
            arrow(axes, tuple(START), tuple(combined(name, START, ends)), color=COLOURS[name], linewidth=3, zorder=4)
        axes.set_title(name or "two hosts change a row", color=COLOURS.get(name, INK))
        axes.set(xticks=[], yticks=[], xlim=(-3, 3), ylim=(-3, 1.4))
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color("#cccccc")
    save(figure, "combiners")


def diverging() -> None:
    """Draw the way of eight hosts to the optimum by three combiners, and of one host, round by round."""
    own, rounds = optima(8, 0.5), 6

    def in_turn(row: NDArray[np.float64]) -> NDArray[np.float64]:
        for optimum in own:
            row = trained(row, optimum, STEPS)
        return row

    def by(name: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        return lambda row: combined(name, row, [trained(row, optimum, STEPS) for optimum in own])

    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for name, step in [*((name, by(name)) for name in ("sum", "average", "curvature")), ("one", in_turn)]:
        row, far = START, [1.0]
        for _ in range(rounds):
            row = step(row)
            far.append(float(np.linalg.norm(row) / np.linalg.norm(START)))
        look = {"marker": "o", "linestyle": "", "fillstyle": "none", "markeredgewidth": 1.6, "markersize": 9}
        axes.plot(far, color=COLOURS.get(name, INK), linewidth=3, **(look if name == "one" else {}))
    for x, y, text, name in (
        (0.28, 1.3, "sum: grows fourfold, and more", "sum"),
        (1.5, 0.46, "average", "average"),
        (2.15, -0.1, "curvature", "curvature"),
        (1.12, 0.13, "one host alone", "one"),
    ):
        axes.text(x, y, text, color=COLOURS.get(name, INK))
    axes.set(xlabel="round", title="Eight hosts: distance from the optimum", ylim=(-0.15, 1.45), yticks=[0, 1])
    save(figure, "diverging")


def accuracy() -> None:
    """Draw the accuracy of 32 hosts by combiner, from the table of the results page."""
    text = (FOLDER.parent.parent / "benchmarks" / "README.md").read_text("utf-8")
    names = {
        "average": "GraphWord2Vec, average",
        "gradient": "GraphWord2Vec, gradient combiner",
        "curvature": "any2vec, `curvature` (default)",
    }
    found = {
        name: float(re.search(rf"^\| {re.escape(row)} \| ([\d.]+) \|", text, re.M)[1]) for name, row in names.items()
    }
    one = float(re.search(r"^\| any2vec, `curvature` \(default\) \| [\d.]+ \| ([\d.]+) \|", text, re.M)[1])
    figure, axes = plt.subplots(figsize=(6, 2.9), layout="constrained")
    axes.barh(list(found), list(found.values()), color=[COLOURS[name] for name in found], height=0.62)
    for k, value in enumerate(found.values()):
        x, side, colour = (min(value, one) - 0.5, "right", "white") if value > 5 else (value + 0.5, "left", INK)
        axes.text(x, k, f"{value} %", va="center", ha=side, color=colour)
    axes.axvline(one, color=INK, linewidth=1.5, linestyle="--")
    axes.text(one - 0.4, -0.05, f"one host: {one} %", ha="right", va="center")
    axes.invert_yaxis()
    axes.set(title="Analogies answered after training on 32 hosts", xlim=(0, 36), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    save(figure, "accuracy")


PICTURES = (combiners, diverging, accuracy)
