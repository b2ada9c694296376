"""`any2vec infer`: a model of documents and new texts in, vectors of the texts out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli import options as shared
from any2vec.cli.documents import Output, Texts
from any2vec.cli.training import check_apart, check_one_process
from any2vec.errors import counted
from any2vec.io.shown import Console
from any2vec.models.documents import Doc2Vec
from any2vec.training.shown.progress import announcing_compilation, display_for
from any2vec.vectors.files.formats import check_output, save

__all__ = ["infer"]


@shared.from_fields(Doc2Vec, only=("column", "threads"))
def infer(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="The folder that `any2vec documents --save-model` wrote.", show_default=False
        ),
    ],
    texts: Texts,
    output: Output,
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
