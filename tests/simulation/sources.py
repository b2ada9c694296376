"""Texts and graphs of a seed, in all forms in which users give them."""

import bz2
import gzip
import lzma
import random
from pathlib import Path

import pyarrow
from pyarrow import parquet

from any2vec.graph import read_graph
from simulation.draw import Case

__all__ = ["make", "text_of"]

ODD = (
    b"",
    b"w0",
    b" \t  ",
    b"w1 \xff\xfe w2 \xc3",
    b"  w1\tw2  w0\r",
    "w1 é 本 w2 \ufffd".encode(),
    b" ".join(b"w%d" % (i % 7) for i in range(1300)),  # of several chunks
    b"once",
    b"Upper, case. w1 (w2)",
    b"w" * 300 + b" w1 w2",
)


def text_of(source: dict) -> list[bytes]:
    """Return the lines of a text."""
    d = random.Random(source["seed"])
    known = [b"w%d" % i for i in range(source["words"])]
    weights = [1 / (i + 1) for i in range(len(known))]
    lines = [b" ".join(d.choices(known, weights, k=d.randint(1, 9))) for _ in range(source["lines"])]
    for _ in range(source["odd"]):
        lines.insert(d.randint(0, len(lines)), d.choice(ODD))
    return lines


def edges_of(source: dict) -> list[tuple[str, str, int]]:
    """Return the edges of a graph; of kinds, between neighbouring ones."""
    d, n = random.Random(source["seed"]), source["vertices"]
    pairs = [(0, 1)] + [(d.randrange(n), d.randrange(n)) for _ in range(source["edges"])]
    if source["form"] == "kinds":  # a, b, c by number modulo 3; a and c have no edge
        pairs = [(3 * i + d.choice((0, 2)), 3 * j + 1) for i, j in pairs]
    return [(f"v{i}", f"v{j}", d.randint(1, 9)) for i, j in pairs]


def make(case: Case, folder: Path):
    """Write the data into a folder, unless they are objects; return what `fit` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    if case.estimator in ("DeepWalk", "Node2Vec"):
        return graph(case, folder)
    lines, form = text_of(case.source), case.source["form"]
    decoded = [line.decode(errors="replace") for line in lines]
    if form == "sentences":
        return [line.split() for line in decoded]
    if form == "rows":
        return [{"text": line} for line in decoded]
    if form == "parquet":
        rows = pyarrow.array(decoded, pyarrow.string())
        parquet.write_table(pyarrow.table({"text": rows}), folder / "t.parquet", row_group_size=7)
        return folder / "t.parquet"
    if form in ("several", "folder"):
        files = several(lines, folder)
        return folder if form == "folder" else files
    pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}.get(form, bytes)
    path = folder / ("t.txt" if form == "file" else f"t.{form}")
    path.write_bytes(pack(b"\n".join(lines) + b"\n" * (case.seed % 2)))
    return path


def several(lines: list[bytes], folder: Path) -> list[Path]:
    """Write lines to three files, of which one is compressed; none ends with a line feed."""
    files, third = [folder / "a.txt", folder / "b.txt", folder / "c.txt.gz"], len(lines) // 3
    for file, some in zip(files, (lines[:third], lines[third : 2 * third], lines[2 * third :]), strict=True):
        content = b"\n".join(some)
        file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return files


def graph(case: Case, folder: Path):
    """Write a graph, unless it is an object."""
    source, edges = case.source, edges_of(case.source)
    rows = [f"{a} {b} {weight}" if source["weighted"] else f"{a} {b}" for a, b, weight in edges]
    odd = ("# a comment", "", "v0 v0 1" if source["weighted"] else "v0 v0")
    if source["form"] == "kinds":
        odd = odd[:2]
    d = random.Random(source["seed"] + 1)
    for _ in range(source["odd"]):
        rows.insert(d.randint(1, len(rows)), d.choice(odd))
    if source["form"] == "pairs":
        return [edge if source["weighted"] else edge[:2] for edge in edges]
    content = ("\n".join(rows) + "\n").encode()
    if source["form"] == "gz":
        (folder / "g.edges.gz").write_bytes(gzip.compress(content))
        return folder / "g.edges.gz"
    if source["form"] == "parts":
        parts = folder / "g"
        parts.mkdir(exist_ok=True)
        for part in range(3):
            (parts / f"part-{part}").write_text("".join(f"{row}\n" for row in rows[part::3]))
        return parts
    (folder / "g.edges").write_bytes(content)
    if source["form"] == "file":
        return folder / "g.edges"
    how = {"directed": case.options.get("directed")}
    if source["form"] == "kinds":
        names = sorted({name for a, b, _ in edges for name in (a, b)})
        how["kinds"] = {name: "abc"[int(name[1:]) % 3] for name in names}
    return read_graph(folder / "g.edges", threads=1, **how)
