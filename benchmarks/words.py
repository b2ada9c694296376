"""Measure any2vec on words against gensim, fastText and word2vec.c: speed, accuracy, memory, start-up time.

Each contender runs in a fresh process, and contenders take turns (A B C A B C ...), so that other load on the machine
affects all alike. Ratios are medians over the rounds of the ratio within a round. Needs the extra `bench`.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from machine import cores
from options import (
    BytesOption,
    DimOption,
    EpochsOption,
    JsonOption,
    NegativeOption,
    RepeatOption,
    SampleOption,
    WindowOption,
)
from rich.console import Console
from tables import Results, out, ratio, speed_table, speeds, table, verdict, write
from texts import CorpusOption, beginning, plain_text, short_lines
from words_contenders import KINDS
from words_jobs import Job, Settings, run

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)

OnlyOption = Annotated[str | None, typer.Option(help="Contenders as kind/threads, separated by commas.")]
FileOption = Annotated[Path | None, typer.Option(metavar="FILE", exists=True)]


@contextmanager
def _prepared(corpus: Path, size: int | None, **chosen: Any) -> Iterator[tuple[Settings, Path]]:
    """Yield the settings for a plain corpus in any2vec's cache, and a folder for more files."""
    with plain_text(corpus, size) as (path, folder):
        yield _cached(Settings(str(path), str(folder / "cache"), **chosen)), folder


def _cached(settings: Settings) -> Settings:
    """Put the corpus into any2vec's cache, and count its words."""
    from any2vec.corpus import read_corpus

    threads = len(cores()) or os.cpu_count() or 1
    text = read_corpus(settings.corpus, min_count=settings.min_count, threads=threads, cache=settings.cache)
    err.print(f"{text.raw_words:,} words, {len(text.vocabulary):,} in the vocabulary, {text.sentences:,} sentences")
    mapped = text.worklist.ids.nbytes + text.worklist.bounds.nbytes
    return replace(settings, words=text.raw_words, mapped=mapped)


def _rounds(jobs: dict[str, Job], repeat: int) -> Results:
    """Run the jobs in turn; those on one thread are pinned, in each round to the same core."""
    results: Results = {name: [] for name in jobs}
    usable = cores()
    for k in range(repeat):
        for name, job in jobs.items():
            core = usable[k % len(usable)] if usable and job.threads == 1 else None
            found = run(replace(job, core=core))
            results[name].append(found)
            speed = f"{found['words_per_second']:12,.0f} words/s" if "words_per_second" in found else ""
            err.print(f"round {k + 1}/{repeat}  {name:16}{speed}")
    return results


def _jobs(names: Iterable[str], settings: Settings, binaries: dict[str, Path | None]) -> dict[str, Job]:
    jobs = {}
    for name in names:
        job = Job(name.strip(), settings)
        if job.kind not in KINDS:
            raise typer.BadParameter(f"{name}: kinds are {', '.join(KINDS)}")
        if job.kind in binaries:
            if binaries[job.kind] is None:
                raise typer.BadParameter(f"{name}: give its program with --{job.kind}")
            job = replace(job, binary=str(Path(str(binaries[job.kind])).absolute()))
        jobs[job.name] = job
    return jobs


@app.command()
def speed(
    corpus: CorpusOption,
    size: BytesOption = None,
    dim: DimOption = 200,
    window: WindowOption = 5,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 1,
    repeat: RepeatOption = 3,
    only: OnlyOption = None,
    fasttext: FileOption = None,
    word2vec: FileOption = None,
    json_file: JsonOption = None,
) -> None:
    """Measure training in raw words per second, without reading the corpus or compiling.

    gensim: `train` with `corpus_file`. word2vec.c: from the first to the last progress it prints, by the wall clock.
    fastText: its own words/s. Contenders: window, exact, gensim, fasttext, word2vec.
    """
    binaries = {"fasttext": fasttext, "word2vec": word2vec}
    names = ["window/1", "exact/1", "gensim/1", "window/2", "exact/2", "gensim/2"]
    names += [f"{kind}/1" for kind, binary in binaries.items() if binary]
    names = only.split(",") if only else names
    chosen = {"dim": dim, "window": window, "negative": negative, "sample": sample, "epochs": epochs}
    with _prepared(corpus, size, **chosen) as (settings, _):
        jobs = _jobs(names, settings, binaries)
        results = _rounds(jobs, repeat)
    speed_table(
        f"{settings.words:,} words, D={dim}, window {window}, {negative} negatives, sample {sample:g}",
        results,
        [
            ("x gensim", {name: f"gensim/{job.threads}" for name, job in jobs.items()}),
            ("x one thread", {name: f"{job.kind}/1" for name, job in jobs.items() if job.threads > 1}),
        ],
    )
    verdict("window / gensim, one thread", ratio(results, "window/1", "gensim/1"), 8)
    verdict("exact / gensim, one thread", ratio(results, "exact/1", "gensim/1"), 4)
    for kind in ("window", "exact"):
        verdict(f"{kind}, two threads / one", ratio(results, f"{kind}/2", f"{kind}/1"), 1.9)
    write(json_file, "speed", settings, results)


