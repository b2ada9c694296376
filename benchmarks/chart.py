"""Draw pictures of `docs/images`: `speed.svg`, how many times as fast as another program any2vec is; `epochs.svg`.

pip install matplotlib && python benchmarks/chart.py
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
PLAIN = {"svg.hashsalt": "any2vec", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}


def main() -> None:
    """Draw both."""
    plt.rcParams.update(PLAIN)
    _draw("speed", _speed(_rows("results.csv")))
    _draw("epochs", _epochs(_rows("epochs.csv")))


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _draw(name: str, figure: Figure) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")


def _speed(rows: list[dict[str, str]]) -> Figure:
    """Draw a bar for each row that has a `label`."""
    rows = [row for row in rows if row["label"]]
    figure, axes = plt.subplots(figsize=(2.9, 0.52 * len(rows) + 0.5))
    places = range(len(rows))[::-1]
    axes.barh(places, [float(row["times"]) for row in rows], color="#00798c", height=0.6)
    axes.axvline(1, color="#444444", linewidth=0.8)
    for place, row in zip(places, rows, strict=True):
        axes.annotate(
            f"{float(row['times']):.1f}x", (float(row["times"]), place), (3, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(places, [f"{row['label']}\ncompared with {row['peer']}" for row in rows])
    axes.set_xlim(right=1.12 * max(float(row["times"]) for row in rows))
    axes.set_title("speed-up on the same cores", fontsize=10)
    return figure


def _epochs(rows: list[dict[str, str]]) -> Figure:
    """Draw a line for each number of hosts."""
    figure, axes = plt.subplots(figsize=(3.6, 2.6))
    for row, colour in zip(rows, ("#444444", "#00798c", "#d1495b"), strict=True):
        hosts = row.pop("hosts")
        values = [float(value) for value in row.values()]
        axes.plot(
            list(row), values, "o-", color=colour, markersize=3, label=f"{hosts} hosts" if hosts != "1" else "one host"
        )
    axes.set_xlabel("epochs")
    axes.set_title("right answers of analogies, %", fontsize=10)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()
