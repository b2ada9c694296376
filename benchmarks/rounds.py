"""Compare what a round of several hosts makes of the labels with one host on the same words, in sequence.

Both begin with the labels that a run on several hosts has after the rounds before. By label and by how often the
round updates a row, it prints the regression of the combined change on that of one host: 1 is right, less falls
behind, more overshoots; in bands of the eigenvectors of the other label's second moments, largest first. Then what
is added to B = E^T E - T^T T (`sync.balance`), as a share of E^T E + T^T T, in bands of the latter's eigenvectors: by
one host, by all hosts together, which is what rows are rebalanced to, and by the combined change before that.
"""

from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import typer
from graphs_options import SeedOption
from numpy.typing import NDArray
from options import DimOption, EpochsOption, NegativeOption, SampleOption
from tables import table
from texts import CorpusArgument, plain_text

from any2vec import Word2Vec
from any2vec.cluster.local import alone
from any2vec.corpus import read_corpus
from any2vec.operators.base import ThreadStats
from any2vec.samples.windows import Slice
from any2vec.sync.combiners import Combiner, Round
from any2vec.sync.masters import Changes, Combined
from any2vec.sync.scheme import Scheme
from any2vec.training import trainer
from any2vec.training.host import Task
from any2vec.training.options import Decay
from any2vec.training.row_host import RowHost
from any2vec.training.schedule import Schedule

UPDATES = (1, 3, 10, 30, 100, 1000, 10_000, 1 << 62)
BANDS = (0, 1, 5, 20, 50)

Parts = dict[str, NDArray[Any]]


class Noting:
    """Notes the masters of some rounds, before and after, on all simulated hosts; nothing follows the last."""

    def __init__(self, numbers: list[int], hosts: int) -> None:
        self._numbers = numbers
        self.found: dict[int, list[Parts]] = {number: [{}] * hosts for number in numbers}
        self.added: dict[int, list[Any]] = {number: [0] * hosts for number in numbers}

    def __enter__(self) -> "Noting":
        self._combine, self._compute = Scheme.combine, trainer.Run._compute
        note, numbers = self, self._numbers

        def combine(scheme: Scheme, changes: dict[str, Changes], round_: Round, combiner: Combiner) -> Combined:
            masters = scheme.masters
            before = {"e": masters.embedding.copy(), "t": masters.training.copy()}
            updates = {
                label: np.bincount(change.rows, change.updates, masters.vertices).astype(np.int64)
                for label, change in changes.items()
            }
            sums = _added(before, changes) if round_.number in numbers else 0
            combined = note._combine(scheme, changes, round_, combiner)
            if round_.number in numbers:
                after = {"e after": masters.embedding.copy(), "t after": masters.training.copy()}
                counts = {f"{label} updates": found for label, found in updates.items()}
                note.found[round_.number][scheme.context.communicator.rank] = before | after | counts
                note.added[round_.number][scheme.context.communicator.rank] = sums
            return combined

        def compute(run: Any, number: int, stats: Any) -> float:
            run.interrupted = number >= max(numbers)  # the last round
            return note._compute(run, number, stats)

        Scheme.combine, trainer.Run._compute = combine, compute  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Scheme.combine, trainer.Run._compute = self._combine, self._compute  # type: ignore[method-assign]

    def labels(self, number: int) -> Parts:
        """All masters of a round."""
        parts = self.found[number]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _added(before: Parts, changes: dict[str, Changes]) -> NDArray[np.float64]:
    """Sum what each host added to B in rows of these masters."""
    sums: Any = 0
    for label, change in changes.items():
        rows, kept = before[label], change.updates > 0
        after = change.values[kept, : rows.shape[1]]
        sums += _product(after, label) - _product(rows[change.rows[kept]], label)
    return np.asarray(sums)


def _product(rows: NDArray[np.float32], label: str) -> NDArray[np.float64]:
    wide = rows.astype(np.float64)
    return (wide.T @ wide) * (1 if label == "e" else -1)


def whole(schedule: Schedule, number: int, cuts: NDArray[np.int64], stats: list[ThreadStats]) -> Task:
    """Return what all hosts take in a round, as the task of one host."""
    slices = [schedule.slice(host, number) for host in range(len(cuts) - 1)]
    ranges = [
        (low + cut, high + cut) for cut, one in zip(cuts, slices, strict=False) if one for low, high in one.ranges
    ]
    slice_ = Slice(schedule.epoch(number), tuple((int(low), int(high)) for low, high in ranges))
    return Task(slice_, schedule.rate(number, slice_.size), None, stats)