def _at_once(job: Job) -> dict[str, Any]:
    """Run a job on one thread in a process on each core, all at once; add up their speeds."""
    pinned = [replace(job, core=core) for core in cores()]
    with ThreadPoolExecutor(len(pinned)) as pool:
        return {"words_per_second": sum(speeds(list(pool.map(run, pinned))))}


@app.command()
def threads(
    corpus: CorpusOption,
    size: BytesOption = None,
    dim: DimOption = 200,
    window: WindowOption = 5,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 3,
    repeat: RepeatOption = 5,
    json_file: JsonOption = None,
) -> None:
    """Compare a thread per core with a process per core, each with a model of its own: what the machine can do."""
    chosen = {"dim": dim, "window": window, "negative": negative, "sample": sample, "epochs": epochs}
    together, each = f"{len(cores())} threads", f"{len(cores())} processes"
    with _prepared(corpus, size, **chosen) as (settings, _):
        for kind in ("window", "exact"):
            one, many = (Job(f"{kind}/{n}", settings) for n in (1, len(cores())))
            results: Results = {"one thread": [], together: [], each: []}
            for k in range(repeat):
                results["one thread"].append(run(replace(one, core=cores()[k % len(cores())])))
                results[together].append(run(many))
                results[each].append(_at_once(one))
                err.print(f"{kind}  " + "  ".join(f"{name} {speeds(r)[-1]:,.0f}" for name, r in results.items()))
            ratios = [("x one thread", dict.fromkeys(results, "one thread")), ("x processes", {together: each})]
            speed_table(f"{kind}: {settings.words:,} words, D={dim}, {negative} negatives", results, ratios)
            verdict(f"{kind}, {together} / {each}", ratio(results, together, each), 0.95)
            write(json_file, f"threads, {kind}", settings, results)


@app.command()
def short(
    corpus: CorpusOption,
    size: BytesOption = None,
    dim: DimOption = 200,
    window: WindowOption = 5,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    repeat: RepeatOption = 3,
    only: OnlyOption = "window/1,exact/1,gensim/1,window/2,exact/2,gensim/2",
    json_file: JsonOption = None,
) -> None:
    """Compare training on a text with training on the same words in lines of 3 to 8 (gensim's issue 1509).

    A pair is a centre and a context word; short lines have fewer. Pairs are counted from any2vec's draws, which
    follow the same distribution as gensim's.
    """
    from words_kernel import count

    chosen = {"dim": dim, "window": window, "negative": negative, "sample": sample}
    with _prepared(corpus, size, **chosen) as (settings, folder):
        cut = _cached(replace(settings, corpus=str(short_lines(Path(settings.corpus), folder / "short.txt"))))
        jobs: dict[str, Job] = {}
        for name, job in _jobs(str(only).split(","), settings, {}).items():
            jobs |= {f"{name} long": job, f"{name} short": replace(job, settings=cut)}
        results = _rounds(jobs, repeat)
        pairs = {"long": count(settings)["pairs"], "short": count(cut)["pairs"]}
    rows = []
    for name, found in results.items():
        contender, _, lines = name.rpartition(" ")
        found_speeds = speeds(found)
        to_long = ratio(results, name, f"{contender} long") if lines == "short" else None
        middle = statistics.median(found_speeds)
        rows.append(
            (name, middle, min(found_speeds), max(found_speeds), to_long, middle * pairs[lines] / settings.words)
        )
    heads = ("lines", "median words/s", "min", "max", "short/long", "pairs/s")
    table(f"{settings.words:,} words; pairs: {pairs['long']:,} long, {pairs['short']:,} short", heads, rows)
    for name in dict.fromkeys(name.rpartition(" ")[0] for name in results if not name.startswith("gensim")):
        verdict(f"{name}, short / long lines", ratio(results, f"{name} short", f"{name} long"), 0.85)
    write(json_file, "short", settings, {"pairs": pairs, "runs": results})


