"""`any2vec words`, `documents`, `infer`, `phrases`, `demo`, `nodes`, `walks`: text or a graph in, vectors out."""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from any2vec.cli import options as shared
from any2vec.cli.options import argument, graph_options, output_to, saying
from any2vec.cli.training import Job, check_apart, check_one_process, job_options
from any2vec.cli.vectors import neighbours
from any2vec.cluster.communicator import together
from any2vec.cluster.machine import usable_cores
from any2vec.corpus import Corpus
from any2vec.corpus.phrases.bigrams import NPMI
from any2vec.corpus.phrases.phrased_text import PHRASED_TEXT, PHRASES
from any2vec.corpus.phrases.phrases import Phrases
from any2vec.errors import Any2VecError, counted, shown
from any2vec.evaluate.analogies import AnalogyChecker, SimilarityChecker
from any2vec.graph.readers import read_graph
from any2vec.io.outputs import check_writable, marked, refusals, replacing_file
from any2vec.io.shown import Console
from any2vec.models import Callback, Estimator, Node2Vec, Word2Vec
from any2vec.models.words import Doc2Vec
from any2vec.signals import INTERRUPTED
from any2vec.training.progress import announcing_compilation, display_for
from any2vec.vectors.files import check_output, format_of, named_format, save
from any2vec.walks.metapaths import check_metapaths
from any2vec.walks.walker import Walker, check_walks
from any2vec.walks.worklist import write_text


@shared.estimator_options(Word2Vec)
@job_options()
def words(
    corpus: shared.CorpusFiles,
    output: shared.Output,
    options: dict[str, Any],
    cache: shared.Cache = True,
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask these analogies after each epoch.", rich_help_panel="Run")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Judge the similarity of these pairs after each epoch.", rich_help_panel="Run"
        ),
    ] = None,
    save_vocabulary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write words and counts, for --vocabulary.", rich_help_panel=shared.DATA),
    ] = None,
    format: shared.OutputFormat = None,  # noqa: A002
    *,
    given: dict[str, Any],
) -> None:
    """Train word vectors on CORPUS, by skip-gram or CBOW."""
    kind = None if format is None else named_format(format, output)
    job = Job(output=output, format=kind, vocabulary=save_vocabulary, **given)
    model = Word2Vec(**options, cache="auto" if cache else None, verbose=job.display)
    job.check(model, [*corpus, *(str(path) for path in (options["vocabulary"], questions, pairs) if path)])
    with together(job.hosts):
        analogies: list[Callback] = [AnalogyChecker(questions)] if questions else []
        model.callbacks = analogies + ([SimilarityChecker(pairs)] if pairs else [])
    text = job.read(model, corpus)
    job.train(model, text)
    job.save(model)


_WORDS = ("war", "economy", "children", "soviet", "congress")


def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="VECTORS", help="Save the vectors too.", show_default=False),
    ] = None,
    force: shared.Force = False,
) -> None:
    """Train on speeches of US presidents, and show neighbours."""
    if output:
        check_output(output, force=force)
    console = Console()
    console.print(
        "The inaugural and State of the Union addresses of the US presidents: "
        "any2vec words presidents.txt.xz -o VECTORS --epochs 30 --sample 1e-4 --shuffle",
        highlight=False,
        soft_wrap=True,
    )
    display = display_for(Console(stderr=True))
    model = Word2Vec(epochs=30, sample=1e-4, shuffle=True, verbose=display)
    with (
        as_file(files("any2vec") / "data" / "presidents.txt.xz") as text,
        announcing_compilation(display.say),
        suppress(KeyboardInterrupt),
    ):
        model.fit(text)
    if not hasattr(model, "vectors_"):
        raise KeyboardInterrupt
    console.print(
        f"{model.report_.words_per_second:,.0f} words/s, loss {model.loss_[0]:.3f} to {model.loss_[-1]:.3f}",
        highlight=False,
    )
    for word in _WORDS:
        console.print(Text(word, style="bold"))
        console.print(neighbours(model.vectors_.most_similar(word, topn=5)))
    if output:
        save(model.vectors_, output, force=force)
    if model.report_.interrupted:
        console.print("stopped early: these are the vectors trained so far")
        raise typer.Exit(INTERRUPTED)


_STANDARD_OUTPUT = "-"
_SHOWN = 5  # of the best phrases


