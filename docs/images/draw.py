"""Draw the pictures of the documentation: words of the presidents' speeches, and the karate club, by their vectors.

    pip install '.[graphs,plot]' selenium && python docs/images/draw.py

Six groups of words were chosen by hand; a colour is a group, or one of the two clubs. Training does not see them.
The picture of a page needs Chromium and chromedriver.
"""

import io
import shutil
import tempfile
import time
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from adjustText import adjust_text
from PIL import Image
from selenium import webdriver
from sklearn.manifold import TSNE

from any2vec import DeepWalk, Vectors, Word2Vec
from any2vec.graph import karate_club

FOLDER = Path(__file__).parent
COLOURS = ("#d1495b", "#00798c", "#8a6d00", "#5b3a8c", "#30638e", "#2f7d32")
GROUPS = (
    "war army navy troops enemy soldiers weapons",
    "budget taxes deficit spending dollars inflation wages prices",
    "schools teachers college children families education",
    "russia soviet germany china korea vietnam",
    "january march april june july september",
    "god faith prayer liberty freedom hope peace",
)
PLAIN = {"svg.hashsalt": "any2vec", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 8}


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture without a date, so that it changes only with what it shows."""
    figure.savefig(FOLDER / name, metadata={"Date": None}, bbox_inches="tight")


def blank(width: float, height: float) -> tuple[plt.Figure, plt.Axes]:
    """Make a figure without axes."""
    figure, axes = plt.subplots(figsize=(width, height))
    axes.set_axis_off()
    return figure, axes


@cache
def presidents() -> Vectors:
    """Train on the speeches that come with any2vec, as `any2vec demo` does."""
    with as_file(files("any2vec") / "data" / "presidents.txt.xz") as text:
        return Word2Vec(epochs=30, sample=1e-4, threads=1).fit(text).vectors_


def speeches() -> None:
    """Draw words of the speeches, by t-SNE."""
    vectors = presidents()
    words = [word for group in GROUPS for word in group.split()]
    rows = np.array([vectors[word] for word in words])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    places = TSNE(perplexity=7, metric="cosine", init="pca", random_state=1).fit_transform(rows)
    figure, axes = blank(5.6, 4.0)
    texts = []
    for k, group in enumerate(GROUPS):
        for word in group.split():
            x, y = places[words.index(word)]
            axes.plot(x, y, ".", color=COLOURS[k], markersize=3)
            texts.append(axes.text(x, y, word, color=COLOURS[k]))
    adjust_text(texts, ax=axes)
    axes.set_title("t-SNE map of words from US presidents' speeches", fontsize=10)
    save(figure, "speeches.svg")


def karate() -> None:
    """Draw Zachary's karate club: its friendships, and the two principal components of its vectors."""
    edges, labels = karate_club()
    vectors = DeepWalk(dim=16, epochs=20, threads=1).fit(edges).vectors_
    rows = np.asarray(vectors) - np.asarray(vectors).mean(axis=0)
    places = dict(zip(vectors.words, rows @ np.linalg.svd(rows, full_matrices=False)[2][:2].T, strict=True))
    clubs, friends = (
        [line.split() for line in file.read_text().splitlines() if line[0] != "#"] for file in (labels, edges)
    )
    club_of = dict(clubs)
    figure, axes = blank(6.4, 4.6)
    for a, b in friends:
        axes.plot(*zip(places[a], places[b], strict=True), color="#cccccc", linewidth=0.6, zorder=1)
    for name, place in places.items():
        axes.plot(*place, "o", color=COLOURS[int(club_of[name] == club_of["1"])], markersize=9, zorder=2)
        axes.annotate(name, place, color="white", fontsize=6, ha="center", va="center", zorder=3)
    save(figure, "karate.svg")


def maps() -> None:
    """Draw what `any2vec map` draws of the speeches: a picture, and a page with a word that was found."""
    presidents().map(top=300, clusters=6).save(FOLDER / "map.svg", force=True)
    options = webdriver.ChromeOptions()
    for flag in ("headless=new", "no-sandbox", "window-size=1280,800", "hide-scrollbars", "enable-unsafe-swiftshader"):
        options.add_argument(f"--{flag}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    with tempfile.TemporaryDirectory() as folder:
        presidents().map(clusters=8).save(Path(folder) / "map.html", title="speeches")
        browser.get((Path(folder) / "map.html").as_uri())
        box = browser.find_element("id", "find")
        while not box.is_enabled():
            time.sleep(0.1)
        box.send_keys("soviet", webdriver.Keys.ENTER)
        browser.find_element("id", "out").click()
        time.sleep(3)
        seen = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        browser.quit()
    seen.quantize(256, Image.Quantize.MAXCOVERAGE).save(FOLDER / "map-page.png", optimize=True)


def run() -> None:
    """Draw the report of a run of eight simulated hosts."""
    with as_file(files("any2vec") / "data" / "presidents.txt.xz") as text:
        report = Word2Vec(epochs=3, hosts=8).fit(text).report_
    file, figure = io.BytesIO(), report.plot()
    figure.set_size_inches(8, 11)  # texts are larger in it
    figure.savefig(file, format="png", dpi=120)
    Image.open(file).convert("RGB").quantize(64).save(FOLDER / "run.png", optimize=True)


if __name__ == "__main__":
    maps()
    run()
    plt.rcParams.update(PLAIN)
    speeches()
    karate()
