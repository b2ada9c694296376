"""Measure the accuracy of many threads on few cores: one thread takes their turns, of 128 positions, one after another.

That is what as many cores would do if all were equally fast. Operating systems would run a thread for milliseconds.
"""

from collections import deque
from concurrent.futures import Future
from typing import Annotated, Any

import typer
from options import (
    BytesOption,
    DimOption,
    EpochsOption,
    JsonOption,
    NegativeOption,
    QuestionsOption,
    SampleOption,
    SeedsOption,
)
from tables import out, table, write
from texts import CorpusArgument, plain_text
from words_jobs import Settings

from any2vec import Word2Vec
from any2vec.cluster.shared_cache import SharedCache
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.operators.arguments import ThreadStats
from any2vec.training import trainer
from any2vec.training.row_host import RowHost
from any2vec.training.schedule import Schedule

TURN = 128


class Turns(deque[tuple[int, int]]):
    """The turns of a thread in the chunks that it takes."""

    def __init__(self, chunks: deque[tuple[int, int]]) -> None:
        super().__init__()
        self._chunks = chunks

    def __bool__(self) -> bool:
        """Return whether the thread has anything left."""
        return len(self) > 0 or len(self._chunks) > 0

    def popleft(self) -> tuple[int, int]:
        """Take the next turn."""
        if not len(self):
            begin, end = self._chunks.popleft()
            self.extend((low, min(low + TURN, end)) for low in range(begin, max(end, begin + 1), TURN))
        return super().popleft()


class InTurns(RowHost):
    """A host whose threads are simulated."""

    def compute(self, schedule: Schedule, number: int, host: int, stats: list[ThreadStats]) -> "list[Future[float]]":
        """Let all threads take turns until none has anything left."""
        slice_ = schedule.slice(host, number)
        assert slice_ is not None
        chunks = self.chunks(slice_.size, len(stats))

        def run(_: int) -> float:
            left = [self.turns(schedule, number, slice_, Turns(chunks), k, stats) for k in range(len(stats))]
            while left:
                left = [turns for turns in left if next(turns, self) is not self]
            return 0.0

        return self.workers.start(run, 1)


def main(
    corpus: CorpusArgument,
    questions: QuestionsOption,
    threads: Annotated[str, typer.Option(help="Numbers of threads, separated by commas; 1 is compared with.")] = "1,16",
    size: BytesOption = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seeds: SeedsOption = "1,2,3",
    json_file: JsonOption = None,
) -> None:
    """Measure accuracy on analogies (30,000 words), in percent, by number of threads and seed."""
    trainer.RowHost = InTurns  # type: ignore[misc]
    SharedCache.is_shared = lambda *_: False  # type: ignore[method-assign]
    found: dict[str, list[dict[str, Any]]] = {}
    with plain_text(corpus, size) as (text, folder):
        cache = str(folder / "cache")
        settings = Settings(str(text), cache, dim=dim, negative=negative, sample=sample, epochs=epochs)
        how = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "cache": cache}
        for seed in map(int, seeds.split(",")):
            for number in threads.split(","):
                model = Word2Vec(**how, threads=int(number), seed=seed).fit(text)
                total = evaluate_analogies(model.vectors_, questions).total.accuracy
                found.setdefault(number, []).append({"seed": seed, "total": total, "loss": model.loss_})
                out.print(f"seed {seed}  threads: {number:>3}  {total:.2f} %  loss {model.loss_[-1]:.4f}")
    means = {number: sum(run["total"] for run in runs) / len(runs) for number, runs in found.items()}
    rows = [(n, mean, mean - means["1"] if "1" in means else None) for n, mean in means.items()]
    table(f"analogies, %: D={dim}, {negative} negatives, epochs: {epochs}", ("threads", "mean", "- one thread"), rows)
    write(json_file, "simulated threads", settings, found)


if __name__ == "__main__":
    typer.run(main)
