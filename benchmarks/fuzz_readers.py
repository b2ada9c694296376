"""The readers that `fuzz_formats.py` tries: valid inputs, how files are made of an input, reading, and use of it.

An input is the files of a case with `PART` between them. Where a checksum guards what is read, it is put right, so that
mutations get past it.
"""

import gzip
import io
import json
import os
import resource
import signal
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from fuzz_mutations import PART

from any2vec import Any2VecError, DeepWalk, Doc2Vec, Phrases, Vectors, Word2Vec, load, save
from any2vec.classify.fasttext import load_fasttext, save_fasttext
from any2vec.classify.model import LabelModel
from any2vec.classify.quantized import Quantized
from any2vec.cluster.local import alone
from any2vec.corpus import cache_entry
from any2vec.corpus.parts import Features, Subwords
from any2vec.corpus.vocabulary import load_vocabulary
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.graph import read_graph, read_labels
from any2vec.graph.sources import mat_process, matrices
from any2vec.io.safetensors_file import map_tensors
from any2vec.io.tables import list_type, open_column, table_columns
from any2vec.report.log import read_report
from any2vec.report.page import facts, panels, write_page
from any2vec.sync.channel import Partition
from any2vec.training.checkpoints.manifest import own_digest
from any2vec.training.checkpoints.resume import read_state
from any2vec.vectors.files.hub import model_card
from any2vec.vectors.index import _END_OF, _NAME, digest_of_rows
from any2vec.vectors.questions import read_pairs, read_questions

MODELS = {kind.__name__: kind for kind in (Word2Vec, Doc2Vec, DeepWalk)}
HOW: dict[str, Any] = {"dim": 6, "min_count": 1, "cache": None, "threads": 1, "epochs": 1, "sample": 0}
TEXT = [["the", "cat", "sät", "on", "the", "mat"], ["the", "dog", "on", "a", "log"]] * 8
FOLDER = ("any2vec.json", "vocabulary.json", "vectors.safetensors", "model.json")
MODEL = (*FOLDER, *(f"documents/{name}" for name in FOLDER[:3]))
usually: set[bool] = {True}
"""Whether what takes long is done with one of 32 files only."""


class Skip(Exception):  # noqa: N818
    """An input that makes no file."""


class Late(BaseException):
    """A case that takes too long; readers must not take it for an error of a file."""


@dataclass(frozen=True)
class Reader:
    """A reader: valid inputs, files of an input, reading, use; and how far what it needs may exceed the usual."""

    seeds: Callable[[Path], list[bytes]]
    build: Callable[[bytes, Path], Path]
    read: Callable[[Path], Any]
    use: Callable[[Any, Path], None] = lambda found, path: None
    spare: int = 0  # bytes


# Files of inputs


def file(name: str) -> Callable[[bytes, Path], Path]:
    """Write an input as a file."""

    def build(data: bytes, folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return build


def compressed(data: bytes, folder: Path) -> Path:
    """Compress an input, unless it is so already."""
    content = data if data.startswith(b"\x1f\x8b") else gzip.compress(data, 1, mtime=0)
    return file("v.txt.gz")(content, folder)


def folder_of(names: tuple[str, ...]) -> Callable[[bytes, Path], Path]:
    """Write the files of a saved folder, with the digests of their rows; empty parts are missing files."""

    def build(data: bytes, folder: Path) -> Path:
        parts = data.split(PART)
        for name, part in zip(names, parts, strict=False):
            if part:
                (folder / "v" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "v" / name).write_bytes(part)
        for inner in {Path(name).parent for name in names}:
            _sign(folder / "v" / inner)
        return folder / "v"

    return build


def _sign(folder: Path) -> None:
    with suppress(Any2VecError, OSError, ValueError, RecursionError, TypeError, AttributeError):
        meta = json.loads((folder / FOLDER[0]).read_bytes())
        tensors = map_tensors(folder / FOLDER[2])
        if isinstance(meta.get("rows"), dict):
            meta["rows"] |= {name: digest_of_rows(rows) for name, rows in tensors.items()}
            (folder / FOLDER[0]).write_text(json.dumps(meta))


def parts_of(folder: Path, names: tuple[str, ...]) -> bytes:
    """Make an input of files; missing ones are empty parts."""
    return PART.join((folder / name).read_bytes() if (folder / name).is_file() else b"" for name in names)


def zipped(data: bytes, folder: Path) -> Path:
    """Write the arrays of an .npz file, or bytes that are one."""
    if data.startswith(b"PK"):
        return file("g.npz")(data, folder)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as members:
        for part in data.split(PART):
            name, _, array = part.partition(b"=")
            with suppress(ValueError):  # a name that is none
                members.writestr(zipfile.ZipInfo(name[:50].decode("latin-1") + ".npy"), array)
    return file("g.npz")(content.getvalue(), folder)


def indexed(data: bytes, folder: Path) -> Path:
    """Write an index with its checksum."""
    lists, _, note = data.partition(PART)
    return file("v.index")(lists + note + _END_OF.pack(zlib.crc32(lists + note), len(note), _NAME), folder)


def in_parquet(data: bytes, folder: Path) -> Path:
    """Write columns that JSON describes as a Parquet file, or bytes that are one."""
    if data.startswith(b"PAR1"):
        return file("t.parquet")(data, folder)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = json.loads(data)
        columns = [_column(one) for one in about["columns"]]
        table = pa.table([values for _, values in columns], [name for name, _ in columns])
        how = {"row_group_size": max(1, int(about["group"])), "compression": str(about["compression"])}
        pq.write_table(table, folder / "t.parquet", use_dictionary=bool(about["dictionary"]), **how)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, OSError, pa.ArrowException):
        raise Skip from None
    return folder / "t.parquet"


