"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "BytesOption",
    "DimOption",
    "EpochsOption",
    "JsonOption",
    "NegativeOption",
    "QuestionsOption",
    "RepeatOption",
    "SampleOption",
    "SeedsOption",
    "ThreadsOption",
    "WindowOption",
]

QuestionsOption = Annotated[Path, typer.Option(exists=True, help="Analogies, like word2vec's questions-words.txt.")]
SeedsOption = Annotated[str, typer.Option(help="Seeds, separated by commas.")]
BytesOption = Annotated[int | None, typer.Option("--bytes", help="Use the first BYTES bytes, up to a line's end.")]
DimOption = Annotated[int, typer.Option(help="Length of a vector.")]
WindowOption = Annotated[int, typer.Option(help="Maximum distance between centre and context.")]
NegativeOption = Annotated[int, typer.Option(help="Negative samples per positive one.")]
SampleOption = Annotated[float, typer.Option(help="Subsampling threshold for frequent words.")]
EpochsOption = Annotated[int, typer.Option(help="Passes over the corpus or the walks.")]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads; simulated hosts share them.")]
RepeatOption = Annotated[int, typer.Option(min=1, help="Rounds.")]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Append the figures as JSON lines.")]
