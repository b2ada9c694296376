"""Where the time of a round of several hosts goes, by function.

With simulated hosts, which share two threads, it is CPU time, summed over hosts. Under MPI each rank prints wall time,
too, and how long it waited for slower ranks after computing:

    python benchmarks/parts.py imdb.txt --hosts 32 --rounds 48
    mpiexec -n 2 python benchmarks/parts.py imdb.txt --dim 200 --negative 15 --epochs 5
"""

import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Annotated, Any

import typer
from options import BytesOption, DimOption, EpochsOption, NegativeOption, SampleOption
from tables import table
from texts import CorpusArgument, plain_text

from any2vec import Word2Vec
from any2vec.cluster import Communicator, connect
from any2vec.cluster.mpi import launched
from any2vec.sync import balance, masters, rows, scheme
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import curvature, quadratic
from any2vec.training.row_host import RowHost
from any2vec.training.trainer import Run

PARTS: tuple[tuple[Any, str, str], ...] = (
    (RowHost, "compute", "computing"),
    (RowHost, "synchronize", "synchronizing"),
    (scheme.Scheme, "combine", "  combining"),
    (quadratic.QuadraticModel, "measure", "    curvature"),
    (quadratic.QuadraticModel, "_own_moments", "      moments"),
    (quadratic, "axes_of", "      eigenvectors"),
    (curvature.Curvature, "_measure_other", "    what the other matrix corrects"),
    (balance.Balance, "begin", "    balance, before merging"),
    (masters._Merge, "run", "    merging"),
    (masters, "_orthogonality", "      orthogonality"),
    (masters, "_sum", "      sums"),
    (curvature.Curvature, "scale", "      scaling"),
    (masters, "_add", "      adding"),
    (balance.Balance, "end", "    balance, after merging"),
    (balance, "_solve", "      solving for the correction"),
    (masters.Rebalancing, "apply", "  rebalancing"),
    (rows.Replicated, "_reduce", "  reduce (whole models)"),
    (rows.RepModelOpt, "_broadcast", "  broadcast (whole models)"),
    (rows.Pulled, "_learn", "  inspection of the next round (pull)"),
    (rows.Pulled, "_pull", "  broadcast (pull)"),
    (Channel, "begin", "messages: beginning, keeping own rows"),
    (Channel, "wait", "messages: waiting"),
)
"""Owner, function, and the part as shown; indented parts are within those above, messages within all of them."""

SHARED = "synchronizing", "  combining"
"""Parts that several threads work on: their CPU time is not shown, as only the calling thread's is measured."""


class Times:
    """Calls, CPU and wall seconds by part, of all hosts of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._found: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        self._waited = 0.0

    def watch(self) -> None:
        """Time all parts, from the first round on."""
        for owner, name, part in PARTS:
            setattr(owner, name, self._timed(getattr(owner, name), part))
        compute, epochs = RowHost.compute, Run.epochs

        def compute_and_wait(host: RowHost, *given: Any) -> float:
            seconds = compute(host, *given)
            began = time.perf_counter()
            host._communicator.barrier()
            self._waited += time.perf_counter() - began
            return seconds

        def from_now_on(run: Any, *given: Any) -> bool:
            run.communicator.barrier()  # all have compiled
            self._clear()
            run.communicator.barrier()
            return epochs(run, *given)

        Run.epochs = from_now_on  # type: ignore[method-assign]
        if launched():
            RowHost.compute = compute_and_wait  # type: ignore[method-assign]

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **given: Any) -> Any:
            cpu, wall = time.thread_time(), time.perf_counter()
            result = function(*args, **given)
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            if isinstance(result, float):  # `compute` and `apply` return the CPU seconds of all threads
                cpu = result
            with self._lock:
                self._found[part] = [a + b for a, b in zip(self._found[part], (1, cpu, wall), strict=True)]
            return result

        return timed

    def show(self, title: str, hosts: int) -> None:
        """Print milliseconds per round; this process ran `hosts` hosts."""
        rounds = self._found["computing"][0] / hosts
        rows = []
        for part in [part for _, _, part in PARTS if part in self._found]:
            calls, cpu, wall = (x / rounds for x in self._found[part])
            shown = None if part in SHARED else 1000 * cpu
            rows.append((part, shown, 1000 * wall if launched() else None, calls))
        if launched():
            rows.append(("waiting for slower ranks", None, 1000 * self._waited / rounds, None))
        table(f"{title}, {rounds:.0f} rounds", ("milliseconds per round", "CPU", "wall", "calls"), rows)


def main(
    corpus: CorpusArgument,
    size: BytesOption = None,
    hosts: Annotated[int, typer.Option(min=2, help="Simulated hosts; under MPI, ranks are hosts.")] = 32,
    rounds: Annotated[int | None, typer.Option(help="Rounds per epoch; by default as any2vec chooses.")] = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 1,
    by: Annotated[str | None, typer.Option("--scheme", help="One of whole rows; by default any2vec's choice.")] = None,
) -> None:
    """Print where the time of a round goes."""
    ranks: Communicator | None = connect() if launched() else None
    who = {"hosts": hosts, "threads": 2} if ranks is None else {"threads": 1}
    how = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "rounds": rounds, "scheme": by}
    times = Times()
    times.watch()
    with plain_text(corpus, size) as (text, folder):
        if ranks is not None and text != corpus.absolute():
            raise typer.BadParameter("under mpiexec, give a plain text, which is used as a whole: ranks must share it")
        model = Word2Vec(**how, **who, cache=str(folder / "cache")).fit(text, communicator=ranks)
    title = f"D={dim}, {negative} negatives, {model.report_.words_per_second:,.0f} words/s"
    if ranks is None:
        times.show(f"{hosts} hosts, {title}", hosts)
        return
    for rank in range(ranks.size):
        ranks.barrier()
        if rank == ranks.rank:
            times.show(f"rank {rank} of {ranks.size}, {title}", 1)


if __name__ == "__main__":
    typer.run(main)
