"""The targets that vectors can be written to."""

from collections.abc import Callable

from any2vec.vectors.export import programs, spacy, static_embedding, tables, tensorboard
from any2vec.vectors.lookup import Lookup

__all__ = ["TARGETS", "Exports"]


class Exports(Lookup):
    """Vectors as files of other programs; each method is a target of `any2vec export`."""

    to_tensorboard = tensorboard.to_tensorboard
    to_embedding_atlas = tables.to_embedding_atlas
    to_sentence_transformers = static_embedding.to_sentence_transformers
    to_model2vec = static_embedding.to_sentence_transformers
    to_spacy = spacy.to_spacy
    to_word2vec = programs.to_word2vec
    to_fasttext = programs.to_fasttext
    to_glove = programs.to_glove
    to_numpy = tables.to_numpy
    to_parquet = tables.to_parquet


TARGETS: dict[str, Callable[..., None]] = {
    name.removeprefix("to_").replace("_", "-"): write for name, write in vars(Exports).items() if name.startswith("to_")
}
"""By the names of the command line."""