def _column(about: dict[str, Any]) -> tuple[str, Any]:
    import pyarrow as pa

    kind = about["type"]
    of = {"list": pa.list_, "large_list": pa.large_list, "dictionary": lambda one: pa.dictionary(pa.int8(), one)}
    wrap, _, inner = kind.rpartition(" ")
    made = pa.type_for_alias(inner)
    return str(about["name"]), pa.array(about["values"], of[wrap](made) if wrap else made)


def checkpointed(data: bytes, folder: Path) -> Path:
    """Write a checkpoint: a manifest with its digest and those of its shards, which are the other parts."""
    manifest_part, *shards = data.split(PART)
    kept = folder / "kept"
    kept.mkdir()
    name = "000001.json"
    try:
        manifest = json.loads(manifest_part)
        for shard, content in zip(manifest["shards"], shards, strict=False):
            (kept / Path(shard["file"]).name).write_bytes(content)
            shard |= {"crc32": zlib.crc32(content), "bytes": len(content)}
        version = int(manifest["shards"][0]["file"].partition(".")[0])
        name = f"{version:06d}.json"
        manifest["sha256"] = own_digest(manifest)
        manifest_part = json.dumps(manifest).encode()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError):
        pass
    (kept / name).write_bytes(manifest_part)
    return kept / name


def cached(data: bytes, folder: Path) -> Path:
    """Write an entry of the cache of corpora."""
    (folder / "entry").mkdir()
    for name, part in zip(cache_entry.FILES, data.split(PART), strict=False):
        if part:
            (folder / "entry" / name).write_bytes(part)
    return folder / "entry"


# Valid inputs


def example() -> Vectors:
    """Make some vectors."""
    rows = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)
    return Vectors([f"wörd{i}" for i in range(12)], rows, counts=np.arange(12, 0, -1), t=rows)


@cache
def trained(kind: str = "subwords") -> Any:
    """Train a model."""
    if kind == "documents":
        return Doc2Vec(**HOW, words=True).fit([(f"d{i}", words) for i, words in enumerate(TEXT[:4])])
    if kind == "features":
        return Word2Vec(**HOW, features={"cat": ["animal", "small"], "dog": ["animal"]}).fit(TEXT)
    if kind == "hierarchical":
        return Word2Vec(**HOW, loss="hierarchical").fit(TEXT)
    return Word2Vec(**HOW, subwords=Subwords(2, 3, 40) if kind == "subwords" else 0).fit(TEXT)


def saved(name: str) -> Callable[[Path], list[bytes]]:
    """Write vectors, in the format of a name."""

    def seeds(folder: Path) -> list[bytes]:
        save(example(), folder / name)
        content = (folder / name).read_bytes()
        return [content, gzip.decompress(content)] if name.endswith(".gz") else [content]

    return seeds