@app.command()
def vocabulary(
    corpus: CorpusOption, size: BytesOption = None, repeat: RepeatOption = 3, json_file: JsonOption = None
) -> None:
    """Measure reading without the cache, vocabulary and encoding together; gensim: `build_vocab`."""
    with _prepared(corpus, size) as (settings, _):
        results = _rounds(_jobs(["read/1", "read/2", "build_vocab"], settings, {}), repeat)
    ratios = [("x build_vocab", dict.fromkeys(results, "build_vocab")), ("x one thread", {"read/2": "read/1"})]
    speed_table(f"{settings.words:,} words, vocabulary and encoding", results, ratios)
    for name in ("read/1", "read/2"):
        scan, encode = (statistics.median(r[part] for r in results[name]) for part in ("scan", "encode"))
        out.print(f"{name}: scan {scan:.2f} s, encode {encode:.2f} s")
    verdict("reading on two threads / build_vocab", ratio(results, "read/2", "build_vocab"), 12)
    write(json_file, "vocabulary", settings, results)


@app.command()
def accuracy(
    corpus: CorpusOption,
    size: BytesOption = None,
    dim: DimOption = 200,
    window: WindowOption = 5,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds: 1, 2, ...")] = 3,
    threads: Annotated[int, typer.Option(min=1, help="Threads per contender.")] = 2,
    only: Annotated[str, typer.Option(help="Kinds, separated by commas.")] = "window,exact,gensim",
    questions: FileOption = None,
    wordsim: FileOption = None,
    simlex: FileOption = None,
    json_file: JsonOption = None,
) -> None:
    """Measure accuracy over seeds: analogies (30,000 words) in percent, word similarity (Spearman's correlation x 100).

    any2vec's evaluators are used for gensim's vectors too.
    """
    chosen = {"dim": dim, "window": window, "negative": negative, "sample": sample, "epochs": epochs}
    files = {"questions": questions, "wordsim": wordsim, "simlex": simlex}
    paths = {name: str(path.absolute()) for name, path in files.items() if path}
    if not paths:
        raise typer.BadParameter("give --questions, --wordsim or --simlex")
    results: Results = {}
    with _prepared(corpus, size, **chosen) as (settings, _):
        for seed in range(1, seeds + 1):
            names = [f"{kind.strip()}/{threads}" for kind in only.split(",")]
            jobs = _jobs(names, replace(settings, seed=seed), {})
            for name, found in _rounds({name: replace(job, **paths) for name, job in jobs.items()}, 1).items():
                results.setdefault(name, []).extend(found)
    known = ("total", "semantic", "syntactic", "macro", "wordsim", "simlex")
    figures = [figure for figure in known if figure in next(iter(results.values()))[0]]
    means = {name: {f: statistics.mean(r[f] for r in found) for f in figures} for name, found in results.items()}
    rows: list[Sequence[Any]] = []
    for name, found in results.items():
        rows += [(f"{name} seed {k + 1}", *(f"{r[f]:.2f}" for f in figures)) for k, r in enumerate(found)]
        rows.append((f"[bold]{name} mean[/]", *(f"[bold]{means[name][f]:.2f}[/]" for f in figures)))
    theirs = means.get(f"gensim/{threads}", {})
    for name in means:
        if theirs and not name.startswith("gensim"):
            rows.append((f"{name} - gensim", *(f"{means[name][f] - theirs[f]:+.2f}" for f in figures)))
    table(f"{settings.words:,} words, D={dim}, {negative} negatives, epochs: {epochs}", ("", *figures), rows)
    for name in means:
        for figure in ("total", "wordsim", "simlex"):
            if not name.startswith("gensim") and figure in theirs:
                verdict(f"{name} - gensim, {figure}, means", means[name][figure] - theirs[figure], -0.5)
    write(json_file, "accuracy", settings, results)


def _first_sample(text: Path, settings: Settings, folder: Path) -> dict[str, float]:
    """Run `any2vec words` on a small text for one epoch; return the seconds from its start to the first sample.

    That is its wall time without the report's seconds of training; it includes saving a small model and the end of
    the process, some hundredths of a second.
    """
    report, vectors = folder / "report.json", folder / "vectors.bin"
    chosen = {name: getattr(settings, name) for name in ("dim", "window", "negative", "sample")}
    chosen |= {"epochs": 1, "output": vectors, "report": report}
    options = [part for name, value in chosen.items() for part in (f"--{name}", str(value))]
    places = {"NUMBA_CACHE_DIR": str(folder / "compiled"), "ANY2VEC_CACHE": str(folder / "corpora")}
    began = time.perf_counter()
    command = [sys.executable, "-m", "any2vec", "words", str(text), *options, "--quiet"]
    subprocess.run(command, env=os.environ | places, check=True)
    wall = time.perf_counter() - began
    seconds = json.loads(report.read_text())["seconds"]
    return {"first sample": wall - seconds["train"], **seconds}


