"""Measure a map of many words: seconds of its parts, the size of its page, and how soon Chromium answers with it.

The vectors are random points around 1,000 centres, or a file's. UMAP's seconds include compiling. Chromium needs
selenium, and the programs chromium and chromedriver.

    pip install '.[plot]' selenium && python benchmarks/maps.py
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tables import out, table

import any2vec
from any2vec.plot import projection
from any2vec.vectors import search
from any2vec.vectors.search import nearest

_TYPED = "w"  # in the box that finds a word
_ASKED = 1_000  # words whose neighbours are compared with the exact ones


def main(
    vectors: Annotated[Path | None, typer.Option(help="A file of vectors.")] = None,
    number: Annotated[int, typer.Option(help="Words.")] = 100_000,
    dim: Annotated[int, typer.Option(help="Dimensions of random vectors.")] = 200,
    keep: Annotated[Path | None, typer.Option(help="Where to write the page.")] = None,
) -> None:
    """Print the figures."""
    loaded = any2vec.load(vectors) if vectors else _clusters(number, dim)
    number = min(number, len(loaded))
    took: dict[str, tuple[float, float]] = {}
    search.neighbour_graph = _timed(search.neighbour_graph, "nearest words", took)
    projection.project = _timed(projection.project, "UMAP, from the nearest words", took)
    found = _timed(loaded.map, "map, in all", took)(top=number)
    with tempfile.TemporaryDirectory() as folder:
        page = keep or Path(folder) / "map.html"
        _timed(found.save, "page", took)(page, force=True)
        rows = [[name, f"{wall:.1f}", f"{cpu:.1f}"] for name, (wall, cpu) in took.items()]
        say = partial(out.print, soft_wrap=True)
        table("", ["part", "seconds", "seconds of processors"], rows)
        say(f"words {number:,} x {loaded.dim}, load {os.getloadavg()[0]:.1f}, page {page.stat().st_size / 1e6:.1f} MB")
        say(f"share of UMAP: {took['UMAP, from the nearest words'][0] / took['map, in all'][0]:.0%}")
        say(f"nearest words that are the exact ones: {_recall(loaded, found):.4f}")
        if shutil.which("chromedriver"):
            say(f"Chromium answers after {_seconds_of_chromium(page.resolve()):.1f} s")


def _clusters(number: int, dim: int) -> any2vec.Vectors:
    random = np.random.default_rng(1)
    centres = random.standard_normal((1_000, dim), np.float32)
    rows = centres[random.integers(0, len(centres), number)] + 0.8 * random.standard_normal((number, dim), np.float32)
    return any2vec.Vectors([f"word{i}" for i in range(number)], rows)


def _timed(function: Callable[..., Any], name: str, took: dict[str, tuple[float, float]]) -> Callable[..., Any]:
    def run(*given: Any, **how: Any) -> Any:
        began = time.perf_counter(), time.process_time()
        result = function(*given, **how)
        took[name] = time.perf_counter() - began[0], time.process_time() - began[1]
        return result

    return run


def _recall(vectors: any2vec.Vectors, found: Any) -> float:
    asked = np.linspace(0, len(found) - 1, min(_ASKED, len(found))).astype(np.int64)
    some = slice(0, len(found))
    matrix = vectors.matrix[some]
    exact, _ = nearest(matrix, vectors.norms[some], matrix[asked], found.neighbours.shape[1], asked[:, None])
    same = (len(set(a) & set(b)) for a, b in zip(exact.tolist(), found.neighbours[asked].tolist(), strict=True))
    return sum(same) / exact.size


def _seconds_of_chromium(page: Path) -> float:
    """Return the seconds from opening the page to an answer of its box."""
    from selenium import webdriver
    from selenium.webdriver.common.by import By

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--window-size=1280,800", "--enable-unsafe-swiftshader"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        began = time.perf_counter()
        browser.get(page.as_uri())
        box = browser.find_element(By.ID, "find")
        while not box.is_enabled():
            time.sleep(0.02)
        box.send_keys(_TYPED)
        while not browser.find_elements(By.CSS_SELECTOR, "#found li"):
            time.sleep(0.02)
        return time.perf_counter() - began
    finally:
        browser.quit()


if __name__ == "__main__":
    typer.run(main)
