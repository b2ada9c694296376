"""Options that commands which train share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "DATA",
    "Alpha",
    "Combine",
    "Delimiter",
    "Dim",
    "Epochs",
    "Hosts",
    "Kappa",
    "Negative",
    "Output",
    "Quiet",
    "ReportFile",
    "Rounds",
    "Sample",
    "Schedule",
    "Scheme",
    "Seed",
    "Threads",
    "Training",
    "Weighted",
    "Window",
    "sign",
]

DATA = "Data"
_MODEL = "Model"
_RUN = "Run"
_HOSTS = "Many hosts"

Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="VECTORS",
        help="Where the vectors go: .txt, .vec or .bin (word2vec's formats; .gz too), or a folder.",
        show_default=False,
    ),
]
Dim = Annotated[int, typer.Option(help="Length of a vector.", rich_help_panel=_MODEL)]
Window = Annotated[int, typer.Option(help="Most places from a centre to its context.", rich_help_panel=_MODEL)]
Negative = Annotated[int, typer.Option(help="Negative samples for a positive one.", rich_help_panel=_MODEL)]
Sample = Annotated[
    float, typer.Option(help="Share above which the frequent are thinned out; 0: none.", rich_help_panel=_MODEL)
]
Alpha = Annotated[float, typer.Option(help="Learning rate at the start.", rich_help_panel=_MODEL)]
Epochs = Annotated[int, typer.Option(help="Passes over the data.", rich_help_panel=_MODEL)]
Schedule = Annotated[
    str, typer.Option(help="Order of the samples: window (fast) or exact (word2vec's own).", rich_help_panel=_MODEL)
]
Seed = Annotated[int, typer.Option(help="Seed of all draws.", rich_help_panel=_MODEL)]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Threads. One gives the same bits for the same seed.", show_default="all cores", rich_help_panel=_RUN
    ),
]
Hosts = Annotated[
    int,
    typer.Option(
        help="Simulate so many hosts, on as many threads as given: the same vectors on any number of them. "
        "On a cluster, under mpiexec, leave it out.",
        rich_help_panel=_HOSTS,
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option(help="Synchronizations in an epoch.", show_default="1.5 for each host", rich_help_panel=_HOSTS),
]
Scheme = Annotated[
    str,
    typer.Option(
        help="What travels: pull-opt (least), pull-base, rep-opt, rep-naive. The vectors are the same.",
        rich_help_panel=_HOSTS,
    ),
]
Combine = Annotated[
    str,
    typer.Option(
        help="How changes are combined: curvature, gradient (the paper's), adasum, average, sum.",
        rich_help_panel=_HOSTS,
    ),
]
Kappa = Annotated[
    float | None,
    typer.Option(
        help="For curvature: mean of p (1 - p).", show_default="measured in each round", rich_help_panel=_HOSTS
    ),
]
Training = Annotated[
    bool, typer.Option("--training", help="Save the training vectors t too (folder).", rich_help_panel=_RUN)
]
ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE.json", help="Write the figures of the run.", rich_help_panel=_RUN)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.", rich_help_panel=_RUN)]
Weighted = Annotated[
    bool | None,
    typer.Option(
        "--weighted/--unweighted",
        help="Whether lines have a weight.",
        show_default="by the first line",
        rich_help_panel=DATA,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What is between two fields of a line: one sign, or \\t.",
        show_default="by the first line",
        rich_help_panel=DATA,
    ),
]


def sign(delimiter: str | None) -> str | None:
    """Give the character that `Delimiter` names: in a shell a tabulator is hard to type."""
    return "\t" if delimiter == r"\t" else delimiter
