"""Measure finding phrases in a text, and writing the text with their words joined, against gensim and word2phrase.c.

Contenders are fresh processes that take turns; each first does the same on a small text, so that kernels are loaded.
Ratios are medians over the rounds.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from options import RepeatOption
from tables import out, table, verdict
from texts import CorpusOption, beginning, plain_text

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

_WARM = 100_000  # bytes
_LEARN, _JOIN = "find", "find and write"
_TARGET = 20.0  # x gensim, two threads


@app.command()
def speed(
    corpus: CorpusOption,
    size: Annotated[int, typer.Option("--bytes", help="Bytes of text.")] = 100_000_000,
    threads: Annotated[list[int], typer.Option(help="Threads of any2vec; gensim and word2phrase.c have one.")] = [1, 2],  # noqa: B006
    word2phrase: Annotated[Path | None, typer.Option(help="The program, made of word2phrase.c.", exists=True)] = None,
    repeat: RepeatOption = 3,
) -> None:
    """Print seconds and ratios."""
    with plain_text(corpus, size) as (text, folder):
        warm = beginning(text, folder / "warm.txt", _WARM)
        target = folder / "joined.txt"
        commands = {f"any2vec, {n} thread{'s' * (n > 1)}": _job(f"any2vec-{n}", warm, text, target) for n in threads}
        commands["gensim"] = _job("gensim", warm, text, target)
        seconds: dict[tuple[str, str], list[float]] = {}
        for _ in range(repeat):
            for name, command in commands.items():
                ran = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
                for step, took in json.loads(ran.stdout).items():
                    seconds.setdefault((name, step), []).append(took)
            if word2phrase is not None:
                began = time.perf_counter()
                run = [word2phrase.absolute(), "-train", text.name, "-output", target.name, "-debug", "0"]
                subprocess.run(run, stdout=subprocess.DEVNULL, check=True, cwd=_beside(text, folder))
                seconds.setdefault(("word2phrase.c", _JOIN), []).append(time.perf_counter() - began)
    _print(seconds, repeat)


@app.command(hidden=True)
def job(name: str, warm: Path, text: Path, target: Path) -> None:
    """Run one contender; print its seconds as JSON."""
    program, _, threads = name.partition("-")
    run = _gensim if program == "gensim" else _any2vec(int(threads))
    run(warm, target)
    print(json.dumps(run(text, target)))


def _job(name: str, warm: Path, text: Path, target: Path) -> list[str]:
    return [sys.executable, __file__, "job", name, str(warm), str(text), str(target)]


def _beside(text: Path, folder: Path) -> Path:
    """Return `folder` with the text in it: word2phrase.c knows names of up to 59 bytes only."""
    if not (folder / text.name).exists():
        (folder / text.name).symlink_to(text)
    return folder


def _any2vec(threads: int) -> Callable[[Path, Path], dict[str, float]]:
    from any2vec import Phrases

    def run(text: Path, target: Path) -> dict[str, float]:
        began = time.perf_counter()
        Phrases(threads=threads).fit(text)
        found = time.perf_counter()
        Phrases(threads=threads).fit_transform(text).write(target)
        return {_LEARN: found - began, _JOIN: time.perf_counter() - found}

    return run


def _gensim(text: Path, target: Path) -> dict[str, float]:
    from gensim.models.phrases import Phrases
    from gensim.models.word2vec import LineSentence

    began = time.perf_counter()
    phrases = Phrases(LineSentence(text), min_count=5, threshold=100)
    found = time.perf_counter()
    frozen = phrases.freeze()
    with target.open("w", encoding="utf-8") as file:
        for sentence in frozen[LineSentence(text)]:
            file.write(" ".join(sentence) + "\n")
    return {_LEARN: found - began, _JOIN: time.perf_counter() - began}


def _print(seconds: dict[tuple[str, str], list[float]], repeat: int) -> None:
    rows = []
    for (name, step), took in seconds.items():
        rows.append([f"{step}: {name}", statistics.median(took), min(took), max(took), _ratio(seconds, name, step)])
    table(f"{repeat} rounds", ("seconds", "median", "min", "max", "x gensim"), sorted(rows, key=lambda row: row[0]))
    two = "any2vec, 2 threads"
    if (two, _LEARN) in seconds:
        verdict(f"{two}, x gensim, to find phrases", _ratio(seconds, two, _LEARN), _TARGET)
    out.print("gensim scores by the number of distinct words, so its phrases are others")


def _ratio(seconds: dict[tuple[str, str], list[float]], name: str, step: str) -> float:
    """Return how many times faster than gensim."""
    return statistics.median(a / b for a, b in zip(seconds["gensim", step], seconds[name, step], strict=True))


if __name__ == "__main__":
    app()
