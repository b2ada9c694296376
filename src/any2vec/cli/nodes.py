"""`any2vec nodes`: a graph in, vectors of its vertices out; `any2vec walks`: the walks as text."""

import sys
from pathlib import Path
from typing import Annotated, Any

from any2vec.cli import options as shared
from any2vec.cli.options import argument, graph_options, output_to, saying
from any2vec.cli.training import Job, check_apart, check_one_process, job_options
from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError
from any2vec.graph.readers import read_graph
from any2vec.io.outputs import check_writable, marked, refusals, replacing_file
from any2vec.models import Node2Vec
from any2vec.walks.metapaths import check_metapaths
from any2vec.walks.walker import Walker, check_walks
from any2vec.walks.worklist import write_text

_WALKS = marked("walks that any2vec wrote")
_WALKER = ("length", "p", "q", "restart", "extend", "gamma", "starts")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

_GRAPH = (
    "An edge list (also .gz, .bz2, .xz, .zst), an adjacency list, .parquet, .mat, .npz, .mtx, a folder of parts of one "
    "graph, or - for standard input."
)
GraphFile = Annotated[str, argument("GRAPH", _GRAPH)]


@shared.estimator_options(Node2Vec)
@graph_options
@job_options()
def nodes(
    source: GraphFile, output: shared.Output, options: dict[str, Any], how: dict[str, Any], given: dict[str, Any]
) -> None:
    """Train vectors of the vertices of GRAPH: DeepWalk, node2vec or metapath2vec.

    Walks are DeepWalk's, node2vec's (--p, --q) or metapath2vec's (--metapath).
    """
    job = Job(output=output, **given)
    model = Node2Vec(**options, verbose=job.display)
    job.check(model, [source, *filter(None, [how["kinds"]])])
    with saying(job.display.say):
        walks = job.read(model, source, **how)
    job.train(model, walks)
    job.save(model)


@shared.from_fields(Node2Vec, only=("walks", *_WALKER, "metapath", "seed", "threads"))
@graph_options
def walks(
    source: GraphFile,
    output: Annotated[Path, output_to("FILE", "Text, a walk per line; - for standard output.")],
    options: dict[str, Any],
    how: dict[str, Any],
    force: shared.Force = False,
) -> None:
    """Write walks on GRAPH as text."""
    check_one_process("walks are written", "walks")
    number, threads = options.pop("walks"), options.pop("threads")
    options["metapaths"] = check_metapaths(options.pop("metapath"))
    check_walks(number, **{name: options[name] for name in (*_WALKER, "metapaths")})
    if output.suffix in _COMPRESSED:
        raise Any2VecError(f"{output}: walks are written as plain text; leave out the ending {output.suffix}")
    if str(output) != "-":
        check_apart([source, *filter(None, [how["kinds"]])], {"the walks": output})
        check_writable(output, _WALKS, force=force)
    with saying():
        walker = Walker(read_graph(source, threads=threads, **how), **options)
    if str(output) == "-":
        with refusals(Path("standard output")):
            write_text(walker, number, sys.stdout.buffer, threads=threads or usable_cores())
            sys.stdout.buffer.flush()
        return
    with replacing_file(output, _WALKS) as file:
        write_text(walker, number, file, threads=threads or usable_cores())