def main(
    corpus: CorpusArgument,
    shape: Annotated[str, typer.Argument(help="HOSTSxROUNDS.")] = "8x12",
    numbers: Annotated[str, typer.Option(help="Rounds to look at, from 0, separated by commas.")] = "5,10,20,40,60",
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seed: SeedOption = 1,
) -> None:
    """Look at some rounds of a run."""
    hosts, rounds = map(int, shape.split("x"))
    wanted = sorted(map(int, numbers.split(",")))
    last = Schedule(Decay(0.0), epochs, rounds, np.arange(hosts + 1)).numbers(epochs - 1).stop - 1
    if wanted[-1] > last:
        raise typer.BadParameter(f"there is no round {wanted[-1]}: the last is {last}", param_hint="--numbers")
    how = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "seed": seed, "threads": 1}
    with plain_text(corpus) as (path, folder):
        cache = str(folder / "cache")
        with Noting(wanted, hosts) as noting, suppress(KeyboardInterrupt):  # so it ends
            Word2Vec(**how, hosts=hosts, rounds=rounds, cache=cache).fit(path)
        model = Word2Vec(**how, cache=cache)
        cuts = read_corpus(path, cache=cache, hosts=hosts).cuts
        host = RowHost(read_corpus(path, cache=cache), model.training_options(), alone())
        host.open()
        schedule = Schedule(model.training_options().decay, epochs, rounds, cuts)
        with host.workers:
            for number in wanted:
                labels, masters = noting.labels(number), host.scheme.masters
                masters.embedding[:], masters.training[:] = labels["e"], labels["t"]
                host.workers.join(host.start(whole(schedule, number, cuts, host.thread_stats())))
                title = f"round {number}, epoch {schedule.epoch(number) + 1}"
                _show(title, labels, masters.embedding, masters.training)
                one = {"e": masters.embedding, "t": masters.training}
                _show_balance(title, labels, sum(noting.added[number]), one)


def _bands(dim: int) -> list[tuple[int, int]]:
    """Cut the eigenvectors into bands."""
    return list(pairwise((*(low for low in BANDS if low < dim), dim)))


def _show(title: str, labels: Parts, e: NDArray[np.float32], t: NDArray[np.float32]) -> None:
    rows: list[list[Any]] = []
    bands = _bands(e.shape[1])
    for label, alone_, other in (("e", e, "t"), ("t", t, "e")):
        weights = labels[f"{other} updates"]
        moments = (labels[other] * weights[:, None]).T @ labels[other]
        axes = np.linalg.eigh(moments)[1][:, ::-1]
        together, one = ((after - labels[label]) @ axes for after in (labels[f"{label} after"], alone_))
        updates = labels[f"{label} updates"]
        for least, most in pairwise(UPDATES):
            here = (updates >= least) & (updates < most)
            if here.sum() > 1:
                cells = []
                for low, high in bands:
                    x, y = together[here, low:high], one[here, low:high]
                    cells.append(f"{(x * y).sum() / (y * y).sum():.2f}")
                share = (together[here] * one[here]).sum() / (one[here] ** 2).sum()
                rows.append([label, f"{least} or more", int(here.sum()), f"{share:.2f}", *cells])
    table(title, ("label", "updates", "rows", "all", *(f"{low} to {high - 1}" for low, high in bands)), rows)


def _show_balance(title: str, labels: Parts, hosts: NDArray[np.float64], one: Parts) -> None:
    def difference(after: Parts, name: str) -> NDArray[np.float64]:
        return sum((_product(after[name.format(x)], x) - _product(labels[x], x) for x in "et"), np.zeros_like(hosts))

    moments = _product(labels["e"], "e") - _product(labels["t"], "t")
    axes = np.linalg.eigh(moments)[1][:, ::-1]
    bands = _bands(len(axes))
    whole = np.diag(axes.T @ moments @ axes)
    rows = []
    for name, sums in (
        ("one host", difference(one, "{}")),
        ("all hosts", hosts),
        ("combined", difference(labels, "{} after")),
    ):
        along = np.diag(axes.T @ sums @ axes)
        rows.append([name, *(f"{along[low:high].sum() / whole[low:high].sum():+.4f}" for low, high in bands)])
    table(f"{title}: added to B", ("by", *(f"{low} to {high - 1}" for low, high in bands)), rows)


if __name__ == "__main__":
    typer.run(main)