def fasttext(folder: Path) -> list[bytes]:
    """Write models of fastText: with n-grams and without, and of hierarchical softmax."""
    for kind in ("subwords", "hierarchical"):
        save(trained(kind).vectors_, folder / f"{kind}.bin", training=True, format="fasttext")
    save(example(), folder / "plain.bin", format="fasttext")
    return [path.read_bytes() for path in folder.iterdir()]


def vectors_folders(folder: Path) -> list[bytes]:
    """Write folders: of vectors, and with subwords, features, and another loss."""
    save(example(), folder / "plain")
    for kind in ("subwords", "features", "hierarchical"):
        save(trained(kind).vectors_, folder / kind, training=True)
    return [parts_of(path, FOLDER[:3]) for path in folder.iterdir()]


def models(folder: Path) -> list[bytes]:
    """Save models: of words, with subwords, with features, of documents, of a graph."""
    for kind in ("plain", "subwords", "features", "documents"):
        trained(kind).save(folder / kind)
    graph = read_graph([(0, 1), (1, 2), (2, 0)])
    DeepWalk(dim=6, walks=2, length=4, epochs=1, threads=1, combine="adasum").fit(graph).save(folder / "graph")
    return [parts_of(path, MODEL) for path in folder.iterdir()]


def indexes(folder: Path) -> list[bytes]:
    """Save an index."""
    example().index().save(folder / "v.index")
    content = (folder / "v.index").read_bytes()[: -_END_OF.size]
    at = content.rindex(b'{"format"')
    return [content[:at] + PART + content[at:]]


def runs(folder: Path) -> list[bytes]:
    """Write the report and the log of a run."""
    how = HOW | {"window": 3, "negative": 3, "epochs": 2, "hosts": 3}
    model = Word2Vec(**how, log=folder / "run.jsonl", callbacks=[lambda epoch, _: {"check": 1 / epoch}])
    model.fit(TEXT).report_.write(folder / "run.json")
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def arrays(folder: Path) -> list[bytes]:
    """Write sparse matrices of every layout as the arrays of .npz files, and one as it is."""
    from scipy import sparse

    matrix = sparse.csr_array(np.random.default_rng(0).random((12, 12)) < 0.3, dtype=float)
    found = []
    for layout in ("csr", "csc", "coo", "bsr", "dia"):
        sparse.save_npz(folder / "g.npz", matrix.asformat(layout), compressed=False)
        with zipfile.ZipFile(folder / "g.npz") as members:
            names = members.namelist()
            found.append(PART.join(name.removesuffix(".npy").encode() + b"=" + members.read(name) for name in names))
    return [*found, (folder / "g.npz").read_bytes()]


def matlab(folder: Path) -> list[bytes]:
    """Write Matlab's files: sparse, dense and compressed."""
    from scipy.io import savemat
    from scipy.sparse import csc_array

    rows = csc_array(np.random.default_rng(0).random((12, 12)) < 0.3, dtype=float)
    group = csc_array(np.eye(12, 3))
    savemat(folder / "sparse.mat", {"network": rows, "group": group})
    savemat(folder / "small.mat", {"network": rows, "group": group}, do_compression=True)
    savemat(folder / "dense.mat", {"network": rows.toarray() > 0, "group": group.toarray()})
    savemat(folder / "old.mat", {"network": rows, "group": group}, format="4")
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def edge_columns(folder: Path) -> list[bytes]:
    """Describe columns of edges: numbers, strings, with weights, with kinds; and write a file."""
    number, text, real = ({"type": kind} for kind in ("int64", "string", "double"))
    ends = [number | {"name": "a", "values": [0, 1, 2, 3]}, number | {"name": "b", "values": [1, 2, 3, 0]}]
    names = [text | {"name": "a", "values": list("abcd")}, text | {"name": "b", "values": list("bcda")}]
    weight = real | {"name": "w", "values": [1.0, 2.5, 0.5, 3]}
    kinds = [
        {"type": "dictionary string", "name": f"{one}_kind", "values": list("uuvv")} for one in ("source", "target")
    ]
    tables = [
        ends,
        names,
        [*ends, weight],
        [*names, weight],
        [names[0] | {"name": "source"}, names[1] | {"name": "target"}, *kinds],
    ]
    return _described(folder, tables)


