"""A folder that both model2vec and sentence-transformers load: means of word vectors as vectors of texts."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any2vec.cluster.local import alone
from any2vec.io.inputs import WHITESPACE
from any2vec.io.replaceable import Kind, json_of
from any2vec.io.safetensors_file import write_tensors
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_sentence_transformers"]

TENSORS, TOKENIZER, CONFIG, MODULES = FILES = "model.safetensors", "tokenizer.json", "config.json", "modules.json"
_MARK = "\ue000"  # before every word; of Unicode's private use, so that no text has it
_CONFIG = {
    "model_type": "model2vec",
    "architectures": ["StaticModel"],
    "tokenizer_name": "any2vec",
    "normalize": False,
    "max_length": None,
    "embedding_dtype": "float32",
}
_MODULES = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]


def _holds(path: Path) -> bool:
    return json_of(path / CONFIG) == _CONFIG


TARGET = Target(
    Kind("a folder for sentence-transformers and model2vec", _holds, files=FILES),
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
    with TARGET.writing(vectors, path, top, force) as (rows, folder):
        write_tensors(folder / TENSORS, {"embeddings": rows.matrix}, {"embeddings": len(rows)}, alone(), Path(path))
        (folder / TOKENIZER).write_text(json.dumps(_tokenizer(rows), ensure_ascii=False), "utf-8")
        (folder / CONFIG).write_text(json.dumps(_CONFIG, indent=1) + "\n", "ascii")
        (folder / MODULES).write_text(json.dumps(_MODULES, indent=1) + "\n", "ascii")


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
