"""Commands about what was trained: `similar`, `analogy`, `info`, `export` and `map` of vectors; `report` of a run."""

import inspect
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from any2vec.classify import QUANTIZED, is_folder
from any2vec.classify import load as load_classifier
from any2vec.classify import save as save_classifier
from any2vec.classify.model import LabelModel
from any2vec.cli import options as shared
from any2vec.cli.help import print_facts
from any2vec.cli.options import argument, completing, output_to, saying, setting
from any2vec.cli.training import check_apart, check_one_process
from any2vec.corpus.parts import Features
from any2vec.errors import Any2VecError, UnknownWordError, counted, escaped, shown
from any2vec.graph.vertex_labels import LABEL_FORMATS, VertexLabels, read_labels
from any2vec.io.inputs import strip
from any2vec.io.memory import size
from any2vec.io.shown import Console, is_page
from any2vec.options import can_be_path, whole_number
from any2vec.plot.projection import METHODS, NAMES, check_method
from any2vec.plot.word_map import check_output
from any2vec.report.log import read_report
from any2vec.report.page import check_page, write_page
from any2vec.training.progress import display_for
from any2vec.vectors import Vectors, load
from any2vec.vectors.export import TARGETS
from any2vec.vectors.export.target import first_words
from any2vec.vectors.files import BINARY, FASTTEXT, NATIVE, held_format
from any2vec.vectors.files.native import MODEL
from any2vec.vectors.maps import TOP
from any2vec.vectors.neighbours import Similar

VectorsFile = Annotated[Path, argument("VECTORS", "A file or folder of vectors.")]
_TopN = Annotated[int, setting("N", "Number of answers.")]
_WORDS = "Words. Without any: a prompt, or standard input, a word per line."
_LISTED = "Which words: a file with a word per line, or words with commas between."
_LABEL_FORMAT = f"Format of the labels: {', '.join(LABEL_FORMATS)}; with labels, line i lists the words of label i."


def similar(
    vectors: VectorsFile,
    words: Annotated[list[str] | None, argument("WORD", _WORDS, show_default=True)] = None,
    topn: _TopN = 10,
    feature: Annotated[
        list[str] | None, setting("NAME", "A feature, such as brand=x; several are those of one new item.")
    ] = None,
) -> None:
    """Show the words most similar to each WORD, with their cosines."""
    whole_number("topn", topn, 1)
    loaded = load(vectors)
    if loaded.untrained:
        raise Any2VecError(loaded.untrained)
    if feature:
        try:
            answers = loaded.most_similar(loaded.vector_of_features(feature), topn=topn)
        except Any2VecError as error:
            raise Any2VecError(f"{vectors}: {error}") from None
        _answer(" ".join(feature), answers)
        if not words:
            return
    unknown = False
    prompts = not words and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    for word in words or (_words_at_a_prompt() if prompts else _words_of_standard_input()):
        try:
            answers = loaded.most_similar(word, topn=topn)
        except Any2VecError as error:
            typer.secho(escaped(f"any2vec: {vectors}: {error}"), fg="red", err=True)
            unknown = not prompts
        else:
            _answer(word, answers)
    if unknown:
        raise typer.Exit(1)


def analogy(
    vectors: VectorsFile,
    a: Annotated[str, argument("A", "Such as man.")],
    b: Annotated[str, argument("B", "Such as king.")],
    c: Annotated[str, argument("C", "Such as woman.")],
    topn: _TopN = 10,
) -> None:
    """Find what is to C as B is to A: man king woman gives queen."""
    whole_number("topn", topn, 1)
    try:
        answers = load(vectors).analogy(a, b, c, topn)
    except UnknownWordError as error:
        raise Any2VecError(f"{vectors}: {error}") from None
    _answer(f"{a} : {b} = {c} : ?", answers)


