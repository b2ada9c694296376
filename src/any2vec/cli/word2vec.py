"""`any2vec word2vec`: in place of the program word2vec, with its flags, its defaults and its files."""

import difflib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from any2vec import cluster
from any2vec.cli import options as shared
from any2vec.cli.training import Job
from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.machine import usable_cores
from any2vec.corpus import Corpus
from any2vec.corpus.vocabulary import LINE_END, numbers_of
from any2vec.errors import Any2VecError, respelled, shown
from any2vec.io.outputs import Kind, has_mark, write_in_host_order
from any2vec.models import Estimator, Word2Vec
from any2vec.training.progress import Display
from any2vec.vectors.files import VECTORS, Format, check_output, save
from any2vec.vectors.files.native import Shard
from any2vec.vectors.files.word2vec import binary_rows, check_words, load_binary, load_text, six_decimals, text_rows
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.maps import check_classes, classes


@dataclass(frozen=True)
class _Flag:
    """A flag of word2vec."""

    kind: type
    """int, float, or str for a file."""
    help: str
    default: Any = None
    low: float | None = None
    high: float | None = None


FLAGS = {
    "train": _Flag(str, "Text (compressed too), a directory, - for standard input"),
    "output": _Flag(str, "Where to write the word vectors, or the classes"),
    "size": _Flag(int, "Dimensions of a vector", 100),
    "window": _Flag(int, "Maximum distance between words", 5),
    "sample": _Flag(float, "Subsampling threshold, 1e-3 to 1e-5; 0 for none", 1e-3),
    "hs": _Flag(int, "1 for hierarchical softmax", 0, 0, 1),
    "negative": _Flag(int, "Negative examples, usually 3 to 10; 0 with -hs 1", 5, 0),
    "threads": _Flag(int, "Threads (all cores; word2vec: 12)"),
    "iter": _Flag(int, "Passes over the text", 5),
    "min-count": _Flag(int, "Discard words that occur less often", 5, 0),
    "alpha": _Flag(float, "Initial learning rate (0.05 for CBOW, 0.025 for skip-gram)"),
    "classes": _Flag(int, "Number of classes to write in place of vectors", 0, 0),
    "debug": _Flag(int, "0 shows nothing but errors, 1 a summary, 2 progress", 2, 0),
    "binary": _Flag(int, "1 for binary vectors, 0 for text", 0, 0, 1),
    "save-vocab": _Flag(str, "Where to write the vocabulary; without -output, only that"),
    "read-vocab": _Flag(str, "The vocabulary and its counts, in place of the text's"),
    "force": _Flag(int, "1 to replace files that hold something else", 0, 0, 1),
    "cbow": _Flag(int, "1 for continuous bag of words (CBOW), 0 for skip-gram", 1, 0, 1),
}

NAMES = {
    "dim": "size",
    "window": "window",
    "sample": "sample",
    "negative": "negative",
    "threads": "threads",
    "epochs": "iter",
    "min_count": "min-count",
    "alpha": "alpha",
    "classes": "classes",
    "vocabulary": "read-vocab",
}
"""Flags by the parameters that messages name."""

_METAVARS = {int: "<int>", float: "<float>", str: "<file>"}
_EXAMPLES = (
    "-train data.txt -output vec.bin -size 200 -cbow 0 -binary 1",
    "-train data.txt -output classes.txt -classes 500 -iter 15",
    "-train data.txt -save-vocab vocab.txt",
)


def usage() -> str:
    """Return what is shown without flags: all of them with their defaults, and examples."""
    lines = [
        "Usage: any2vec word2vec -FLAG VALUE ...",
        "",
        "Do what the program word2vec (version 0.1c) does, with its flags, defaults and",
        "files; on many hosts too, under mpiexec. any2vec words has more options.",
        "",
    ]
    for name, flag in FLAGS.items():
        default = "" if flag.default is None else f" ({flag.default})"
        lines.append(f"  {f'-{name} {_METAVARS[flag.kind]}':<20}{flag.help}{default}")
    lines += [
        "",
        "Vectors, classes and vocabularies begin with </s>, the end of a line, as those",
        "of word2vec; its vector is never trained. No corpus is kept in a cache.",
        "",
        *(f"  any2vec word2vec {example}" for example in _EXAMPLES),
    ]
    return "\n".join(lines)


