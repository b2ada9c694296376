"""Measure what any2vec writes itself against a library: rows of a graph, neighbours of words.

Both run in this process and take turns (A B A B ...); ratios are medians over the rounds.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from options import RepeatOption
from tables import table

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def rows(
    vertices: Annotated[int, typer.Option(help="Vertices of a random graph.")] = 1_000_000,
    edges: Annotated[int, typer.Option(help="Its edges.")] = 10_000_000,
    threads: Annotated[int, typer.Option(help="Threads of any2vec; SciPy has one.")] = 2,
    repeat: RepeatOption = 5,
) -> None:
    """Sort the edges of an undirected graph into compressed sparse rows, against SciPy."""
    import scipy.sparse

    from any2vec.graph.csr import Edges, build_csr

    random = np.random.default_rng(1)
    skewed = (random.random((2, edges)) ** 3 * vertices).astype(np.int32)  # low numbers have high degrees
    sources, targets = skewed
    ones = np.ones(edges, np.float32)

    def ours() -> Any:
        return build_csr([Edges(sources, targets, ones)], vertices, directed=False, threads=threads)

    def scipy_rows() -> Any:
        matrix = scipy.sparse.coo_array((ones, (sources, targets)), (vertices, vertices)).tocsr()
        matrix = matrix + matrix.T
        matrix.sort_indices()
        return matrix

    kept, theirs = ours(), scipy_rows()
    if len(kept.indices) != theirs.nnz or (kept.indices != theirs.indices).any():
        raise SystemExit("the rows differ")
    _compare({"any2vec": ours, "SciPy": scipy_rows}, repeat)


@app.command()
def neighbours(
    questions: Annotated[Path, typer.Argument(help="Analogies, such as questions-words.txt.", exists=True)],
    words: Annotated[int, typer.Option(help="Words of random vectors.")] = 100_000,
    dim: Annotated[int, typer.Option(help="Columns of the vectors.")] = 100,
    asked: Annotated[int, typer.Option(help="Questions, the first ones of the file.")] = 2_000,
    repeat: RepeatOption = 3,
) -> None:
    """Answer analogies, and ask for neighbours and ranks, against gensim on the same matrix in memory."""
    from any2vec import Vectors
    from any2vec.vectors.questions import QuestionSection, read_questions

    found = [question for section in read_questions(questions) for question in section.questions][:asked]
    known = list(dict.fromkeys(word for question in found for word in question))
    names = [*known, *(f"word{i}" for i in range(words - len(known)))]
    ours = Vectors(names, np.random.default_rng(1).standard_normal((len(names), dim)).astype(np.float32))
    theirs = ours.to_gensim()
    section = QuestionSection("all", tuple(found))
    some = known[:200]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "questions.txt")
        path.write_text(": all\n" + "".join(" ".join(question) + "\n" for question in found), "utf-8")
        if ours.evaluate_word_analogies([section]) != theirs.evaluate_word_analogies(str(path)):
            raise SystemExit("the answers differ")
        evaluate = [partial(v.evaluate_word_analogies, str(path)) for v in (ours, theirs)]
        _compare(dict(zip(("any2vec, analogies", "gensim"), evaluate, strict=True)), repeat)
    single = partial(_each, theirs.most_similar, some)
    _compare({"any2vec, one by one": partial(_each, ours.most_similar, some), "gensim": single}, repeat)
    _compare({"any2vec, a batch": partial(ours.most_similar_batch, some), "gensim": single}, repeat)
    ranked = [partial(_each, partial(v.rank, known[0]), some) for v in (ours, theirs)]
    _compare(dict(zip(("any2vec, ranks", "gensim"), ranked, strict=True)), repeat)


def _each(ask: Callable[[str], Any], words: list[str]) -> None:
    for word in words:
        ask(word)


def _compare(contenders: dict[str, Callable[[], Any]], repeat: int) -> None:
    """Print CPU and wall seconds, and the ratio of CPU seconds to those of the first, any2vec."""
    first = next(iter(contenders))
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeat):
        for name, run in contenders.items():
            began, used = time.perf_counter(), time.process_time()
            run()
            wall[name].append(time.perf_counter() - began)
            cpu[name].append(time.process_time() - used)
    rows: list[list[Any]] = []
    for name in contenders:
        ratio = statistics.median(a / b for a, b in zip(cpu[name], cpu[first], strict=True))
        rows.append([name, statistics.median(wall[name]), statistics.median(cpu[name]), ratio])
    table(f"{repeat} rounds, medians", ("", "seconds", "CPU seconds", "x any2vec's CPU"), rows)


if __name__ == "__main__":
    app()