def _answer(question: str, answers: Similar) -> None:
    console = Console()
    console.print(Text(escaped(question), style="bold"), soft_wrap=True)
    console.print(neighbours(answers))


def _words_at_a_prompt() -> Iterator[str]:
    """Ask for words until the user is done; lines can be edited where Python has readline."""
    with suppress(ImportError):
        import readline  # noqa: F401  # `input` uses it
    typer.echo("a word per line; Ctrl-D ends")
    with suppress(EOFError):
        while True:
            if word := strip(input("> ")):
                yield word
    typer.echo()


def _words_of_standard_input() -> Iterator[str]:
    """Yield a word per line; tokens may hold what Unicode, but not ASCII, calls whitespace."""
    if sys.stdin is None:
        raise Any2VecError("standard input is closed; give words")
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            word = strip(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise Any2VecError(f"standard input, line {number:,}: {shown(line.strip())} is not UTF-8 text") from None
        if word:
            yield word


def neighbours(answers: Similar) -> Table:
    """Lay out words with their cosines, one per line."""
    return figures(*((f"  {escaped(answer)}", f"{cosine:.3f}") for answer, cosine in answers))


def figures(*rows: tuple[str, str]) -> Table:
    """Lay out names and figures, one per line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    for name, figure in rows:
        table.add_row(Text(name), figure)
    return table


_SHOWN = 10  # words


def info(vectors: VectorsFile) -> None:
    """Show what VECTORS holds: format, sizes, counts, norms, words.

    Vectors of a folder are mapped, not loaded. A vector that is not finite is an error.
    """
    if is_folder(vectors) or vectors.suffix.lower() == QUANTIZED:
        print_facts(_facts_of_labels(load_classifier(vectors), vectors))
    else:
        print_facts(_facts(load(vectors), vectors))


_LABELS_SHOWN = 20


def _facts_of_labels(model: LabelModel, path: Path) -> list[tuple[str, str]]:
    how, kind = model.settings, "of numbers" if isinstance(model.e, np.ndarray) else "quantized"
    counts = [f"{label} ({n:,})" for label, n in zip(model.labels, model.label_counts.tolist(), strict=True)]
    grams = [f"of up to {how.word_ngrams} words"] * (how.word_ngrams > 1)
    grams += [f"of {how.least} to {how.most} characters"] * (how.most > 0)
    read = [name for name in ("lowercase", "tokenize") if getattr(how, name)]
    held = path.stat().st_size if path.is_file() else model.e.nbytes + model.t.nbytes
    return [
        ("classifier", f"of the loss {how.loss}; {size(held)}"),
        ("labels", f"{len(counts):,}: {', '.join(counts[:_LABELS_SHOWN])}{', ...' * (len(counts) > _LABELS_SHOWN)}"),
        ("words", f"{len(model.words):,}, the end of a line among them"),
        ("n-grams", f"{' and '.join(grams)}, {len(model.ids):,} with a row" if grams else "none"),
        ("rows", f"{model.e.shape[0]:,} of {model.e.shape[1]} dimensions, {kind}"),
        ("texts", f"{' and '.join(read) or 'as they are'}{'; labels begin with ' * bool(how.prefix)}{how.prefix}"),
    ]


def _facts(vectors: Vectors, path: Path) -> list[tuple[str, str]]:
    why, vectors.untrained = vectors.untrained, ""
    kind, norms, counts = held_format(path), vectors.norms, vectors.counts
    formats = {NATIVE: "a folder of any2vec", BINARY: "word2vec's binary format", FASTTEXT: "a model of fastText"}
    files = [path] if path.is_file() else list(path.iterdir())
    taken = sum(file.stat().st_size for file in files)
    zeros = int(np.count_nonzero(norms == 0))
    of_zeros = f"; {zeros:,} are zero" if zeros else ""
    facts = [
        ("format", f"{formats.get(kind, 'text, as of word2vec or GloVe')}, {size(taken)}"),
        ("vectors", f"{len(vectors):,} of {vectors.dim} dimensions, all finite"),
        ("norms", f"{norms.min():.3f} to {norms.max():.3f}, mean {norms.mean(dtype=float):.3f}{of_zeros}"),
        ("counts", f"{counts.sum():,} in all, from {counts.min():,} to {counts.max():,}" if counts.any() else "none"),
        ("training", "none" if vectors.t is None else f"vectors t of the loss {vectors.loss}, for --from"),
    ]
    if (parts := vectors.parts) is not None:
        of = f"n-grams of {parts.settings} characters in {parts.settings.buckets:,} buckets"
        if isinstance(parts.settings, Features):
            of = f"{counted(parts.settings.buckets, 'feature')}, such as {parts.settings.names[0]}"
        facts.append(("parts", f"{of}, {len(parts.rows):,} of them with a row"))
    if (path / MODEL).is_file():
        facts.append(("model", f"parameters and report of an estimator, in {MODEL}"))
    if why:
        facts.append(("not trained", why))
    more = ", ..." if len(vectors) > _SHOWN else ""
    return [*facts, ("words", ", ".join(vectors.words[:_SHOWN]) + more)]


_OF_CLASSIFIERS, _CLASSIFIERS = ("bin", "ftz"), "bin, ftz: a classifier for fastText"


def export(
    vectors: VectorsFile,
    to: Annotated[
        str,
        setting(
            "WHAT",
            f"{', '.join(TARGETS)}; or {_CLASSIFIERS}.",
            autocompletion=completing([*TARGETS, *_OF_CLASSIFIERS]),
            show_default=False,
        ),
    ],
    output: Annotated[Path, output_to("OUT", "The file or folder to write.")],
    top: Annotated[int | None, setting("N", "Write the N most frequent words only.", show_default="all")] = None,
    neighbours: Annotated[
        int | None, setting("N", "For embedding-atlas: neighbours per word; 0: none.", show_default="15")
    ] = None,
    language: Annotated[str | None, setting("CODE", "For spacy: the code of a language.", show_default="xx")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an output that holds something else, too.")] = False,
) -> None:
    """Write VECTORS for another program: a map, a model, a table."""
    write = TARGETS.get(to)
    if write is None and to not in _OF_CLASSIFIERS:
        raise Any2VecError(f"`to` is {shown(to)}; it must be one of {', '.join(TARGETS)}; or {_CLASSIFIERS}")
    options = {name: one for name, one in (("neighbours", neighbours), ("language", language)) if one is not None}
    for name in options:
        if write is None or name not in inspect.signature(write).parameters:
            takes = next(other for other in TARGETS if name in inspect.signature(TARGETS[other]).parameters)
            raise Any2VecError(f"`{name}` is for `to={takes}` only")
    place = output.resolve()
    if vectors.resolve() in (place, *place.parents):
        raise Any2VecError(f"{output}: is, or lies in, what is read, {vectors}; write somewhere else")
    if write is None:
        if output.suffix.lower() != f".{to}":
            raise Any2VecError(f"{output}: give a name that ends in .{to}")
        if top is not None:
            raise Any2VecError("`top` is for vectors; `any2vec quantize --cutoff` keeps some rows of a classifier")
        save_classifier(load_classifier(vectors), output, force=force)
        typer.echo(escaped(f"the classifier is in {output}"))
        return
    loaded = load(vectors)
    write(loaded, output, top=top, force=force, **options)
    then = vars(write)["opened_by"].format(shell=quote(str(output)), python=repr(str(output)))
    number = len(first_words(loaded, top))
    for line in (f"{number:,} vectors of {loaded.dim} dimensions are in {output}", f"next: {then}"):
        typer.echo(escaped(line))


def map(  # noqa: A001  (the command's name)
    vectors: VectorsFile,
    output: Annotated[Path, output_to("FILE", "A page (.html), or a picture (.png, .svg).")],
    method: Annotated[str, setting("NAME", "How: umap, pca or tsne.", autocompletion=completing(METHODS))] = "umap",
    words: Annotated[str | None, setting("FILE", _LISTED, show_default=False)] = None,
    top: Annotated[int | None, setting("N", "How many words, the most frequent.", show_default=f"{TOP:,}")] = None,
    labels: Annotated[
        Path | None, setting("FILE", "Colours: lines of a word and its label.", show_default=False)
    ] = None,
    file_format: Annotated[
        str, setting("NAME", _LABEL_FORMAT, "--format", autocompletion=completing(LABEL_FORMATS))
    ] = "auto",
    header: Annotated[bool, typer.Option("--header", help="Skip the first line of the labels, a header.")] = False,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out labels of words that have no vector.")
    ] = False,
    clusters: Annotated[int | None, setting("N", "Colours: N classes of k-means.", show_default=False)] = None,
    seed: shared.Seed = 1,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Draw a map of the words of VECTORS: similar ones are near.

    A page shows words, finds them, and lists the nearest words of the one that is clicked. It needs no network.
    """
    check_one_process("a map is drawn", "map")
    listed = _listed(words)
    sources = [vectors, labels, listed if isinstance(listed, Path) else None]
    check_apart([str(source) for source in sources if source], {"the map": output})
    check_output(output, force=force)
    for name, given in (("skip_unknown", skip_unknown), ("format", file_format != "auto"), ("header", header)):
        if given and labels is None:
            raise Any2VecError(f"`{name}` is for `labels` only")
    check_method(method, {})
    with saying():
        known: VertexLabels | None = read_labels(labels, format=file_format, header=header) if labels else None
    loaded = load(vectors)
    if isinstance(listed, str) and not loaded.has_index_for(listed):
        what = "no file has this name, and no vector; a list has commas between its words"
        raise Any2VecError(f"--words is {shown(listed)}; {what}")
    display = display_for(Console(stderr=True), quiet=quiet, progress=False)
    began = time.perf_counter()
    with _logged_by(display.say):
        found = loaded.map(
            listed,
            top,
            method=method,
            labels=known,
            skip_unknown=skip_unknown,
            clusters=clusters,
            seed=seed,
            neighbours=10 if is_page(output) else 0,
        )
    found.save(output, force=force, title=f"{vectors.stem}: {len(found):,} words")
    seconds = time.perf_counter() - began
    cut = words is None and top is None and len(found) < len(loaded)
    more = f"; --top N shows more than {TOP:,}" if cut else ""
    display.say(
        f"{len(found):,} of {len(loaded):,} words by {NAMES[method]}, {seconds:.1f} s; the map is in {output}{more}"
    )


def _listed(words: str | None) -> Path | list[str] | str | None:
    """Return a file of words, words that are listed, or what may be a word."""
    if words is None or (can_be_path(words) and Path(words).is_file()):
        return None if words is None else Path(words)
    listed = [word.strip() for word in words.split(",") if word.strip()]
    return listed if "," in words else words


@contextmanager
def _logged_by(say: Callable[[str], None]) -> Iterator[None]:
    """Say what the logger of any2vec is told meanwhile."""
    log, handler = logging.getLogger("any2vec"), logging.Handler(logging.INFO)
    level, handler.emit = log.level, lambda record: say(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def report(
    run: Annotated[Path, argument("RUN", "What --report or --log wrote; the run may go on.", show_default=True)],
    output: Annotated[Path, output_to("PAGE.html", "Where to write the page.")],
    force: shared.Force = False,
) -> None:
    """Show a run as a page, with figures.

    They are loss, checks, speed and time; of several hosts also phases, bytes, orthogonality and rows by round.
    """
    check_page(output)
    write_page(read_report(run), output, f"{run.name}: a run of any2vec", force=force)
    typer.echo(escaped(f"the page is in {output}"))