@app.command()
def start(
    corpus: CorpusOption,
    size: BytesOption = None,
    dim: DimOption = 200,
    window: WindowOption = 5,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Measure seconds from process start to the first sample, cold and warm, and peak memory on the whole corpus.

    Cold: no kernel is compiled and the corpus is not cached; warm: both are; both on the first 500,000 bytes, with
    `any2vec words`. Also warm: the whole corpus, with the estimator. Peak memory: with the corpus cached.
    """
    chosen = {"dim": dim, "window": window, "negative": negative, "sample": sample}
    found: Results = {"cold": [], "warm": [], "warm, whole corpus": []}
    peaks: Results = {"window/1": [], "window/2": []}
    with _prepared(corpus, size, **chosen) as (settings, folder):
        text = beginning(Path(settings.corpus), folder / "small.txt", 500_000)
        for _ in range(repeat):
            with TemporaryDirectory(dir=folder) as own:
                for state in ("cold", "warm"):
                    found[state].append(_first_sample(text, settings, Path(own)))
                    err.print(f"{state}  {found[state][-1]['first sample']:.2f} s")
        for _ in range(repeat):
            for name in peaks:
                began = time.time()
                ran = run(Job(name, settings))
                peaks[name].append(ran)
                wait = ran["fitted"] - ran["seconds"] - began
                found["warm, whole corpus"].append({"first sample": wait})
                err.print(f"{name}  {wait:.2f} s  {ran['peak'] / 2**20:,.0f} MiB")
    rows = []
    for state, runs in found.items():
        waits = [r["first sample"] for r in runs]
        known = [part for part in runs[0] if part not in ("first sample", "train")]
        parts = ", ".join(f"{part} {statistics.median(r[part] for r in runs):.2f}" for part in known)
        rows.append((state, statistics.median(waits), min(waits), max(waits), parts))
    table("seconds to the first sample", ("", "median", "min", "max", "of which"), rows)
    verdict("cold", statistics.median(r["first sample"] for r in found["cold"]), 20, " s", least=False)
    for state in ("warm", "warm, whole corpus"):
        verdict(state, statistics.median(r["first sample"] for r in found[state]), 1, " s", least=False)
    mib = 2.0**20
    ran = peaks["window/1"][0]
    model = 2 * ran["vocabulary"] * -(-dim // 16) * 16 * 4 / mib
    mapped = settings.mapped / mib
    most = 1.3 * (model + 64) + mapped
    rows = [(name, max(r["peak"] for r in runs) / mib, model, mapped, most) for name, runs in peaks.items()]
    table("memory, MiB", ("", "peak", "model", "mapped corpus", "1.3 x (model + 64) + mapped"), rows)
    for name, peak, *_ in rows:
        verdict(f"{name}, peak memory", peak, most, " MiB", least=False)
    write(json_file, "start", settings, {"start": found, "memory": peaks})


@app.command()
def shares(
    corpus: CorpusOption,
    size: BytesOption = None,
    dim: DimOption = 200,
    window: WindowOption = 5,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    json_file: JsonOption = None,
) -> None:
    """Show where the time of one thread goes, in nanoseconds per centre; words_kernel.py describes the method."""
    chosen = {"dim": dim, "window": window, "negative": negative, "sample": sample}
    with _prepared(corpus, size, **chosen) as (settings, _):
        found = _rounds({"parts": Job("parts", settings)}, 1)["parts"][0]
    parts = ("dots", "logistic", "update", "sampling", "memory", "other")
    rows = []
    for schedule in ("window", "exact"):
        ran = found[schedule]
        rows.append(
            (schedule, ran["kernel"], *(f"{ran[p]:,.0f} ({100 * ran[p] / ran['kernel']:.0f} %)" for p in parts))
        )
        pairs = ran["pairs"] / ran["centres"]
    title = f"{settings.words:,} words, {ran['centres']:,} centres, {pairs:.2f} contexts each; ns per centre"
    table(title, ("", "kernel", *parts), rows)
    rows = [(f"{name}, GFLOP/s", *map(float, values)) for name, values in found["gflops"].items()]
    heads = [f"{n} row{'s' * (n > 1)}" for n in range(1, 1 + len(rows[0][1:]))]
    table("in the L1 cache, by source rows of a tile", ("", *heads), rows)
    write(json_file, "shares", settings, found)


if __name__ == "__main__":
    app()
