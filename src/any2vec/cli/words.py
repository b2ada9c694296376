"""`any2vec words`: text in, vectors out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli import options as shared
from any2vec.cli.training import read_and_fit, run
from any2vec.evaluate.checker import AnalogyChecker, SimilarityChecker
from any2vec.models import Callback, Word2Vec
from any2vec.training.progress import Display

__all__ = ["words"]


@shared.estimator_options(Word2Vec)
def words(
    corpus: shared.CorpusFiles,
    output: shared.Output,
    options: dict[str, Any],
    cache: Annotated[
        bool,
        typer.Option(
            help="Keep the encoded corpus, in $ANY2VEC_CACHE or the user's cache folder, for the next run.",
            rich_help_panel=shared.DATA,
        ),
    ] = True,
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
    training: shared.Training = False,
    report: shared.ReportFile = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Train word vectors on CORPUS, by skip-gram or CBOW."""

    def make(display: Display) -> Word2Vec:
        callbacks: list[Callback] = []
        if questions:
            callbacks.append(AnalogyChecker(questions))
        if pairs:
            callbacks.append(SimilarityChecker(pairs))
        return Word2Vec(**options, cache="auto" if cache else None, callbacks=callbacks, verbose=display)

    reading = read_and_fit(lambda model, communicator: model.read(corpus, communicator), save_vocabulary, force=force)
    run(
        make,
        reading if save_vocabulary else lambda model, communicator: model.fit(corpus, communicator),
        [*corpus, *(str(path) for path in (options["vocabulary"], questions, pairs) if path)],
        output,
        training=training,
        report=report,
        vocabulary=save_vocabulary,
        force=force,
        quiet=quiet,
        verbose=verbose,
    )
