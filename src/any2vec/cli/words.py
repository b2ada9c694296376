"""`any2vec words`: text in, vectors out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli import options as shared
from any2vec.cli.training import Job
from any2vec.cluster.communicator import together
from any2vec.evaluate.checker import AnalogyChecker, SimilarityChecker
from any2vec.models import Callback, Word2Vec
from any2vec.vectors.files.formats import named_format

__all__ = ["words"]


@shared.estimator_options(Word2Vec)
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
    training: shared.Training = False,
    report: shared.ReportFile = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Train word vectors on CORPUS, by skip-gram or CBOW."""
    job = Job(
        output=output,
        format=None if format is None else named_format(format, output),
        training=training,
        report=report,
        vocabulary=save_vocabulary,
        force=force,
        quiet=quiet,
        verbose=verbose,
    )
    model = Word2Vec(**options, cache="auto" if cache else None, verbose=job.display)
    job.check(model, [*corpus, *(str(path) for path in (options["vocabulary"], questions, pairs) if path)])
    with together(job.hosts):
        model.callbacks = _checkers(questions, pairs)
    text = job.read(model, corpus)
    job.train(model, text)
    job.save(model)


def _checkers(questions: Path | None, pairs: Path | None) -> list[Callback]:
    """Return what judges the vectors after each epoch."""
    analogies: list[Callback] = [AnalogyChecker(questions)] if questions else []
    return analogies + ([SimilarityChecker(pairs)] if pairs else [])