@shared.from_fields(Phrases)
def phrases(
    corpus: shared.CorpusFiles,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="TEXT", help="Text (.gz too), or - for standard output.", show_default=False
        ),
    ],
    options: dict[str, Any],
    threshold: Annotated[
        str,
        typer.Option(
            metavar="NUMBER[,NUMBER]...",
            help="Score above which two words are a phrase; several, for each pass its own.",
            rich_help_panel="Phrases",
        ),
    ] = "100",
    listed: Annotated[
        Path | None,
        typer.Option(
            "--phrases",
            metavar="FILE",
            help="Write the phrases, with scores and counts, as text.",
            rich_help_panel="Run",
        ),
    ] = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Join the words of phrases in CORPUS, such as new_york.

    Phrases are pairs that occur together more often than expected.
    """
    check_one_process("phrases are found", "phrases")
    display = display_for(Console(stderr=True), quiet=quiet)
    found = Phrases(**options, threshold=_numbers(threshold), progress=display.reading)
    found.check()
    if str(listed) == _STANDARD_OUTPUT:
        raise Any2VecError("--phrases is '-'; it must be a file: only the text, with -o -, goes to standard output")
    written = str(output) != _STANDARD_OUTPUT
    check_apart(corpus, {"the text": output if written else None, "the list of phrases": listed})
    for path, what in ((output if written else None, PHRASED_TEXT), (listed, PHRASES)):
        if path is not None:
            check_writable(path, what, force=force)
    began = time.perf_counter()
    try:
        with announcing_compilation(display.say):
            text = found.fit_transform(corpus)
    finally:
        display.close()
    if written:
        text.write(output, force=force)
    else:
        with refusals(Path("standard output")):
            for chunk in text.chunks():
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    if listed is not None:
        found.save(listed, force=force)
    display.say(_summary(found, output if written else None, time.perf_counter() - began))


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise Any2VecError(f"`threshold` is {shown(text)}; it must be a number, or several such as 200,100") from None


def _summary(found: Phrases, output: Path | None, seconds: float) -> str:
    """Describe the phrases, the speed and the output."""
    words = f"{found.words_:,} words, {found.words_ / seconds:,.0f} words/s"
    where = "" if output is None else f"; the text is in {output}"
    if not found.phrases_:
        return f"{words}; no phrases: lower --threshold or --min-count{where}"
    form = ".2f" if found.scoring == NPMI else ",.0f"
    best = ", ".join(f"{phrase} {score:{form}}" for phrase, score in list(found.phrases_.items())[:_SHOWN])
    return f"{words}; {len(found.phrases_):,} phrases, the best are {best}{where}"


Texts = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXTS",
        help="Text files (also .gz, .bz2, .xz, .zst), directories, or - for standard input. A line is a document.",
        show_default=False,
    ),
]
_Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="VECTORS",
        help="Where to save the documents' vectors, named by the numbers of their lines, from 1: .txt, .vec or .bin "
        "(word2vec's formats; .gz too), or a folder.",
        show_default=False,
    ),
]
_OUTPUTS = "the documents' vectors", "the words' vectors", "the model"
NOT_OF_DOCUMENTS = ("blend", "buckets", "features", "frozen", "operator", "start", "subwords")


@shared.estimator_options(Doc2Vec, without=NOT_OF_DOCUMENTS)
@job_options("training")
def documents(
    texts: Texts,
    output: _Output,
    options: dict[str, Any],
    words: Annotated[
        Path | None,
        typer.Option(metavar="VECTORS", help="Train vectors of words, too, and save them here."),
    ] = None,
    save_model: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save the model, too, by which `any2vec infer` gives other texts vectors."),
    ] = None,
    cache: shared.Cache = True,
    *,
    given: dict[str, Any],
) -> None:
    """Train document vectors on TEXTS, by PV-DBOW or PV-DM (doc2vec)."""
    job = _Documents(output=output, words=words, model=save_model, **given)
    model = Doc2Vec(**options, words=words is not None, cache="auto" if cache else None, verbose=job.display)
    job.check(model, [*texts, *([str(options["vocabulary"])] if options["vocabulary"] else [])])
    text = job.read(model, texts)
    job.train(model, text)
    job.save(model)


@dataclass(kw_only=True)
class _Documents(Job):
    """Documents' vectors, those of their words, and the model."""

    words: Path | None = None
    model: Path | None = None

    @property
    def shared(self) -> dict[str, object]:
        """Options of the command that all hosts must share."""
        return super().shared | {"save_model": self.model}

    @property
    def vectors(self) -> dict[str, Path | None]:
        """Where vectors are saved, by what they are."""
        return dict(zip(_OUTPUTS, (self.output, self.words, self.model), strict=True))

    def check_output(self, output: Path) -> None:
        """Raise now what `write` would raise."""
        for path, training in ((output, False), (self.words, False), (self.model, True)):
            if path:
                check_output(path, training, self.hosts, force=self.force)

    def check_words(self, words: Sequence[str]) -> None:
        """Refuse words that the output of words cannot hold; documents have numbers."""
        if self.words and (check := format_of(self.words).check_words):
            check(words, self.words)

    def read(self, model: Estimator, source: Any, **how: Any) -> Corpus:
        """Read the texts, and keep the number of those that get vectors."""
        corpus = super().read(model, source, **how)
        self._number = corpus.sentences
        return corpus

    def write(self, model: Estimator) -> None:
        """Save documents, words and the model."""
        assert isinstance(model, Doc2Vec)
        assert self.output
        for vectors, path in ((model.documents_, self.output), (model.vectors_, self.words)):
            if path:
                save(vectors, path, communicator=self.hosts, force=self.force)
        if self.model:
            model.save(self.model, communicator=self.hosts, force=self.force)

    def sizes(self, corpus: Corpus) -> dict[Path | None, int]:
        """Return how many vectors each output will have."""
        words, documents = len(corpus.vocabulary), corpus.sentences
        return {self.output: documents, self.words: words, self.model: 2 * words + documents}

    def of(self, model: Estimator) -> str:
        """Return the number of documents."""
        return counted(self._number, "document")