def text_columns(folder: Path) -> list[bytes]:
    """Describe columns of texts, and of lists of words; and write a file."""
    rows = ["the cat sat", "ön the mat", ""]
    kinds = ("string", "large_string", "list string", "large_list string", "dictionary string")
    tables = [
        [{"type": kind, "name": "text", "values": [row.split() for row in rows] if "list" in kind else rows}]
        for kind in kinds
    ]
    return _described(folder, tables)


def _described(folder: Path, tables: list[list[dict[str, Any]]]) -> list[bytes]:
    usual = {"group": 2, "compression": "none", "dictionary": False}
    found = [json.dumps({"columns": one, **usual}).encode() for one in tables]
    found.append(json.dumps({"columns": tables[0], "group": 3, "compression": "snappy", "dictionary": True}).encode())
    return [*found, in_parquet(found[0], folder).read_bytes(), in_parquet(found[-1], folder).read_bytes()]


def classifiers(folder: Path) -> list[bytes]:
    """Take classifiers that fastText wrote."""
    held = Path(__file__).parents[1] / "tests/classify/golden"
    return [(held / name).read_bytes() for name in ("plain.bin", "tree.bin", "small.ftz", "pruned.ftz")]


def checkpoints(folder: Path) -> list[bytes]:
    """Write checkpoints of one host and of two, of the last round and before."""
    found = []
    for hosts in (1, 2):
        kept = folder / f"kept{hosts}"
        Word2Vec(**HOW, hosts=hosts, checkpoint=kept, checkpoint_every=1).fit(TEXT)
        for path in sorted(kept.glob("[0-9]*.json")):
            shards = [one["file"] for one in json.loads(path.read_bytes())["shards"]]
            found.append(PART.join((kept / name).read_bytes() for name in (path.name, *shards)))
    return found


def entries(folder: Path) -> list[bytes]:
    """Write an entry of the cache of corpora."""
    (folder / "text.txt").write_text("the cat sat on the mat\n" * 20)
    Word2Vec(**HOW | {"cache": folder / "cache"}).read(str(folder / "text.txt"))
    entry = next(path for path in (folder / "cache").iterdir() if path.is_dir())
    return [parts_of(entry, cache_entry.FILES)]


def phrases(folder: Path) -> list[bytes]:
    """Write phrases, with connector words and without."""
    text = [["new", "york", "is", "big"]] * 20 + [["bay", "of", "naples", "too"]] * 9
    for name, words in (("a", ["of"]), ("b", [])):
        found = Phrases(threshold=[1.0, 1.0], min_count=1, connector_words=words)
        found.fit(text).save(folder / name)
    return [path.read_bytes() for path in folder.iterdir()]


def texts(*contents: str) -> Callable[[Path], list[bytes]]:
    """Take texts as inputs."""
    return lambda folder: [content.encode() for content in contents]


# Reading and use


def often(path: Path) -> bool:
    """Whether what takes long is to be done with a file, by its size."""
    return not usually or path.stat().st_size % 32 == 0


def same_vectors(one: Vectors, other: Vectors, all_of: bool) -> None:
    """Fail unless two are equal, in words and vectors or in all."""
    assert list(one.words) == list(other.words)
    assert one.matrix.tobytes() == other.matrix.tobytes()
    if all_of:
        assert (one.t is None) == (other.t is None)
        assert one.t is None or one.t.tobytes() == other.t.tobytes()
        assert one.loss == other.loss
        assert (one.vocabulary.counts == other.vocabulary.counts).all()
        assert (one.parts is None) == (other.parts is None)
        if one.parts is not None and other.parts is not None:
            assert one.parts.settings == other.parts.settings
            assert one.parts.rows.tobytes() == other.parts.rows.tobytes()


