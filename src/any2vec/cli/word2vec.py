"""`any2vec word2vec`: in place of the program word2vec, with its flags, its defaults and its files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from any2vec.cli.training import Files, check_apart, read_and_fit, run
from any2vec.cli.word2vec_flags import NAMES, options_of, parse, usage
from any2vec.cluster import engines
from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.cores import usable_cores
from any2vec.corpus import Corpus, save_vocabulary
from any2vec.corpus.given_vocabulary import VOCABULARY
from any2vec.errors import Any2VecError, respelled
from any2vec.io.outputs import check_writable
from any2vec.models import Word2Vec
from any2vec.training.progress import Display, display_for
from any2vec.vectors import word2vec_c
from any2vec.vectors.classes import check_classes
from any2vec.vectors.formats import Format, check_output, save
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
    source = [flags["train"]]
    read_from = [*source, *filter(None, [flags["read-vocab"]])]
    vocabulary = Path(flags["save-vocab"]) if flags["save-vocab"] else None
    quiet, progress, force = flags["debug"] == 0, flags["debug"] > 1, bool(flags["force"])

    def make(display: Display) -> Word2Vec:
        options, cores = options_of(flags), usable_cores()
        if flags["hs"] and not negative_given:
            display.say("-hs 1: hierarchical softmax alone (word2vec would draw 5 negative examples too)")
        if flags["threads"] and flags["threads"] > cores:  # more would be no faster, and on a small text do harm
            display.say(f"-threads {flags['threads']}: as many as there are cores, {cores}")
            options["threads"] = cores
        return _model(options, display)

    def read(model: Word2Vec, communicator: Communicator | None) -> Corpus:
        corpus = _read(model, source, communicator)
        if flags["classes"]:
            check_classes(flags["classes"], len(corpus.vocabulary) + 1)
        return corpus

    if flags["output"]:
        run(
            make,
            read_and_fit(read, vocabulary, lambda corpus: corpus.line_ends, force=force),
            read_from,
            Path(flags["output"]),
            vocabulary=vocabulary,
            force=force,
            quiet=quiet,
            progress=progress,
            files=_Files(bool(flags["binary"]), flags["classes"], flags["threads"]),
        )
    elif vocabulary:
        _save_vocabulary(make, read_from, vocabulary, force, quiet, progress)


class _Files(Files):
    """Vectors or classes, as word2vec writes them."""

    def __init__(self, binary: bool, classes: int, threads: int | None) -> None:
        self.format = word2vec_c.BINARY if binary else word2vec_c.TEXT
        self.classes, self.threads = classes, threads
        self.what = "classes" if classes else "vectors"

    def check(self, output: Path, training: bool, communicator: Communicator, force: bool) -> Format:
        with together(communicator):
            if str(output) == "-":
                raise Any2VecError("-output -: name a file; /dev/stdout is one")
            if self.classes:
                check_classes(self.classes)
                if communicator.size > 1:
                    raise Any2VecError(f"-classes is for one host, not {communicator.size}; train vectors on them")
        return check_output(
            output, training, communicator, self.format, force=force, replaceable=word2vec_c.VECTORS_OR_CLASSES
        )

    def save(self, vectors: Vectors, output: Path, training: bool, communicator: Communicator, force: bool) -> None:
        self.check(output, training, communicator, force)
        if self.classes:
            word2vec_c.save_classes(vectors, output, self.classes, self.threads, communicator)
        else:
            save(vectors, output, training=training, force=True, communicator=communicator, format=self.format)


def _model(options: dict[str, Any], display: Display) -> Word2Vec:
    model = Word2Vec(**options, cache=None, verbose=display)
    model.check()
    return model


def _read(model: Word2Vec, source: list[str], communicator: Communicator | None) -> Corpus:
    """Read the text; a word </s> of its own ends a sentence, as in word2vec.c."""
    return model.read(source, communicator, line_end_word=True)


def _save_vocabulary(
    make: Callable[[Display], Word2Vec], read_from: list[str], output: Path, force: bool, quiet: bool, progress: bool
) -> None:
    """Write the vocabulary alone."""
    communicator = engines.connect()
    display = display_for(Console(stderr=True), quiet=quiet or communicator.rank > 0, progress=progress)
    with together(communicator):
        check_apart(read_from, None, None, output)
    check_writable(output, VOCABULARY, force=force, communicator=communicator)
    with together(communicator):
        corpus = _read(make(display), read_from[:1], communicator if communicator.size > 1 else None)
    save_vocabulary(corpus.vocabulary, output, line_ends=corpus.line_ends, force=force, communicator=communicator)
    display.say(f"the vocabulary of {len(corpus.vocabulary):,} words is in {output}")
