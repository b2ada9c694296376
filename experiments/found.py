"""What an experiment found: tables, which are printed, drawn, and kept as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from machine import description
from tables import table

from experiments.settings import Settings

__all__ = ["RESULTS", "Found", "Table", "draw", "keep", "markdown"]

RESULTS = Path(__file__).parent / "results"
COLOURS = ("#00798c", "#d1495b", "#edae49", "#66a182", "#2e4057", "#8d96a3", "#9c6b98")
PLAIN = {"svg.hashsalt": "any2vec", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row is its name.

    Attributes
    ----------
    title : str
        What the figures are, with their unit.
    heads : sequence of str
        Of the columns.
    rows : list of sequences
        Cells: text, or numbers.
    picture : str
        ``bars``, a group for each row; ``lines``, over the first column; or ``""``, if it is not drawn.
    drawn : sequence of str
        Heads of the columns in the picture.
    """

    title: str
    heads: Sequence[str]
    rows: list[Sequence[Any]]
    picture: str = ""
    drawn: Sequence[str] = ()


@dataclass(frozen=True)
class Found:
    """The tables of an experiment, and the sizes that they hold for."""

    settings: Settings
    tables: list[Table]
    more: dict[str, Any] = field(default_factory=dict)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def markdown(one: dict[str, Any]) -> list[str]:
    """Write a table of a JSON file as lines of Markdown."""
    lines = [one["heads"], ["---"] * len(one["heads"]), *one["rows"]]
    return ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]


def _number(value: Any) -> float:
    """Return the number that a cell begins with; a cell without one is not drawn."""
    try:
        return float(str(value).split()[0].replace(",", ""))
    except (ValueError, IndexError):
        return float("nan")


def draw(found: Found, path: Path) -> None:
    """Draw the tables that have a picture, side by side, as SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = [one for one in found.tables if one.picture]
    with mpl.rc_context(PLAIN):
        figure = Figure(figsize=(4.6 * len(shown), 3.4), layout="constrained")
        for axes, one in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
            names = [str(row[0]) for row in one.rows]
            heads = one.drawn or one.heads[1:]
            series = {head: [_number(row[one.heads.index(head)]) for row in one.rows] for head in heads}
            for k, ((head, values), colour) in enumerate(zip(series.items(), COLOURS, strict=False)):
                if one.picture == "lines":
                    axes.plot(names, values, "o-", color=colour, label=head, markersize=4)
                else:
                    height = 0.8 / len(series)
                    places = [place - 0.4 + (k + 0.5) * height for place in range(len(names))]
                    axes.barh(places, values, height, color=colour, label=head)
            if one.picture == "bars":
                axes.set_yticks(range(len(names)), names)
                axes.invert_yaxis()
            else:
                axes.set_xlabel(one.heads[0])
                axes.set_ylim(bottom=0)
            axes.set_title(one.title, fontsize=9)
            axes.spines[["top", "right"]].set_visible(False)
            if len(series) > 1:
                axes.legend(frameon=False, fontsize=8)
        figure.savefig(path, metadata={"Date": None})


def keep(name: str, found: Found, folder: Path = RESULTS) -> None:
    """Print the tables; write NAME.json and NAME.svg."""
    for one in found.tables:
        table(one.title, one.heads, one.rows)
    folder.mkdir(parents=True, exist_ok=True)
    tables = [asdict(one) for one in found.tables]
    kept = {"experiment": name, **description(), "settings": found.settings.shown(), "tables": tables} | found.more
    draw(found, folder / f"{name}.svg")
    (folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
