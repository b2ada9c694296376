"""Measure the accuracy of several threads, even of more than there are cores: if simulated, one thread takes all turns.

In turns, threads do 128 positions, one after another: what as many cores would do if all were equally fast. Operating
systems would run a thread for milliseconds. Beside the share of right answers goes the mean log-probability of the
right one among all words (softmax of 20 times the cosine), which varies less from seed to seed, and eigenvalues of
E^T E and T^T T beside those of one thread with the same seed.
"""

from collections import deque
from concurrent.futures import Future
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import numpy as np
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

from any2vec import Vectors, Word2Vec
from any2vec.evaluate.analogies import RESTRICT, evaluate_analogies
from any2vec.operators import matrices
from any2vec.training import trainer
from any2vec.training.host import Copying, Task
from any2vec.training.row_host import RowHost
from any2vec.vectors.questions import fold, read_questions

TURN = 128
SHARPNESS = 20


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

    def start(self, task: Task) -> "list[Future[float]]":
        """Let all threads take turns until none has anything left."""
        chunks = self.chunks(task.slice.size, len(task.stats))

        def run(_: int) -> float:
            left = [self.take_chunks(task, Turns(chunks), k) for k in range(len(task.stats))]
            while left:
                left = [turns for turns in left if next(turns, self) is not self]
            return 0.0

        return self.workers.start(run, 1)


def log_probability(vectors: Vectors, questions: Path) -> float:
    """Mean over the analogies that can be asked; the question's own words are no answers."""
    matrix, ids = vectors.get_normed_vectors()[:RESTRICT], {}
    for i, word in enumerate(vectors.words[:RESTRICT]):
        ids.setdefault(fold(word), i)
    lines = [line for section in read_questions(questions) for line in section.questions]
    asked = np.array([[ids.get(fold(word), -1) for word in line] for line in lines])
    asked = asked[(asked >= 0).all(axis=1)]
    found = []
    for a, b, c, right in np.array_split(asked.T, len(asked) // 500 + 1, axis=1):
        query = matrix[b] - matrix[a] + matrix[c]
        scores = SHARPNESS * (query / np.linalg.norm(query, axis=1, keepdims=True)) @ matrix.T
        row = np.arange(len(a))
        scores[row, a] = scores[row, b] = scores[row, c] = -np.inf
        found.append(scores[row, right] - np.logaddexp.reduce(scores, axis=1))
    return float(np.concatenate(found).mean())


def eigenvalues(label: np.ndarray) -> list[float]:
    """Return the eigenvalues of ``label^T label`` over the most frequent words, the largest first."""
    rows = label[:RESTRICT].astype(float)
    return list(map(float, np.linalg.eigvalsh(rows.T @ rows)[::-1]))


def beside(runs: list[dict[str, Any]], ones: list[dict[str, Any]], label: str) -> str:
    """Return the largest eigenvalue, and the sum of the last 30 %, as shares of those of one thread."""
    shares = []
    for run, one in zip(runs, ones, strict=True):
        found, wanted = np.array(run[label]), np.array(one[label])
        last = len(found) * 7 // 10
        shares.append((found[0] / wanted[0], found[last:].sum() / wanted[last:].sum()))
    return ", ".join(f"{share:.3f}" for share in np.mean(shares, axis=0))


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
    rounds: Annotated[int | None, typer.Option(help="Rounds per epoch.")] = None,
    windows: Annotated[int, typer.Option(help="Windows between two merges of a row, of all threads together.")] = (
        matrices._WINDOWS
    ),
    copied: Annotated[bool, typer.Option(help="Whether threads copy rows.")] = True,
    in_turns: Annotated[bool, typer.Option("--in-turns/--at-once", help="Whether one thread takes all turns.")] = True,
    json_file: JsonOption = None,
) -> None:
    """Measure accuracy on analogies (30,000 words), in percent, by number of threads and seed."""
    if in_turns:
        trainer.RowHost = InTurns  # type: ignore[misc]
    Copying.wanted = lambda _: copied  # type: ignore[method-assign]
    matrices._WINDOWS = windows
    found: dict[str, list[dict[str, Any]]] = {}
    with plain_text(corpus, size) as (text, folder):
        cache = str(folder / "cache")
        settings = Settings(str(text), cache, dim=dim, negative=negative, sample=sample, epochs=epochs)
        chosen = {"rounds": rounds, "windows": windows, "copied": copied}
        how = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "cache": cache, "rounds": rounds}
        for seed in map(int, seeds.split(",")):
            for number in threads.split(","):
                model = Word2Vec(**how, threads=int(number), seed=seed).fit(text)
                total = evaluate_analogies(model.vectors_, questions).total.accuracy
                likely = log_probability(model.vectors_, questions)
                run = chosen | {"seed": seed, "total": total, "log_probability": likely, "loss": model.loss_}
                run |= {"e": eigenvalues(model.vectors_.matrix), "t": eigenvalues(model.vectors_.t)}
                found.setdefault(number, []).append(run)
                out.print(
                    f"seed {seed}  threads: {number:>3}  {total:.2f} %  log-probability {likely:.4f}  "
                    f"loss {model.loss_[-1]:.4f}"
                )
    ones, rows = found.get("1"), []
    for number, runs in found.items():
        total, likely = (mean(run[name] for run in runs) for name in ("total", "log_probability"))
        row = [number, total, None, f"{likely:.4f}", "", ""]
        if ones:
            row[2] = total - mean(one["total"] for one in ones)
            row[4:] = beside(runs, ones, "e"), beside(runs, ones, "t")
        rows.append(tuple(row))
    title = (
        f"analogies, %: D={dim}, {negative} negatives, epochs: {epochs}; eigenvalues / one thread's: first, last 30 %"
    )
    table(title, ("threads", "mean", "- one thread", "log-probability", "E^T E: first, last 30 %", "T^T T"), rows)
    write(json_file, "threads, in turns" if in_turns else "threads", settings, found)


if __name__ == "__main__":
    typer.run(main)
