"""`any2vec documents`: texts in, a vector of each out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli import options as shared
from any2vec.cli.training import Job, check_apart, check_one_process
from any2vec.corpus import Corpus
from any2vec.errors import counted
from any2vec.io.shown import Console
from any2vec.models import Estimator
from any2vec.models.documents import Doc2Vec
from any2vec.training.progress import announcing_compilation, display_for
from any2vec.vectors.files.formats import check_output, format_of, save

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
    report: shared.ReportFile = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Train document vectors on TEXTS, by PV-DBOW or PV-DM (doc2vec)."""
    shown: Any = {"quiet": quiet, "verbose": verbose}
    job = _Documents(output=output, words=words, model=save_model, report=report, force=force, **shown)
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
        """Raise now what `write_all` would raise."""
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

    def write_all(self, model: Estimator) -> None:
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
    """Infer vectors of TEXTS by a MODEL of documents, which does not change.

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
