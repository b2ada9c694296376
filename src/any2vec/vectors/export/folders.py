"""Folders of other programs: TensorBoard's Projector; sentence-transformers and model2vec; a pipeline of spaCy."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError, library, shown
from any2vec.io.inputs import WHITESPACE, open_regular
from any2vec.io.memory import blocks, decimals
from any2vec.io.outputs import Kind, json_of
from any2vec.io.safetensors_file import write_tensors
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors import Vectors


# Not tensors.bytes: TensorBoard reads every file as text first, and stops at one whose bytes are UTF-8 by chance.
_TSV, _METADATA, _PROJECTOR = _FILES = "tensors.tsv", "metadata.tsv", "projector_config.pbtxt"
_SHOWN = f"""embeddings {{
  tensor_name: "any2vec"
  tensor_path: "{_TSV}"
  metadata_path: "{_METADATA}"
}}
"""


def _holds_projector(path: Path) -> bool:
    with open_regular(path / _PROJECTOR) as file:
        return file.read(len(_SHOWN) + 1) == _SHOWN.encode()


_FOLDER = Target(
    Kind("a projector of TensorBoard", _holds_projector, files=_FILES),
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
    with _FOLDER.writing(vectors, path, top, force) as (rows, folder):
        counted = bool(rows.counts.any())
        with (folder / _METADATA).open("w", encoding="utf-8", newline="") as file:
            file.write("word\trank\tcount\n" if counted else "word\trank\n")
            for rank, (word, count) in enumerate(zip(rows.words, rows.counts.tolist(), strict=True), 1):
                file.write(f"{word}\t{rank}\t{count}\n" if counted else f"{word}\t{rank}\n")
        with (folder / _TSV).open("w", encoding="ascii") as file:
            for block in blocks(rows.matrix, 1 << 16):
                file.writelines(row.replace(" ", "\t") + "\n" for row in decimals(rows.matrix[block]))
        (folder / _PROJECTOR).write_text(_SHOWN, "ascii")


_TENSORS, _SETTINGS = "model.safetensors", "config.json"
_OF_TEXTS = (_TENSORS, "tokenizer.json", _SETTINGS, "modules.json")
_MARK = "\ue000"  # before every word; of Unicode's private use, so that no text has it
_CONFIG = {
    "model_type": "model2vec",
    "architectures": ["StaticModel"],
    "tokenizer_name": "any2vec",
    "normalize": False,
    "max_length": None,
    "embedding_dtype": "float32",
}
_PARTS = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]


def _holds_texts(path: Path) -> bool:
    return json_of(path / _SETTINGS) == _CONFIG


_TEXTS = Target(
    Kind("a folder for sentence-transformers and model2vec", _holds_texts, files=_OF_TEXTS),
    refused=rf"^$|[{WHITESPACE}]|^{_MARK}",
    reason="empty, with whitespace, or beginning with U+E000",
)


@opened_by("SentenceTransformer({python}) or model2vec's StaticModel.from_pretrained({python})")
def to_sentence_transformers(
    vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False
) -> None:
    """Write a folder that sentence-transformers (a StaticEmbedding) and model2vec (a StaticModel) load.

    Their `encode` returns the mean of the vectors of a text's known words: it is
    ``vectors.get_mean_vector(text.split(), pre_normalize=False)``. Whitespace separates words, and nothing else is done
    to the text; unknown words are left out; a text without known words has a vector of zeros.

    Parameters
    ----------
    path : str or path
        The folder; an earlier one is replaced. A folder with other files is refused.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a folder whose `config.json` is not ours, too.

    Raises
    ------
    Any2VecError
        If a vector is not finite, a word is empty or has whitespace, or the folder cannot be written.
    """
    with _TEXTS.writing(vectors, path, top, force) as (rows, folder):
        write_tensors(folder / _TENSORS, {"embeddings": rows.matrix}, {"embeddings": len(rows)}, alone(), Path(path))
        (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(rows), ensure_ascii=False), "utf-8")
        (folder / _SETTINGS).write_text(json.dumps(_CONFIG, indent=1) + "\n", "ascii")
        (folder / "modules.json").write_text(json.dumps(_PARTS, indent=1) + "\n", "ascii")


def _tokenizer(rows: "Vectors") -> dict[str, Any]:
    """Describe a tokenizer of the library `tokenizers`, which gives each known word its id and others none.

    A model of words has an id for unknown ones, which sentence-transformers would count. Byte-pair encoding without
    merges has none: an unknown word falls into characters. No character is known, because with its mark each known
    word has two or more. Characters without an id are left out.
    """
    words = {"type": "Split", "pattern": {"Regex": f"[{WHITESPACE}]+"}, "behavior": "Removed", "invert": False}
    marks = {"type": "Metaspace", "replacement": _MARK, "prepend_scheme": "always", "split": False}
    model: dict[str, Any] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": True,
        "vocab": {_MARK + word: i for i, word in enumerate(rows.words)},
        "merges": [],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, marks]},
        "post_processor": None,
        "decoder": None,
        "model": model,
    }


_NAME = "any2vec"


def _holds_pipeline(path: Path) -> bool:
    meta = json_of(path / "meta.json")
    return isinstance(meta, dict) and meta.get("name") == _NAME and meta.get("pipeline") == []


_PIPELINE = Target(
    Kind("vectors of spaCy", _holds_pipeline, files=("config.cfg", "meta.json", "tokenizer", "vocab")),
    refused=r"^$",
    reason="empty",
)


@opened_by("spacy.load({python})")
def to_spacy(
    vectors: "Vectors",
    path: str | os.PathLike[str],
    *,
    language: str = "xx",
    top: int | None = None,
    force: bool = False,
) -> None:
    """Write a folder that ``spacy.load`` loads, or that ``initialize.vectors`` of a training configuration names.

    A token has the vector of the word that is spelt like it, also in case; others have zeros. spaCy's mean of a text
    includes them.

    Parameters
    ----------
    path : str or path
        The folder; an earlier one is replaced. A folder with other files is refused.
    language : str
        spaCy's code of the language, such as "en", whose rules cut texts into tokens; by default "xx", of no language.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a folder that holds another pipeline of spaCy, too.

    Raises
    ------
    Any2VecError
        If spaCy is not installed or does not know the language, a vector is not finite, or the folder cannot be
        written.
    """
    spacy, table = library("spacy", "spacy"), library("spacy.vectors", "spacy").Vectors
    with _PIPELINE.writing(vectors, path, top, force) as (rows, folder):
        try:
            nlp = spacy.blank(language, meta={"name": _NAME})
        except (ImportError, TypeError, ValueError) as error:
            right = 'one of spaCy\'s codes, such as "en", whose rules need no other library, or "xx"'
            raise Any2VecError(f"`language` is {shown(language)}; it must be {right}") from error
        for word in rows.words:
            nlp.vocab.strings.add(word)
        data = np.array(rows.matrix, np.float32)  # spaCy's may change
        nlp.vocab.vectors = table(strings=nlp.vocab.strings, data=data, keys=list(rows.words), name=_NAME)
        nlp.to_disk(folder)
