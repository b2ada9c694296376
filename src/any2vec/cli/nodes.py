"""`any2vec nodes`: a graph in, vectors of its vertices out; `any2vec walks`: the walks as text."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from any2vec.cli import options
from any2vec.cli.training import check_apart, run
from any2vec.cluster.cores import usable_cores
from any2vec.errors import Any2VecError
from any2vec.graph.graph import Graph
from any2vec.graph.readers import read_graph
from any2vec.io.outputs import check_writable, refusals, replacing
from any2vec.models import Node2Vec
from any2vec.vectors.formats import format_of
from any2vec.walks.text import write_text
from any2vec.walks.walker import Walker, check_walks

__all__ = ["nodes", "walks"]

_WALKS = "Walks"
_PACKED = (".gz", ".bz2", ".xz", ".zst")

Source = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="An edge list (also .gz, .bz2, .xz, .zst), an adjacency list, .mat, .npz, or - for standard input.",
        show_default=False,
    ),
]
Walks = Annotated[int, typer.Option("--walks", help="Walks from each vertex.", rich_help_panel=_WALKS)]
Length = Annotated[int, typer.Option(help="Vertices in a walk.", rich_help_panel=_WALKS)]
P = Annotated[float, typer.Option("--p", help="The way back counts 1/p.", rich_help_panel=_WALKS)]
Q = Annotated[float, typer.Option("--q", help="The way out counts 1/q.", rich_help_panel=_WALKS)]
Restart = Annotated[float, typer.Option(help="Probability that a step goes back to the start.", rich_help_panel=_WALKS)]
Format = Annotated[
    str, typer.Option("--format", help="edges, adjacency, mat, npz or auto.", rich_help_panel=options.DATA)
]
Directed = Annotated[bool, typer.Option("--directed", help="Edges have a direction.", rich_help_panel=options.DATA)]


def nodes(
    graph: Source,
    output: options.Output,
    walks: Walks = 10,
    length: Length = 40,
    p: P = 1.0,
    q: Q = 1.0,
    restart: Restart = 0.0,
    dim: options.Dim = 128,
    window: options.Window = 5,
    negative: options.Negative = 5,
    sample: options.Sample = 0.0,
    alpha: options.Alpha = 0.025,
    epochs: options.Epochs = 5,
    schedule: options.Schedule = "window",
    seed: options.Seed = 1,
    format: Format = "auto",  # noqa: A002
    directed: Directed = False,
    weighted: options.Weighted = None,
    delimiter: options.Delimiter = None,
    threads: options.Threads = None,
    hosts: options.Hosts = 1,
    rounds: options.Rounds = None,
    scheme: options.Scheme = "pull-opt",
    combine: options.Combine = "curvature",
    kappa: options.Kappa = None,
    training: options.Training = False,
    report: options.ReportFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Train vectors of the vertices of GRAPH: skip-gram on DeepWalk's walks, or with p and q on node2vec's."""
    run(
        lambda display: Node2Vec(
            walks=walks,
            length=length,
            p=p,
            q=q,
            restart=restart,
            dim=dim,
            window=window,
            negative=negative,
            sample=sample,
            alpha=alpha,
            epochs=epochs,
            schedule=schedule,
            seed=seed,
            threads=threads,
            hosts=hosts,
            rounds=rounds,
            scheme=scheme,
            combine=combine,
            kappa=kappa,
            display=display,
        ),
        lambda model, communicator: model.fit(
            lambda share: _that_fits(_read(graph, format, directed, weighted, delimiter, share), output), communicator
        ),
        [graph],
        output,
        training=training,
        report=report,
        quiet=quiet,
    )


def walks(
    graph: Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Text, a walk a line; - for standard output.", show_default=False
        ),
    ],
    number: Walks = 10,
    length: Length = 40,
    p: P = 1.0,
    q: Q = 1.0,
    restart: Restart = 0.0,
    seed: options.Seed = 1,
    format: Format = "auto",  # noqa: A002
    directed: Directed = False,
    weighted: options.Weighted = None,
    delimiter: options.Delimiter = None,
    threads: options.Threads = None,
) -> None:
    """Write walks on GRAPH as text."""
    check_walks(number, length, p, q, restart)
    if output.suffix in _PACKED:
        raise Any2VecError(f"{output}: walks are written as plain text; leave out the ending {output.suffix}")
    if str(output) != "-":
        check_apart([graph], output, None)
        check_writable(output)
    walker = Walker(
        _read(graph, format, directed, weighted, delimiter, threads),
        length=length,
        p=p,
        q=q,
        restart=restart,
        seed=seed,
    )
    if str(output) == "-":
        with refusals(Path("standard output")):
            write_text(walker, number, sys.stdout.buffer, threads=threads or usable_cores())
            sys.stdout.buffer.flush()
        return
    with replacing(output) as beside, beside.open("wb") as file:
        write_text(walker, number, file, threads=threads or usable_cores())


def _that_fits(graph: Graph, output: Path) -> Graph:
    """Refuse a graph whose names the output cannot hold, before hours of training and not after."""
    if check_words := format_of(output).check_words:
        check_words(graph.names, output)
    return graph


def _read(
    graph: str,
    format: str,  # noqa: A002
    directed: bool,
    weighted: bool | None,
    delimiter: str | None,
    threads: int | None,
) -> Graph:
    return read_graph(
        graph,
        format=format,
        directed=directed or None,
        weighted=weighted,
        delimiter=options.sign(delimiter),
        threads=threads,
    )
