"""Compare two threads that share a model with two that have one each, in one process, in turns of about a second.

Whole runs in turns (`words.py threads`) meet other load on a shared machine; short turns meet about the same.
"""

import statistics
import threading
from collections.abc import Callable

import typer
from options import BytesOption, DimOption, JsonOption, NegativeOption, RepeatOption, SampleOption
from tables import out, table, write
from texts import CorpusArgument, plain_text
from words_jobs import Settings

from any2vec import Word2Vec
from any2vec.operators import hot_rows


def main(
    corpus: CorpusArgument,
    size: BytesOption = 40_000_000,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    repeat: RepeatOption = 15,
    json_file: JsonOption = None,
) -> None:
    """Measure words/s of one epoch of two threads, as a share of that of two models on a thread each."""
    usual = hot_rows.UPDATES, hot_rows.BYTES
    with plain_text(corpus, size) as (text, folder):
        cache = str(folder / "cache")
        settings = Settings(str(text), cache, dim=dim, negative=negative, sample=sample, epochs=1)

        def fit(threads: int = 2, seed: int = 1) -> float:
            how = {"dim": dim, "negative": negative, "sample": sample, "cache": cache}
            return Word2Vec(**how, threads=threads, seed=seed, epochs=1).fit(text).report_.words_per_second

        def apart() -> float:
            speeds: list[float] = []
            threads = [threading.Thread(target=lambda k=k: speeds.append(fit(1, k))) for k in (1, 2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return sum(speeds)

        def with_copies(updates: int, size: int) -> Callable[[], float]:
            def run() -> float:
                hot_rows.UPDATES, hot_rows.BYTES = updates, size
                speed = fit()
                hot_rows.UPDATES, hot_rows.BYTES = usual
                return speed

            return run

        contenders = {
            "as it is": fit,
            "a quarter of the merges": with_copies(4 * usual[0], usual[1]),
            "only the last merge": with_copies(10**6, usual[1]),
            "no copies": with_copies(usual[0], 0),
        }
        fit(1)  # compiled, and the corpus cached
        fit()
        found: dict[str, list[float]] = {}
        for _ in range(repeat):
            models = apart()
            for name, run in contenders.items():
                found.setdefault(name, []).append(run() / models)
            out.print(f"{models:,.0f} words/s apart; " + ", ".join(f"{name} {x[-1]:.2f}" for name, x in found.items()))
    rows = [(name, statistics.median(x), min(x), max(x)) for name, x in found.items()]
    table("two threads / two models on a thread each", ("", "median", "min", "max"), rows)
    write(json_file, "threads, in one process", settings, found)


if __name__ == "__main__":
    typer.run(main)
