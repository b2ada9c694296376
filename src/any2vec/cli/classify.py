"""`any2vec classify`, `predict` and `quantize`: labels of lines."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec import classify as files
from any2vec.cli import options as shared
from any2vec.cli.options import argument, output_to, setting
from any2vec.cli.training import Job, check_apart, check_one_process, job_options
from any2vec.corpus import Corpus
from any2vec.corpus.cache import size_of
from any2vec.errors import Any2VecError, counted
from any2vec.io.memory import size as bytes_of
from any2vec.io.shown import Console
from any2vec.models import Estimator
from any2vec.models.classifier import Classifier
from any2vec.training.progress import display_for

NOT_OF_LABELS = ("features", "max_size", "vocabulary", "wire")
_TEXT = (
    "Text files (also .gz, .bz2, .xz, .zst), directories, or - for standard input. A line has its labels among its "
    "words, such as __label__good."
)
_MODEL = "Where to save the classifier: a folder; or for fastText, .bin, or .ftz, which is quantized."
LabelledText = Annotated[list[str], argument("TEXT", _TEXT)]
ModelFile = Annotated[Path, argument("MODEL", "A classifier: a folder, or fastText's .bin or .ftz.")]


@shared.estimator_options(Classifier, without=NOT_OF_LABELS)
@job_options("training")
def classify(
    text: LabelledText,
    output: Annotated[Path, output_to("MODEL", _MODEL)],
    options: dict[str, Any],
    cache: shared.Cache = True,
    *,
    given: dict[str, Any],
) -> None:
    """Train a classifier of lines on TEXT, as fastText does."""
    job = _Classifying(output=output, **given)
    model = Classifier(**options, cache="auto" if cache else None, verbose=job.display)
    job.check(model, text)
    corpus = job.read(model, text)
    job.train(model, corpus)
    job.save(model)


@dataclass(kw_only=True)
class _Classifying(Job):
    """A classifier."""

    def check_output(self, output: Path) -> None:
        """Raise now what `write` would raise."""
        if self.first:
            files.check_output(output, force=self.force)

    def holds_parts(self, output: Path) -> bool:
        """All have n-grams."""
        return True

    def check_words(self, words: Any) -> None:
        """All words can be saved."""

    def write(self, model: Estimator) -> None:
        """Save the classifier, which all hosts have, on the first."""
        assert isinstance(model, Classifier)
        assert self.output
        if self.first:
            model.save(self.output, force=self.force)

    def sizes(self, corpus: Corpus) -> dict[Path | None, int]:
        """Return how many rows the output will have, at least."""
        return {self.output: len(corpus.vocabulary)}

    def of(self, model: Estimator) -> str:
        """Return the number of labels."""
        assert isinstance(model, Classifier)
        return counted(len(model.model_.labels), "label")

    @property
    def what(self) -> str:
        """What is saved."""
        return "classifier"


@shared.from_fields(Classifier, only=("column", "threads"))
def predict(
    model: ModelFile,
    texts: Annotated[list[str], argument("TEXTS", "Text files, or - for standard input; with --column, one table.")],
    options: dict[str, Any],
    output: Annotated[
        str,
        setting(
            "FILE",
            "Where to write labels and probabilities: text; .jsonl; with --column also .parquet, .csv or .tsv.",
            "--output",
            "-o",
            show_default="standard output",
        ),
    ] = "-",
    k: Annotated[int, setting("N", "Labels for each line; -1 for all.", "-k")] = 1,
    threshold: Annotated[float, setting("P", "The least probability of a label.")] = 0.0,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Predict labels of the lines of TEXTS by a MODEL.

    MODEL is what `any2vec classify`, or fastText, has saved.
    """
    check_one_process("labels are predicted", "predict")
    to_file = output != "-"
    check_apart([str(model), *texts], {"the labels": Path(output) if to_file else None})
    loaded = files.load(model).in_memory()
    number = loaded.predict_file(texts, output, k, threshold, **options, force=force)
    if to_file:
        display_for(Console(stderr=True), quiet=quiet).say(f"labels of {counted(number, 'line')} are in {output}")


@shared.from_fields(Classifier, only=("column", "label_column", "epochs", "alpha", "seed", "threads"))
def quantize(
    model: ModelFile,
    output: Annotated[Path, output_to("MODEL.ftz", "Where to save the quantized classifier.")],
    options: dict[str, Any],
    cutoff: Annotated[int | None, setting("N", "Keep so many rows of words and n-grams.", show_default="all")] = None,
    size: Annotated[
        str | None, setting("SIZE", "Keep as many rows as such a file has room for, e.g. 2MB.", show_default="any")
    ] = None,
    retrain: Annotated[
        list[str] | None, setting("TEXT", "Train the rows that are kept on TEXT before; for --cutoff or --size.")
    ] = None,
    norms: Annotated[bool, typer.Option(help="Quantize lengths of rows apart, as fastText's -qnorm does.")] = True,
    dsub: Annotated[int, setting("N", "Numbers of a row that have one byte together.")] = 2,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Quantize the rows of a MODEL: a tenth of its size."""
    check_one_process("a classifier is quantized", "quantize")
    if output.suffix.lower() != files.QUANTIZED:
        raise Any2VecError(f"{output}: give a name that ends in {files.QUANTIZED}, as quantized classifiers have")
    if retrain and cutoff is None and size is None:
        raise Any2VecError("--retrain is given: say by --cutoff or --size how many rows are kept")
    check_apart([str(model), *(retrain or ())], {"the quantized classifier": output})
    files.check_output(output, force=force)
    display = display_for(Console(stderr=True), quiet=quiet)
    loaded = Classifier.load(model).set_params(**options, verbose=display)
    most = None if size is None else size_of(size, "--size")
    found = loaded.quantized(cutoff, retrain or None, size=most, norms=norms, dsub=dsub)
    files.save(found, output, force=force)
    display.say(f"{output}: {bytes_of(output.stat().st_size)}, {counted(found.e.shape[0], 'row')}")
