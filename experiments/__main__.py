"""Repeat results of the papers: `python -m experiments NAME` writes results/NAME.json and .svg.

Without a name it lists them; `all` runs all of them, one after the other.
"""

import time
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from tables import out

from any2vec import Any2VecError
from experiments import EXPERIMENTS
from experiments.found import RESULTS, keep
from experiments.settings import FILES, Settings

OwnSize = Annotated[int | None, typer.Option(min=1, help="By default the experiment's own.")]
DataOption = Annotated[
    Path | None,
    typer.Option(envvar="ANY2VEC_DATA", exists=True, file_okay=False, help=f"Has {', '.join(FILES.values())}."),
]
FileOption = Annotated[Path | None, typer.Option(exists=True, help="In place of that in the folder of data.")]


def module(name: str) -> str:
    """Return the name of an experiment's module."""
    return f"experiments.{name.replace('-', '_')}"


def main(
    name: Annotated[str | None, typer.Argument(help="Of an experiment; or all.")] = None,
    data: DataOption = None,
    corpus: FileOption = None,
    questions: FileOption = None,
    size: Annotated[int | None, typer.Option("--bytes", min=1, help="Use the first BYTES bytes of the corpus.")] = None,
    dim: OwnSize = None,
    window: OwnSize = None,
    negative: OwnSize = None,
    epochs: OwnSize = None,
    hosts: Annotated[int | None, typer.Option(min=2, help="Simulated hosts.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Separated by commas.")] = None,
    threads: OwnSize = None,
    word2vec: Annotated[Path | None, typer.Option(exists=True, help="The program of word2vec.c, for one-host.")] = None,
    results: Annotated[Path, typer.Option(help="Folder of the figures.")] = RESULTS,
) -> None:
    """Repeat results of the papers; without a name, list them."""
    if name is None:
        for one in EXPERIMENTS:
            out.print(f"{one:16}{(import_module(module(one)).__doc__ or '').partition(chr(10))[0]}", soft_wrap=True)
        return
    if name not in (*EXPERIMENTS, "all"):
        raise typer.BadParameter(f"no experiment {name!r}: one of {', '.join(EXPERIMENTS)}, or all")
    given = Settings(
        data=data,
        corpus=corpus,
        questions=questions,
        size=size,
        dim=dim,
        window=window,
        negative=negative,
        epochs=epochs,
        hosts=hosts,
        seeds=tuple(map(int, seeds.split(","))) if seeds else None,
        threads=threads,
        word2vec=word2vec,
    )
    try:
        for one in EXPERIMENTS if name == "all" else (name,):
            began, used = time.perf_counter(), time.process_time()
            keep(one, import_module(module(one)).measure(given), results)
            minutes = [(time.perf_counter() - began) / 60, (time.process_time() - used) / 60]
            out.print("{}: {:.1f} minutes, {:.1f} of CPU".format(one, *minutes))
    except Any2VecError as error:
        raise typer.BadParameter(str(error)) from None


if __name__ == "__main__":
    typer.run(main)
