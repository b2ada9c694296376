"""The contenders: any2vec, gensim, and the binaries of fastText and word2vec.c.

Run as a script, with a `Job` as JSON, this module does the job and prints its figures as JSON; `words_jobs.run` starts
it. A contender's name is its kind and its threads: "window/2", "gensim/1".
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from words_jobs import Job, Settings

__all__ = ["KINDS"]


def _any2vec(job: Job) -> dict[str, Any]:
    from any2vec import Word2Vec

    chosen = {k: v for k, v in asdict(job.settings).items() if k not in ("corpus", "words", "mapped")}
    negatives_per = "pair" if job.kind == "exact" else job.kind
    model = Word2Vec(**chosen, threads=job.threads, negatives_per=negatives_per).fit(job.settings.corpus)
    fitted, report = time.time(), model.report_
    seconds = report.seconds["train"]
    speed = {"seconds": seconds, "words_per_second": report.words * job.settings.epochs / seconds}
    about = {"vocabulary": report.vocabulary, "kept_words": report.kept_words, "cached": report.cached}
    peak = _peak() or report.peak_memory
    return {**speed, **about, "fitted": fitted, "loss": report.loss, "peak": peak, **_judge(job, model.vectors_)}


def _gensim_model(job: Job, **more: Any) -> Any:
    from gensim.models import Word2Vec

    s = job.settings
    chosen = {"vector_size": s.dim, "window": s.window, "negative": s.negative, "sample": s.sample} | more
    return Word2Vec(
        sg=1, hs=0, alpha=s.alpha, min_count=s.min_count, epochs=s.epochs, seed=s.seed, workers=job.threads, **chosen
    )


def _gensim(job: Job) -> dict[str, Any]:
    import numpy as np

    from any2vec import Vectors

    s = job.settings
    model = _gensim_model(job)
    model.build_vocab(corpus_file=s.corpus)
    words = model.corpus_total_words
    began = time.perf_counter()
    model.train(corpus_file=s.corpus, total_words=words, total_examples=model.corpus_count, epochs=s.epochs)
    seconds = time.perf_counter() - began
    known = model.wv.index_to_key
    counts = np.array([model.wv.get_vecattr(word, "count") for word in known], np.int64)
    figures = {"seconds": seconds, "words_per_second": words * s.epochs / seconds, "vocabulary": len(known)}
    return {**figures, "peak": _peak(), **_judge(job, Vectors(known, model.wv.vectors, counts=counts))}


def _fasttext(job: Job) -> dict[str, Any]:
    """Take fastText's own figure, by the wall clock: vocabulary words and line ends per second of training.

    On one thread it prints no progress before the end.
    """
    s = job.settings
    options = {"dim": s.dim, "ws": s.window, "neg": s.negative, "t": s.sample, "lr": s.alpha, "epoch": s.epochs}
    options |= {"minCount": s.min_count, "minn": 0, "maxn": 0, "bucket": 0, "loss": "ns", "thread": job.threads}
    with TemporaryDirectory() as folder:
        files = {"input": s.corpus, "output": str(Path(folder, "vectors"))}
        command = [str(job.binary), "skipgram", *_flags(files | options)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    shown = re.findall(rb"words/sec/thread:\s*(\d+)", done.stdout)
    if done.returncode or not shown:
        raise SystemExit(f"{job.binary}: status {done.returncode}: {done.stdout[-200:]!r}")
    return {"words_per_second": float(shown[-1]) * job.threads}


def _word2vec(job: Job) -> dict[str, Any]:
    """Time the words between the first and the last progress printed, by the wall clock: no vocabulary, no saving."""
    s = job.settings
    options = {"size": s.dim, "window": s.window, "negative": s.negative, "sample": s.sample, "alpha": s.alpha}
    options |= {"iter": s.epochs, "min-count": s.min_count, "threads": job.threads, "cbow": 0, "hs": 0, "binary": 1}
    with TemporaryDirectory() as folder:
        files = {"train": s.corpus, "output": str(Path(folder, "vectors.bin"))}
        marks, state = _marks([str(job.binary), *_flags(files | options)])
    if state or len(marks) < 2 or marks[-1][1] <= marks[0][1]:
        raise SystemExit(f"{job.binary}: status {state}, {len(marks)} marks of progress")
    (start, low), (end, high) = marks[0], marks[-1]
    done = s.words * s.epochs * (high - low) / 100
    return {"seconds": end - start, "words_per_second": done / (end - start)}


def _flags(options: dict[str, Any]) -> list[str]:
    return [part for name, value in options.items() for part in (f"-{name}", str(value))]


def _marks(command: list[str]) -> tuple[list[tuple[float, float]], int]:
    """Run a program; return the times and percentages of its progress, and its status."""
    marks: list[tuple[float, float]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:
        text = b""
        while piece := os.read(program.stdout.fileno(), 1 << 16):
            now, text = time.perf_counter(), text[-64:] + piece
            shown = re.findall(rb"Progress:\s*([\d.]+)%", text)
            marks += [(now, float(shown[-1]))] if shown else []
    return marks, program.returncode


def _read(job: Job) -> dict[str, Any]:
    """Read a corpus with kernels already compiled: scan, choose, encode."""
    from any2vec.corpus import read_corpus

    s = job.settings
    with TemporaryDirectory() as folder:
        tiny = Path(folder, "tiny.txt")
        with Path(s.corpus).open("rb") as source:
            tiny.write_bytes(source.read(1 << 20))
        read_corpus(str(tiny), min_count=1, threads=job.threads, cache=None)
    began = time.perf_counter()
    corpus = read_corpus(s.corpus, min_count=s.min_count, threads=job.threads, cache=None)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, **corpus.seconds, "words_per_second": corpus.raw_words / seconds}


def _build_vocab(job: Job) -> dict[str, Any]:
    """Count words with gensim; vectors have length 1, so that creating them costs nothing."""
    model = _gensim_model(job, vector_size=1)
    began = time.perf_counter()
    model.build_vocab(corpus_file=job.settings.corpus)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "words_per_second": model.corpus_total_words / seconds}


def _parts(job: Job) -> dict[str, Any]:
    from words_kernel import measure  # not above: it would count as start and memory of the others

    return measure(job.settings)


def _judge(job: Job, vectors: Any) -> dict[str, float]:
    """Evaluate any contender's vectors with any2vec's evaluators; figures in percent or points."""
    from any2vec.evaluate.analogies import evaluate_analogies, evaluate_similarity

    figures = {}
    if job.questions:
        result = evaluate_analogies(vectors, job.questions)
        scores = (result.total, result.semantic, result.syntactic)
        figures |= {score.name: score.accuracy for score in scores} | {"macro": result.macro}
    for name in ("wordsim", "simlex"):
        if path := getattr(job, name):
            figures[name] = 100 * evaluate_similarity(vectors, path).spearman
    return figures


def _peak() -> int:
    """Return the peak memory of this process in bytes; 0 if the system does not report it.

    Not `ru_maxrss`: on Linux it starts from the memory of the parent process.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


KINDS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "window": _any2vec,
    "exact": _any2vec,
    "gensim": _gensim,
    "fasttext": _fasttext,
    "word2vec": _word2vec,
    "read": _read,
    "build_vocab": _build_vocab,
    "parts": _parts,
}
"""How each contender is run."""

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    wanted = replace(Job(**asked), settings=Settings(**asked["settings"]))
    if wanted.core is not None:
        os.sched_setaffinity(0, {wanted.core})
    print(json.dumps(KINDS[wanted.kind](wanted)))