def use_vectors(found: Vectors, path: Path) -> None:
    """Ask for neighbours, and save in every format: what is loaded again is the same."""
    assert len(found) == len(found.words) == len(found.matrix) > 0
    for matrix in (found.matrix, found.t, *((found.parts.own, found.parts.rows) if found.parts else ())):
        assert matrix is None or np.isfinite(matrix).all(), "not finite"
    answers = found.most_similar(found.words[0], topn=3)
    assert all(np.isfinite(cosine) and abs(cosine) < 1.001 for _, cosine in answers), f"cosines {answers}"
    if found.parts is not None:
        with suppress(Any2VecError, KeyError):
            assert np.isfinite(found["unheard of"]).all(), "not finite"
    for name in ("again", "again.txt", "again.bin", "fasttext.bin"):
        again = path.parent / name
        how: dict[str, Any] = {"format": "fasttext"} if name == "fasttext.bin" else {}
        training = found.t is not None and ("." not in name or bool(how))
        small = found.parts is None or found.parts.settings.buckets < 1000
        if how and not small:
            continue
        if how and found.parts and found.parts.means(found.words).tobytes() != found.matrix.tobytes():
            continue  # a folder's n-grams of other lengths than its vectors were made of
        try:
            save(found, again, training=training, force=True, **how)
        except Any2VecError:
            assert "." in name, "cannot be saved as a folder"
            continue
        same_vectors(found, load(again), name == "again")


def use_classifier(found: LabelModel, path: Path) -> None:
    """Save: what is loaded again is the same."""
    again = path.parent / ("again.ftz" if isinstance(found.e, Quantized) else "again.bin")
    if found.settings.buckets > 1000 and found.settings.counts_unknown:
        return
    save_fasttext(found, again, force=True)
    assert load_fasttext(again).settings == found.settings


def load_model(path: Path) -> Any:
    """Load a model by its class, or by Word2Vec."""
    kind: Any = Word2Vec
    with suppress(ValueError, OSError, AttributeError, RecursionError):
        kind = MODELS.get(json.loads((path / "model.json").read_bytes()).get("class"), Word2Vec)
    return kind.load(path)


def use_model(found: Any, path: Path) -> None:
    """Use its vectors, show it, and save it: what is loaded again is the same."""
    repr(found)
    use_vectors(found.vectors_, path)
    if isinstance(found, Doc2Vec):
        use_vectors(found.documents_, path)
    found.save(path.parent / "model")
    again = type(found).load(path.parent / "model")
    same_vectors(found.vectors_, again.vectors_, True)
    assert again.report_.as_dict().keys() == found.report_.as_dict().keys()


def load_index(path: Path) -> Any:
    """Load the index of the vectors it is of."""
    return example().load_index(path)


def use_index(found: Any, path: Path) -> None:
    """Find words by it."""
    repr(found)
    answers = found.vectors.most_similar("wörd3", topn=4, index=found)
    assert {word for word, _ in answers} <= set(found.vectors.words)
    assert len({word for word, _ in answers}) == len(answers), f"twice: {answers}"


def use_run(report: Any, path: Path) -> None:
    """Show a report; of one in 32, by the size, also as a page."""
    list(facts(report))
    list(panels(report))
    model_card(example(), "me/vectors", report, "Vectors", {})
    if often(path):
        write_page(report, path.parent / "page.html", "a run")


def use_graph(graph: Any, path: Path) -> None:
    """Look at a graph; train on one of 32, by the size of its file."""
    names = list(graph.names)
    assert len(graph) == len(names)
    assert len(set(names[:100_000])) == min(len(names), 100_000)
    assert all(isinstance(name, str) for name in names)
    assert graph.weights is None or (np.isfinite(graph.weights).all() and (graph.weights > 0).all()), "weights"
    assert graph.edges >= 0
    assert graph.loops >= 0
    assert len(graph.degrees) == len(graph)
    assert graph.kinds is None or len(list(graph.kinds)) == len(graph)
    repr(graph)
    if often(path) and len(graph) < 1000:
        model = DeepWalk(dim=8, window=3, negative=3, walks=2, length=5, epochs=1, threads=1).fit(graph)
        assert len(model.vectors_.words) == len(graph)
        assert np.isfinite(model.vectors_.matrix).all()


def read_kinds(path: Path) -> Any:
    """Read the kinds of a graph's vertices."""
    return read_graph([(0, 1), (1, 2), (2, 3)], kinds=path, threads=1)


def use_labels(labels: Any, path: Path) -> None:
    """Look at labels, and judge vectors by them."""
    assert len(set(labels.names)) == len(labels)
    assert labels.matrix.shape == (len(labels), len(labels.labels))
    assert labels.matrix.any(axis=1).all()
    assert len(set(labels.labels)) == len(labels.labels)
    if often(path):
        vectors = Vectors([f"v{i}" for i in range(13)], np.random.default_rng(0).normal(size=(13, 4)).astype("f4"))
        evaluate_nodes(vectors, labels, [0.5], 1, threads=1, skip_unknown=True)