@shared.from_fields(Doc2Vec, only=("column", "threads"))
def infer(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="The folder that `any2vec documents --save-model` wrote.", show_default=False
        ),
    ],
    texts: Texts,
    output: _Output,
    options: dict[str, Any],
    epochs: Annotated[int | None, typer.Option(help="Passes over a text.", show_default="as in training")] = None,
    alpha: Annotated[float | None, typer.Option(help="Initial learning rate.", show_default="as in training")] = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Infer vectors of TEXTS by a MODEL of documents.

    TEXTS are read as those of `any2vec documents` are, with the model's --lowercase and --tokenize, and its --column
    unless another is given; --column "" is none.
    """
    check_one_process("vectors are inferred", "infer")
    check_apart([str(model), *texts], {"the vectors": output})
    check_output(output, force=force)
    loaded = Doc2Vec.load(model)
    loaded.threads, column = options["threads"], options["column"]
    loaded.column = loaded.column if column is None else column or None
    display = loaded.verbose = display_for(Console(stderr=True), quiet=quiet)
    with announcing_compilation(display.say):
        vectors = loaded.infer(texts, epochs=epochs, alpha=alpha)
    save(vectors, output, force=force)
    display.say(f"vectors of {counted(len(vectors), 'document')} are in {output}")


_WALKS = marked("walks that any2vec wrote")
_WALKER = ("length", "p", "q", "restart", "extend", "gamma", "starts")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

_GRAPH = (
    "An edge list (also .gz, .bz2, .xz, .zst), an adjacency list, .parquet, .mat, .npz, .mtx, a folder of parts of one "
    "graph, or - for standard input."
)
GraphFile = Annotated[str, argument("GRAPH", _GRAPH)]


@shared.estimator_options(Node2Vec)
@graph_options
@job_options()
def nodes(
    source: GraphFile, output: shared.Output, options: dict[str, Any], how: dict[str, Any], given: dict[str, Any]
) -> None:
    """Train vectors of the vertices of GRAPH: DeepWalk, node2vec or metapath2vec.

    Walks are DeepWalk's, node2vec's (--p, --q) or metapath2vec's (--metapath).
    """
    job = Job(output=output, **given)
    model = Node2Vec(**options, verbose=job.display)
    job.check(model, [source, *filter(None, [how["kinds"]])])
    with saying(job.display.say):
        walks = job.read(model, source, **how)
    job.train(model, walks)
    job.save(model)


@shared.from_fields(Node2Vec, only=("walks", *_WALKER, "metapath", "seed", "threads"))
@graph_options
def walks(
    source: GraphFile,
    output: Annotated[Path, output_to("FILE", "Text, a walk per line; - for standard output.")],
    options: dict[str, Any],
    how: dict[str, Any],
    force: shared.Force = False,
) -> None:
    """Write walks on GRAPH as text."""
    check_one_process("walks are written", "walks")
    number, threads = options.pop("walks"), options.pop("threads")
    options["metapaths"] = check_metapaths(options.pop("metapath"))
    check_walks(number, **{name: options[name] for name in (*_WALKER, "metapaths")})
    if output.suffix in _COMPRESSED:
        raise Any2VecError(f"{output}: walks are written as plain text; leave out the ending {output.suffix}")
    if str(output) != "-":
        check_apart([source, *filter(None, [how["kinds"]])], {"the walks": output})
        check_writable(output, _WALKS, force=force)
    with saying():
        walker = Walker(read_graph(source, threads=threads, **how), **options)
    if str(output) == "-":
        with refusals(Path("standard output")):
            write_text(walker, number, sys.stdout.buffer, threads=threads or usable_cores())
            sys.stdout.buffer.flush()
        return
    with replacing_file(output, _WALKS) as file:
        write_text(walker, number, file, threads=threads or usable_cores())