def parse(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the value of every flag; if it is not given its default, or None."""
    given = _given(arguments)
    if "train" not in given:
        raise Any2VecError("-train is missing: name the file with the text")
    if "output" not in given and "save-vocab" not in given:
        raise Any2VecError("-output is missing: name a file for the vectors, or give -save-vocab alone")
    found = {name: given.get(name, flag.default) for name, flag in FLAGS.items()}
    if found["hs"] and "negative" in given and found["negative"]:
        raise Any2VecError(
            f"-hs 1 and -negative {found['negative']}: choose one, -hs 1 alone for hierarchical softmax or "
            "-hs 0 for negative sampling (word2vec would train both at once)"
        )
    if found["hs"]:
        found["negative"] = 0
    elif not found["negative"]:
        raise Any2VecError("-hs 0 and -negative 0: nothing to learn by; give -negative 5, or -hs 1")
    if found["alpha"] is None:
        found["alpha"] = 0.05 if found["cbow"] else 0.025
    return found


def options_of(flags: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `Word2Vec` that flags stand for."""
    options = {name: flags[flag] for name, flag in NAMES.items() if name not in ("classes", "negative")}
    options["min_count"] = max(flags["min-count"], 1)  # a word of the text occurs once at least
    options["model"] = "cbow" if flags["cbow"] else "skipgram"
    options["loss"] = "hierarchical" if flags["hs"] else "negative"
    if flags["cbow"]:
        options["context"] = "mean"
    if flags["negative"]:
        options["negative"] = flags["negative"]
    return options


def _given(arguments: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        name = argument.removeprefix("-")
        if argument == name or name not in FLAGS:
            raise Any2VecError(_unknown(argument))
        if name in found:
            raise Any2VecError(f"-{name} is given twice")
        value = next(rest, None)
        if value is None or (value[:1] == "-" and value[1:] in FLAGS):
            raise Any2VecError(f"-{name} has no value: {_METAVARS[FLAGS[name].kind]} must follow it")
        found[name] = _value(name, value)
    return found


def _unknown(argument: str) -> str:
    if argument[:1] != "-":
        return f"{shown(argument)} is no flag: flags begin with a dash, and each takes one value"
    near = difflib.get_close_matches(argument.lstrip("-"), FLAGS, n=1)
    hint = f"did you mean -{near[0]}?" if near else f"known are {', '.join('-' + name for name in FLAGS)}"
    return f"unknown flag {argument[:40]}; {hint}"


def _value(name: str, text: str) -> Any:
    flag = FLAGS[name]
    if flag.kind is str:
        if not text or "\0" in text:
            raise Any2VecError(f"-{name}: {shown(text)} is not the name of a file")
        return text
    try:
        value = flag.kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        kind = "a whole number" if flag.kind is int else "a number"
        raise Any2VecError(f"-{name} is {shown(text)}; it must be {kind}")
    if flag.low is not None and flag.high is not None and not flag.low <= value <= flag.high:
        raise Any2VecError(f"-{name} is {value}; it must be {flag.low} or {flag.high}")
    if flag.low is not None and value < flag.low:
        raise Any2VecError(f"-{name} is {value}; it must be at least {flag.low}")
    return value


_HELP = {"-help", "--help", "-h", "--help-all"}


def word2vec(
    flags: Annotated[list[str] | None, shared.argument("-FLAG VALUE ...", "word2vec's flags.")] = None,
) -> None:
    """Do what the program word2vec does, with its flags and files."""
    arguments = flags or []
    if not arguments or not _HELP.isdisjoint(arguments):
        typer.echo(usage())
        return
    try:
        with together(cluster.connect()):
            values = parse(arguments)
        _run(values, "-negative" in arguments)
    except Any2VecError as error:
        error.args = (respelled(str(error), _as_flag),)
        raise


def _as_flag(name: str, value: str | None) -> str | None:
    """Spell a parameter as word2vec's flag is."""
    if name == "force":
        return "-force 1"
    return f"-{NAMES[name]}" + (f" {value}" if value else "") if name in NAMES else None


def _run(flags: dict[str, Any], negative_given: bool) -> None:
    output, vocabulary = (Path(flags[name]) if flags[name] else None for name in ("output", "save-vocab"))
    if not output and not vocabulary:
        return
    job = _Job(
        output=output,
        vocabulary=vocabulary,
        force=bool(flags["force"]),
        quiet=flags["debug"] == 0,
        progress=flags["debug"] > 1,
        format=_BINARY if flags["binary"] else _TEXT,
        classes=flags["classes"],
        threads=flags["threads"],
    )
    with together(job.hosts):
        model = _model(flags, negative_given, job.display)
    source = [flags["train"]]
    job.check(model, [*source, *filter(None, [flags["read-vocab"]])])
    text = job.read(model, source, line_end_word=True)  # as in word2vec.c, a word </s> of its own ends a sentence
    if not output:
        job.display.say(f"the vocabulary of {len(text.vocabulary):,} words is in {vocabulary}")
        return
    job.train(model, text)
    job.save(model)


def _model(flags: dict[str, Any], negative_given: bool, display: Display) -> Word2Vec:
    options, cores = options_of(flags), usable_cores()
    if flags["hs"] and not negative_given:
        display.say("-hs 1: hierarchical softmax alone (word2vec would draw 5 negative examples too)")
    if flags["threads"] and flags["threads"] > cores:  # more would be no faster, and on a small text do harm
        display.say(f"-threads {flags['threads']}: as many as there are cores, {cores}")
        options["threads"] = cores
    return Word2Vec(**options, cache=None, verbose=display)


@dataclass(kw_only=True)
class _Job(Job):
    """Training whose output is vectors or classes, as word2vec writes them."""

    format: Format
    classes: int
    threads: int | None

    @property
    def what(self) -> str:
        return "classes" if self.classes else "vectors"

    def check_output(self, output: Path) -> None:
        with together(self.hosts):
            if str(output) == "-":
                raise Any2VecError("-output -: name a file; /dev/stdout is one")
            if self.classes:
                check_classes(self.classes)
                if self.hosts.size > 1:
                    raise Any2VecError(f"-classes is for one host, not {self.hosts.size}; train vectors on them")
        held = VECTORS_OR_CLASSES
        check_output(output, False, self.hosts, self.format, force=self.force, replaceable=held)

    def check_words(self, words: Sequence[str]) -> None:
        if self.output and self.classes:
            check_classes(self.classes, len(words) + 1)
        if self.output and self.format.check_words:
            self.format.check_words(words, self.output)

    def line_ends(self, corpus: Corpus) -> int:
        return corpus.line_ends

    def write(self, model: Estimator) -> None:
        assert self.output
        self.check_output(self.output)
        if self.classes:
            _save_classes(model.vectors_, self.output, self.classes, self.threads, self.hosts)
        else:
            save(model.vectors_, self.output, force=True, communicator=self.hosts, format=self.format)


def _save_classes(vectors: Lookup, path: Path, number: int, threads: int | None, communicator: Communicator) -> None:
    """Write a line with each word and its class, 0 to `number` - 1, in the order of ids."""
    with_end = _with_line_end(vectors)
    check_words(with_end.words, path)
    found = zip(with_end.words, classes(with_end, number, threads=threads).tolist(), strict=True)
    lines = (f"{word} {of}\n".encode() for word, of in found)
    write_in_host_order(path, lines, communicator, VECTORS_OR_CLASSES)


def _with_line_end(vectors: Lookup) -> Lookup:
    """Put </s> before all other words."""
    matrix = np.concatenate((_line_end(vectors.dim).matrix, vectors.matrix))
    return Lookup([LINE_END, *vectors.words], matrix)


def _line_end(dim: int) -> Lookup:
    """Return </s> alone: as in word2vec, no sample has it, and its vector is what a word's is before training."""
    drawn: NDArray[np.float64] = np.random.default_rng(0).uniform(-0.5, 0.5, (1, dim)) / dim
    return Lookup([LINE_END], drawn.astype(np.float32))


def _save(shard: Shard, path: Path, rows: Callable[[Lookup], Iterator[bytes]]) -> None:
    """Write </s> and a shard's rows; compressed if the name ends in .gz."""
    parts = [rows(shard.own)]
    if shard.first:
        parts = [iter([replace(shard, total=shard.total + 1).header]), rows(_line_end(shard.own.dim)), *parts]
    write_in_host_order(path, chain.from_iterable(parts), shard.communicator)


def _holds_either(path: Path) -> bool:
    """Recognize vectors; or lines of a word and a number from </s> on, which unlike a vocabulary's do not fall."""
    if VECTORS.holds(path) or has_mark(path, VECTORS_OR_CLASSES.name):
        return True
    numbers = numbers_of(path)
    return numbers is not None and numbers != sorted(numbers, reverse=True)


VECTORS_OR_CLASSES = Kind("vectors or classes of words", _holds_either, marked=True)
"""The files that word2vec's ``-output`` may replace."""
_TEXT = Format(load_text, partial(_save, rows=partial(text_rows, formatted=six_decimals)), check_words=check_words)
"""The default of word2vec."""
_BINARY = Format(load_binary, partial(_save, rows=binary_rows), check_words=check_words)
"""Its ``-binary 1``."""