def use_features(found: Features, path: Path) -> None:
    """Compare with what its JSON holds."""
    again = Features.from_json(json.loads(json.dumps(found.as_json())))
    assert again == found
    bounds, numbers = found.lists([*found.tokens, "unknown"])
    assert bounds[-1] == len(numbers)
    assert all(map(str, found.names))


def use_phrases(found: Phrases, path: Path) -> None:
    """Join a text, and save: what is loaded again is the same."""
    joined = [list(sentence) for sentence in found.transform([["new", "york", "bay", "of", "naples"]])]
    found.save(path.parent / "again.tsv")
    again = Phrases.load(path.parent / "again.tsv")
    assert [list(sentence) for sentence in again.transform([["new", "york", "bay", "of", "naples"]])] == joined
    again.save(path.parent / "third.tsv")
    assert (path.parent / "again.tsv").read_bytes() == (path.parent / "third.tsv").read_bytes()


def read_texts(path: Path) -> bytes:
    """Read the first column of a table."""
    table_columns(path)
    list_type(path, "text")
    with open_column(path, "text") as (stream, done):
        content = stream.read()
        done()
    return content


def read_checkpoint(path: Path) -> Any:
    """Read a checkpoint as a run of its own options and corpus would, if it has any."""
    try:
        content = json.loads(path.read_bytes())
        facts = {name: dict(content[name]) for name in ("options", "corpus")}
    except (ValueError, KeyError, TypeError, RecursionError):
        facts = of_a_run()
    if not isinstance(facts["options"].get("epochs"), int) or not isinstance(facts["corpus"].get("words"), int):
        facts = of_a_run()
    return read_state(path.parent, facts, Partition.even(8, 1), 6, alone(), lambda _: None, warn=lambda _: None)


