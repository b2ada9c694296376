"""The Embedding Projector of TensorBoard: a folder for `tensorboard --logdir`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from any2vec.io.inputs import open_regular
from any2vec.io.memory import blocks
from any2vec.io.replaceable import Kind
from any2vec.io.shown import decimals
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_tensorboard"]

# Not tensors.bytes: TensorBoard reads every file as text first, and stops at one whose bytes are UTF-8 by chance.
TENSORS, METADATA, CONFIG = FILES = "tensors.tsv", "metadata.tsv", "projector_config.pbtxt"
_CONFIG = f"""embeddings {{
  tensor_name: "any2vec"
  tensor_path: "{TENSORS}"
  metadata_path: "{METADATA}"
}}
"""


def _holds(path: Path) -> bool:
    with open_regular(path / CONFIG) as file:
        return file.read(len(_CONFIG) + 1) == _CONFIG.encode()


TARGET = Target(
    Kind("a projector of TensorBoard", _holds, files=FILES),
    refused=r"[\t\n\r]",
    reason="with a tab or a line end",
)


@opened_by("tensorboard --logdir {shell}")
def to_tensorboard(
    vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False
) -> None:
    """Write a folder that ``tensorboard --logdir`` shows in its Projector.

    `tensors.tsv` has the vectors, `metadata.tsv` the words with their rank and, if known, their counts.

    Parameters
    ----------
    path : str or path
        The folder; an earlier one is replaced. A folder with other files is refused.
    top : int, optional
        Write the first words only, which are the most frequent. The Projector shows at most 100,000.
    force : bool
        Replace a folder whose `projector_config.pbtxt` is not ours, too.

    Raises
    ------
    Any2VecError
        If a vector is not finite, a word has a tab or a line end, or the folder cannot be written.
    """
    with TARGET.writing(vectors, path, top, force) as (rows, folder):
        counted = bool(rows.counts.any())
        with (folder / METADATA).open("w", encoding="utf-8", newline="") as file:
            file.write("word\trank\tcount\n" if counted else "word\trank\n")
            for rank, (word, count) in enumerate(zip(rows.words, rows.counts.tolist(), strict=True), 1):
                file.write(f"{word}\t{rank}\t{count}\n" if counted else f"{word}\t{rank}\n")
        with (folder / TENSORS).open("w", encoding="ascii") as file:
            for block in blocks(rows.matrix, 1 << 16):
                file.writelines(row.replace(" ", "\t") + "\n" for row in decimals(rows.matrix[block]))
        (folder / CONFIG).write_text(_CONFIG, "ascii")
