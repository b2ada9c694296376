"""`any2vec word2vec`: in place of the program word2vec, with its flags, its defaults and its files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli.training import Job
from any2vec.cli.word2vec_flags import NAMES, options_of, parse, usage
from any2vec.cluster import engines
from any2vec.cluster.communicator import together
from any2vec.cluster.machine import usable_cores
from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError, respelled
from any2vec.models import Word2Vec
from any2vec.training.shown.progress import Display
from any2vec.vectors.classes import check_classes
from any2vec.vectors.files import word2vec_c
from any2vec.vectors.files.formats import Format, check_output, save
from any2vec.vectors.vectors import Vectors

__all__ = ["word2vec"]

_HELP = {"-help", "--help", "-h", "--help-all"}


def word2vec(
    flags: Annotated[
        list[str] | None, typer.Argument(metavar="-FLAG VALUE ...", help="word2vec's flags.", show_default=False)
    ] = None,
) -> None:
    """Do what the program word2vec does, with its flags and files."""
    arguments = flags or []
    if not arguments or not _HELP.isdisjoint(arguments):
        typer.echo(usage())
        return
    with _named_as_flags():
        with together(engines.connect()):
            values = parse(arguments)
        _run(values, "-negative" in arguments)


@contextmanager
def _named_as_flags() -> Iterator[None]:
    """Name parameters as word2vec's flags in errors of the block."""
    try:
        yield
    except Any2VecError as error:
        error.args = (respelled(str(error), _as_flag),)
        raise


def _as_flag(name: str, value: str | None) -> str | None:
    if name == "force":
        return "-force 1"
    if name not in NAMES:
        return None
    return f"-{NAMES[name]}" + (f" {value}" if value else "")


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
        format=word2vec_c.BINARY if flags["binary"] else word2vec_c.TEXT,
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
        held = word2vec_c.VECTORS_OR_CLASSES
        check_output(output, False, self.hosts, self.format, force=self.force, replaceable=held)

    def check_words(self, words: Sequence[str]) -> None:
        if self.output and self.classes:
            check_classes(self.classes, len(words) + 1)
        if self.output and self.format.check_words:
            self.format.check_words(words, self.output)

    def line_ends(self, corpus: Corpus) -> int:
        return corpus.line_ends

    def write(self, vectors: Vectors, output: Path) -> None:
        self.check_output(output)
        if self.classes:
            word2vec_c.save_classes(vectors, output, self.classes, self.threads, self.hosts)
        else:
            save(vectors, output, force=True, communicator=self.hosts, format=self.format)