@cache
def of_a_run() -> dict[str, Any]:
    """Return what a checkpoint is of."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        manifest = json.loads(checkpoints(Path(name))[0].split(PART)[0])
    return {name: manifest[name] for name in ("options", "corpus")}


def use_state(state: Any, path: Path) -> None:
    """Look at what a run would go on from."""
    assert state is not None
    for rows in (state.masters.e, state.masters.t):
        assert np.isfinite(rows).all(), "not finite"


# Matlab's files, read in a process


children = {"peak": 0}  # bytes of memory that a process took, more than this one has


def fork_for_mat(command: list[str], **given: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the program that reads Matlab files in a fork of this process, which has SciPy: far faster than anew."""
    with TemporaryFile() as source, TemporaryFile() as found, TemporaryFile() as said:
        source.write(given["input"])
        source.seek(0)
        before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        child = os.fork()
        if not child:
            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (6, 6))  # counted from the fork
            for number, one in enumerate((source, found, said)):
                os.dup2(one.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
            sys.argv[1:] = command[-1:]
            status = 0
            try:
                mat_process.main()
            except SystemExit as error:
                sys.stderr.write(str(error.code))
                status = error.code if error.code == mat_process.TOO_LITTLE else 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _, status, used = os.wait4(child, 0)
        status = os.waitstatus_to_exitcode(status)
        if status == -signal.SIGXCPU:
            raise Late("more than 6 s in SciPy")
        children["peak"] = max(0, used.ru_maxrss * 1024 - before)
        found.seek(0)
        said.seek(0)
        return subprocess.CompletedProcess(command, status, found.read(), said.read())


EDGES = "# a comment\n" + "".join(f"{i} {(i * 7) % 13} 1\n{i} {(i * 5) % 13} 2.5\n" for i in range(13))
QUOTED = "".join(f'"n {i}";"n {(i * 7) % 13}";{i + 1}\n' for i in range(13))
ADJACENT = "1 2 3\n2 3 4 5\n3 5\n4\n5 1\n" * 2
MARKET = "%%MatrixMarket matrix coordinate real general\n% c\n4 4 4\n" + "".join(
    f"{i} {i % 4 + 1} 1.5\n" for i in (1, 2, 3, 4)
)
DENSE = "%%MatrixMarket matrix array integer symmetric\n3 3\n0\n1\n1\n0\n1\n0\n"
LABELS = "".join(f"v{i} {i % 3}\n" for i in range(13)), '# c\nv1,red\nv2,"dark blue"\n', "v1\ta\tb\nv2\tb\n"
KINDS_ = "0 user\n1 item\n2 user\n3 item\n", '0,user\n# c\n1,item\n2,"a b"\n3,b\n9,c\n'
FEATURES = "cat\tanimal small\ndog\tanimal\n\nöl\tliquid\n", "\ufeffa\tb\r\nc\td e\r\n"
QUESTIONS = ": capital-common-countries\nAthens Greece Baghdad Iraq\n: gram1\ncalm calmly free freely\n" * 2
PAIRS = "# pairs\ntiger\tcat\t7.35\nbook\tpaper\t7.46\n", "tiger,cat,7.35\nbook,paper,7\n"
GLOVE = "the 0.1 -0.2 3e-05\n. 1.0 2 3\nnew york 1 2 3\n", "3 2\na 1 2\nb 3 4\nc 0 0\n", "a 1\nb 2\n"
MIB = 1 << 20
graph = partial(read_graph, threads=1)

OF_A_WORD = 256 * MIB  # lists of n-grams of a word: as many as `Subwords` takes
READERS = {
    "fasttext": Reader(fasttext, file("v.bin"), load, use_vectors, spare=OF_A_WORD),
    "classifier": Reader(classifiers, file("m.ftz"), load_fasttext, use_classifier),
    "folder": Reader(vectors_folders, folder_of(FOLDER[:3]), load, use_vectors),
    "model": Reader(models, folder_of(MODEL), load_model, use_model, spare=OF_A_WORD),
    "index": Reader(indexes, indexed, load_index, use_index),
    "log": Reader(runs, file("run.json"), read_report, use_run),
    # a shape declares vertices, 43 bytes each: what does not fit in memory is refused before it is taken
    "npz": Reader(arrays, zipped, graph, use_graph, spare=512 * MIB),
    "mat": Reader(matlab, file("g.mat"), graph, use_graph, spare=512 * MIB),
    "parquet-edges": Reader(edge_columns, in_parquet, graph, use_graph, spare=64 * MIB),
    "parquet-text": Reader(text_columns, in_parquet, read_texts, spare=64 * MIB),
    "kinds": Reader(texts(*KINDS_), file("k.kinds"), read_kinds, use_graph),
    "features": Reader(texts(*FEATURES), file("f.features"), Features.read, use_features),
    "labels": Reader(texts(*LABELS), file("l.labels"), read_labels, use_labels),
    "labels-mat": Reader(matlab, file("l.mat"), read_labels, use_labels),
    "phrases": Reader(phrases, file("p.tsv"), Phrases.load, use_phrases),
    "checkpoint": Reader(checkpoints, checkpointed, read_checkpoint, use_state),
    "safetensors": Reader(
        lambda folder: [one.split(PART)[2] for one in vectors_folders(folder)], file("v.safetensors"), map_tensors
    ),
    "word2vec-binary": Reader(saved("v.bin"), file("v.bin"), load, use_vectors),
    "word2vec-text": Reader(saved("v.txt"), file("v.txt"), load, use_vectors),
    "word2vec-gzip": Reader(saved("v.txt.gz"), compressed, load, use_vectors, spare=64 * MIB),
    "glove": Reader(texts(*GLOVE), file("v.vec"), load, use_vectors),
    "edges": Reader(texts(EDGES), file("g.edges"), graph, use_graph),
    "csv": Reader(texts(QUOTED), file("g.csv"), graph, use_graph),
    "adjacency": Reader(texts(ADJACENT), file("g.adjlist"), graph, use_graph),
    "mtx": Reader(texts(MARKET, DENSE), file("g.mtx"), graph, use_graph),
    "vocabulary": Reader(texts("".join(f"word{i} {30 - i}\n" for i in range(20))), file("v.vocab"), load_vocabulary),
    "questions": Reader(texts(QUESTIONS), file("q.txt"), read_questions),
    "pairs": Reader(texts(*PAIRS), file("p.tsv"), read_pairs),
    "cache": Reader(entries, cached, cache_entry.load),
}


def prepare() -> None:
    """Let Matlab's files be read in forks of this process."""
    import scipy.io  # noqa: F401  (before memory is limited, and for forks)

    matrices.subprocess.run = fork_for_mat  # type: ignore[attr-defined, assignment]
