"""Compare two threads that share a model with two that have one each, in one process, in turns of about a second.

Whole runs in turns (`words.py threads`) meet other load on a shared machine; short turns meet about the same. With each
turn goes the time of a message between the threads, which says whether their cores share a cache: virtual machines are
moved between cores, so both kinds of turns come up. CPU time varies less than speed: it is that of a whole run, of the
two models together divided by two.
"""

import random
import statistics
import threading
import time
from collections.abc import Callable
from typing import Annotated

import typer
from options import BytesOption, DimOption, EpochsOption, JsonOption, NegativeOption, RepeatOption, SampleOption
from tables import out, table, write
from texts import CorpusArgument, plain_text
from words_jobs import Settings

from any2vec import Word2Vec
from any2vec.cluster import workers
from any2vec.cluster.machine import core_ids
from any2vec.cluster.workers import message_time
from any2vec.operators import matrices
from any2vec.training.host import Copying

LIMIT = workers._NEAR


def main(
    corpus: CorpusArgument,
    size: BytesOption = 40_000_000,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 1,
    per: Annotated[str, typer.Option(help="Negatives per window or pair.")] = "window",
    repeat: RepeatOption = 15,
    json_file: JsonOption = None,
) -> None:
    """Measure words/s of two threads, as a share of that of two models on a thread each."""
    usual, chosen = matrices._WINDOWS, Copying.wanted
    how = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "negatives_per": per}
    with plain_text(corpus, size) as (text, folder):
        cache = str(folder / "cache")

        def fit(threads: int = 2, seed: int = 1) -> float:
            model = Word2Vec(**how, cache=cache, threads=threads, seed=seed)
            return model.fit(text).report_.words_per_second

        def apart() -> float:
            speeds: list[float] = []
            threads = [threading.Thread(target=lambda k=k: speeds.append(fit(1, k))) for k in (1, 2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return sum(speeds)

        def always(copied: bool, windows: int = usual) -> Callable[[], float]:
            def run() -> float:
                Copying.wanted = lambda _: copied  # type: ignore[method-assign]
                matrices._WINDOWS = windows
                speed = fit()
                Copying.wanted, matrices._WINDOWS = chosen, usual  # type: ignore[method-assign]
                return speed

            return run

        contenders = {
            "as it is": fit,
            "copies": always(True),
            "copies, only the last merge": always(True, 10**6),
            "no copies": always(False),
        }
        fit(1)  # compiled, and the corpus cached
        fit()
        messages: list[list[float]] = []
        found: dict[str, list[float]] = {name: [] for name in contenders}
        costs: dict[str, list[float]] = {name: [] for name in contenders}
        generator = random.Random(1)
        for _ in range(repeat):
            messages.append([message_time(core_ids())])
            models, one = _timed(apart)
            for name in generator.sample(list(contenders), len(contenders)):  # what ran before may matter
                speed, seconds = _timed(contenders[name])
                found[name].append(speed / models)
                costs[name].append(seconds / (one / 2))
            messages[-1].append(message_time(core_ids()))
            turn = ", ".join(f"{name} {x[-1]:.2f}" for name, x in found.items())
            out.print(f"{messages[-1][0]:.0f} to {messages[-1][1]:.0f} ns; {models:,.0f} words/s apart; {turn}")
    _tables(found, costs, messages)
    settings = Settings(str(text), cache, dim=dim, negative=negative, sample=sample, epochs=epochs)
    write(json_file, "threads, in one process", settings, {"messages": messages, "cpu": costs, **found})


def _timed(run: Callable[[], float]) -> tuple[float, float]:
    """Return what `run` does, and the CPU time of all threads."""
    began = time.process_time()
    return run(), time.process_time() - began


def _tables(found: dict[str, list[float]], costs: dict[str, list[float]], messages: list[list[float]]) -> None:
    for kind, chosen_turns in (
        ("cores share a cache", [max(pair) < LIMIT for pair in messages]),
        ("cores do not", [min(pair) >= LIMIT for pair in messages]),
    ):
        if n := sum(chosen_turns):
            speeds, cpu = (
                {name: [x for x, keep in zip(xs, chosen_turns, strict=True) if keep] for name, xs in figures.items()}
                for figures in (found, costs)
            )
            median = statistics.median
            rows = [(name, median(x), min(x), max(x), median(cpu[name])) for name, x in speeds.items()]
            title = f"two threads / two models on a thread each: {kind} ({n} of {len(messages)} turns)"
            table(title, ("", "median", "min", "max", "CPU"), rows)


if __name__ == "__main__":
    typer.run(main)
