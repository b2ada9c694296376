"""Draw `docs/images/speed.svg` from `results.csv`: how many times as fast as another program any2vec is.

pip install matplotlib && python benchmarks/chart.py
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "images" / "speed.svg"
PLAIN = {"svg.hashsalt": "any2vec", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}


def main() -> None:
    """Draw a bar for each row that has a `label`."""
    with (HERE / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["label"]]
    plt.rcParams.update(PLAIN)
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
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
