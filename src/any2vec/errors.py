"""The one kind of error that a user sees, and hints in it: what names of other programs are called here."""

import difflib
import re
import reprlib
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from shlex import quote
from typing import Any

_UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKED = re.compile(r"`([a-z]\w*)(?:=([^`]*))?`")


def escaped(text: str) -> str:
    """Return a line for a terminal: escapes for control characters, those that turn lines around, lone surrogates."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Any2VecError(Exception):
    """What the user gave cannot be used; the message says where, what, and what would be right.

    The command line prints the message alone, on one line, and ends with status 1.
    """

    def __str__(self) -> str:  # not that of OSError, which has a number, nor KeyError's, which is a repr
        return escaped(str(self.args[0]) if self.args else "")


class Any2VecWarning(UserWarning):
    """Something that a user should know, though the work goes on; the command line prints it on one line."""

    def __str__(self) -> str:
        return escaped(super().__str__())


class FileError(Any2VecError, OSError):
    """A file cannot be read; of one of the kinds below it is also the error that Python has for that."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or directory; also a FileNotFoundError."""


class ForbiddenFileError(FileError, PermissionError):
    """A file may not be read; also a PermissionError."""


class DirectoryError(FileError, IsADirectoryError):
    """A directory stands where a file is wanted; also an IsADirectoryError."""


FILE_ERRORS = (MissingFileError, ForbiddenFileError, DirectoryError)


def file_error(message: str, cause: Exception) -> Any2VecError:
    """Make an error about a file, of the kind of what the system raised."""
    kind = next((kind for kind in FILE_ERRORS if isinstance(cause, kind.__bases__[1])), None)
    if kind is None:
        return Any2VecError(message)
    error = kind(message)
    error.errno = getattr(cause, "errno", None)
    error.filename = getattr(cause, "filename", None)
    return error


class UnknownWordError(Any2VecError, KeyError):
    """A word has no vector; also a KeyError, as for a missing key of a dict and in gensim.

    `hint` completes the message when it is shown: loops that catch the error for many words do not wait for it.
    """

    def __init__(self, message: str, hint: Callable[[], str] = str) -> None:
        super().__init__(message)
        self._hint = hint

    def __str__(self) -> str:
        self.args, self._hint = (self.args[0] + self._hint(),), str  # who shows it may put another message in `args`
        return super().__str__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class NotTrainedError(Any2VecError, ValueError, AttributeError):
    """A model has no vectors yet; also the errors that scikit-learn's NotFittedError is."""


class UnknownParameterError(Any2VecError, TypeError):
    """A function or class has no such parameter; also a TypeError, as Python has it."""


def is_installed(module: str) -> bool:
    """Whether a library can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except ImportError:  # of a finder that hides it
        return False


def missing_extra(module: str, extra: str) -> Any2VecError:
    """Make the error for a library that is not installed; `extra` is the extra of any2vec that installs it."""
    return Any2VecError(f"this needs {module}, which is not installed: {installing(extra, module)} (extra `{extra}`)")


def library(module: str, extra: str, package: str = "") -> Any:
    """Import a module of a library that an extra of any2vec installs."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_extra(package or module.partition(".")[0], extra) from None


def installing(extra: str, module: str) -> str:
    """Return the command that installs what an extra needs; any2vec itself may come from a folder, not from PyPI."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("any2vec") or []
    except PackageNotFoundError:  # run from its sources
        declared = []
    return "pip install " + (" ".join(map(quote, _needed(declared, extra))) or module)


def _needed(declared: list[str], extra: str) -> list[str]:
    """Return the requirements of an extra, and of others of any2vec that it names."""
    needed: dict[str, None] = {}
    for requirement, _, marker in (line.partition(";") for line in declared):
        if re.search(rf"extra == ['\"]{extra}['\"]", marker):
            own = re.match(r"any2vec\[(.*)\]", requirement)
            for other in own[1].split(",") if own else ():
                needed |= dict.fromkeys(_needed(declared, other.strip()))
            needed |= {} if own else {requirement.strip(): None}
    return list(needed)


def shown(value: object) -> str:
    """Return a value's repr for a message: on one line, and short however large the value is."""
    try:
        return " ".join(reprlib.repr(value).split())
    except Exception:  # what a user's class may raise; Python shows no integer of thousands of digits
        return f"a value of type {type(value).__name__} that cannot be shown"


def counted(number: int, noun: str) -> str:
    """Return a number and what it is of, such as "1 round" or "1,000 rounds"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def respelled(message: str, spelled: Callable[[str, str | None], str | None]) -> str:
    """Replace Python parameters in a message by what `spelled` makes of name and value, or leave them if None."""

    def replaced(found: re.Match[str]) -> str:
        name, value = found.groups()
        return spelled(name, value and value.strip("'")) or found[0]

    return _MARKED.sub(replaced, message)


_SAME = {
    "buckets": "bucket",
    "alpha": "lr learning_rate start_alpha",
    "checkpoint_minutes": "checkpoint_interval",
    "connector_words": "common_terms",
    "dim": "vector_size layer1_size size dims dimension dimensions representation_size embedding_dim embedding_size",
    "epochs": "iter iters epoch n_iter niter iterations",
    "length": "walk_length",
    "max_size": "max_vocab_size max_final_vocab vocab_size",
    "min_alpha": "end_alpha",
    "min_count": "mincount min_freq minfreq",
    "negative": "neg num_negatives num_negative_samples negative_samples",
    "pretrained": "pretrainedvectors pretrained_vectors",
    "sample": "subsample sampling_rate t",
    "seed": "random_state",
    "threads": "workers thread num_threads n_jobs num_workers cores",
    "vocabulary": "read_vocab vocab",
    "save_vocabulary": "save_vocab",
    "walks": "num_walks number_walks walk_number walks_per_vertex walks_per_node",
    "window": "window_size ws",
    "word_ngrams": "wordngrams",
    "label_prefix": "label",
    "joiner": "delimiter",
}
"""Other names of options, by ours."""

_OTHERWISE = {
    "sg": "give `model='skipgram'` for sg=1, `model='cbow'` for sg=0",
    "cbow": "give `model='cbow'` for cbow=1, `model='skipgram'` for cbow=0",
    "hs": "give `loss='hierarchical'` for hs=1, and nothing for hs=0",
    "dm": "give `model='dm'` for dm=1, `model='dbow'` for dm=0",
    "dbow_words": "give `words=True` for dbow_words=1",
    "dm_mean": "give `context='mean'` for dm_mean=1, `context='sum'` for dm_mean=0",
    "dm_concat dm_tag_count": "rows are joined by their mean or sum",
    "docvecs_mapfile": "leave it out",
    "cbow_mean": "give `context='mean'` for cbow_mean=1, `context='sum'` for cbow_mean=0",
    "minn maxn": "give `subwords='minn-maxn'`, such as 3-6",
    "min_n max_n": "give `subwords='min_n-max_n'`, such as 3-6",
    "lrupdaterate lr_update_rate mincountlabel qout saveoutput": "leave it out",
    "retrain": "`any2vec quantize --retrain` and `quantized(cutoff, texts)` have it",
    "cutoff dsub": "`any2vec quantize` has it",
    "qnorm": "`any2vec quantize` does it, unless --no-norms is given",
    "autotunevalidationfile autotunemetric autotunepredictions autotuneduration autotunemodelsize": "`any2vec tune "
    "classify TEXT --validation FILE --size 2MB` tries settings",
    "subwords buckets features": "words have no parts here; `Word2Vec`, `any2vec words` and `any2vec nodes` train them",
    "batch_words": "threads take their words themselves",
    "sorted_vocab": "words are sorted by their counts",
    "null_word": "leave it out",
    "hashfxn": "vectors begin with draws of `seed`",
    "compute_loss": "losses are always kept",
    "trim_rule": "give a `vocabulary`",
    "quiet": "give `verbose=False`",
    "binary": "the ending says the format, .bin or .txt",
    "comment": "leave it out",
    "progress_per": "give `verbose`",
    "extend gamma": "`Node2Vec` and `any2vec nodes` have it",
    "mode": "walks need no mode; `p` and `q` are enough",
    "context_size": "give `window`, one less than context_size",
    "sparse num_nodes temp_folder": "leave it out",
    "undirected": "give `directed=True` for undirected=False, and nothing for undirected=True",
    "implicit_ids": "rows of a matrix are named 0, 1, ...",
}

_OF_CLASSIFY = ("word_ngrams", "wordngrams", "label_prefix", "label")
"""Options of classifiers, also as fastText has them, for what is none."""

_OF_CLASSIFIERS = {
    "get_labels labels": "`classes_` has them",
    "test": "`score(texts, y)` is the share of right ones; `any2vec evaluate labels` has precision and recall",
    "test_label": "`any2vec evaluate labels` has figures of each label; in Python any2vec.evaluate.labels",
    "quantize is_quantized": "`save(path)` quantizes if the name ends in .ftz; `any2vec quantize` has settings",
    "save_model": "`save(path)` writes a model of fastText if the name ends in .bin or .ftz",
    "get_input_matrix get_output_matrix": "`model_.e` and `model_.t` have the rows",
    "explain": "`model_.explain(text, label)` has it",
    "get_sentence_vector": "`transform([text])[0]` has it",
}
"""Of trained classifiers."""

_OF_MODELS = {
    "build_vocab train": "`fit` reads and trains; `fit(..., warm_start=True)` continues with another text",
    "scan_vocab prepare_vocab": "`read` makes the vocabulary, and `fit` takes what it returns",
    "build_vocab_from_freq": "give the estimator a `vocabulary`",
    "get_latest_training_loss running_training_loss": "`loss_` has the mean loss of each epoch",
    "corpus_total_words": "`report_.words` is the number of words",
    "total_train_time": "`report_.seconds` has the time of each phase",
    "sg dm": "`model` has it",
    "hs": "`loss` has it",
    "cbow_mean dm_mean": "`context` has it",
    "docvecs": "`dv` has the vectors of documents",
    "bucket": "`buckets` has it",
    "min_n max_n": "`subwords` has it",
    "loader pos_sample neg_sample parameters embed simulate_walks generate_walks get_walks learn_features "
    "preprocess_transition_probs": "`fit` makes walks and samples, and trains",
    "t syn1 syn1neg get_output_matrix": "`wv.t` has it",
    "embedding forward": "`{}vectors` has the matrix",
    "export_phrases find_phrases phrasegrams": "`phrases_` has the phrases and their scores",
    "freeze delete_temporary_training_data": "leave it out",
    "add_vocab": "`fit` takes all texts at once",
    "predict": "`any2vec.Classifier` has it; `transform` makes what a classifier of scikit-learn is given",
}
_OF_VECTORS = {
    "save save_word2vec_format": "`any2vec.save(vectors, path)` writes vectors; the ending of the name says the format",
    "save_model save_facebook_model": "`any2vec.save(vectors, path, format='fasttext')` writes a model of fastText",
    "accuracy log_accuracy": "`{}evaluate_word_analogies(path)` has it",
    "get_word_id": "`{}get_index(word)` has it",
    "add_vector set_vecattr allocate_vecattrs resize_vectors": "these vectors do not change; "
    "`{}add_vectors(words, matrix)` returns others, with more words",
    "intersect_word2vec_format": "`any2vec.Word2Vec(pretrained=vectors)` begins with vectors of other texts",
    "init_sims unit_normalize_all vectors_norm syn0norm": "`{}get_normed_vectors()` returns vectors of unit length",
    "vocab doctags": "`{}key_to_index` has ids, and `{}get_vecattr(word, 'count')` counts",
    "index2word index2entity index_to_doctag get_words": "`{}index_to_key` has it",
    "syn0 doctag_syn0 vectors_docs get_keras_embedding": "`{}vectors` has it",
    "syn1 syn1neg get_output_matrix": "`{}t` has it",
    "predict_output_word": "`{}t` has the training vectors: their products with the mean of a context are its scores",
    "word_vec get_word_vector get_input_vector": "`{}get_vector(word)` has it, also of an unknown word with n-grams",
    "words_closer_than": "`{}closer_than` has it",
    "sort_by_descending_frequency": "words are sorted by their counts",
    "get_sentence_vector": "`{}get_mean_vector(words)` has it; `{}means(texts)` does not scale words to unit length",
    "get_nearest_neighbors": "`{}most_similar` has it, as pairs of a word and its cosine",
    "get_analogies": "`{}analogy(b, a, c)` has what is called get_analogies(a, b, c)",
    "get_labels labels": "words have no labels: `any2vec.Classifier` has some",
    "get_dimension": "`{}dim` has it",
    "get_input_matrix vectors_ngrams vectors_vocab get_subwords get_subword_id": "`{}parts` has the rows of n-grams",
    "bucket min_n max_n": "`{}parts.settings` has it",
    "wmdistance": "`{}to_gensim()` returns vectors that have it",
    "predict": "`any2vec.Classifier` has it; `{}means(texts)` makes what a classifier of scikit-learn is given",
    "quantize is_quantized": "vectors keep their 32 bits; leave it out",
}
"""Methods and attributes of models and vectors of gensim, fastText and PyG, and what is here; models have `wv.`."""

_SAME_OF_VECTORS = (
    "closer_than distance distances doesnt_match evaluate_word_analogies evaluate_word_pairs get_index get_mean_vector "
    "get_normed_vectors get_vecattr get_vector has_index_for index_to_key key_to_index most_similar vectors words rank "
    "most_similar_cosmul most_similar_to_given n_similarity relative_cosine_similarity similar_by_key similar_by_word "
    "similar_by_vector similarity fill_norms norms cosine_similarities add_vectors rank_by_centrality vectors_for_all "
    "matrix counts"
)

_OF_MODULES = {
    "keyedvectors word2veckeyedvectors fasttextkeyedvectors doc2veckeyedvectors basekeyedvectors "
    "wordembeddingskeyedvectors euclideankeyedvectors": "`any2vec.Vectors` is it, and `any2vec.load` reads files",
    "load_model": "`any2vec.load` reads vectors, `any2vec.Classifier.load` a classifier",
    "load_facebook_model load_facebook_vectors load_word2vec_format": "`any2vec.load` reads it",
    "fasttext train_unsupervised": "`any2vec.Word2Vec(subwords='3-6')` is trained by its `fit`",
    "train_supervised supervised": "`any2vec.Classifier` is trained by its `fit`",
    "linesentence pathlinesentences text8corpus browncorpus": "`fit` takes the names of files",
    "taggeddocument taggedlinedocument labeledsentence": "`fit` of `any2vec.Doc2Vec` takes pairs of a tag and tokens",
    "phraser frozenphrases word2phrase": "`any2vec.Phrases` is it",
    "skipgram cbow": "`any2vec.Word2Vec` has a `model`",
    "pecanpy precomp sparseotf denseotf precompfirstorder firstorderunweighted": "`any2vec.Node2Vec` is it",
    "graph read_graph": "`any2vec.graph.read_graph` makes one",
    "metapath2vec": "`any2vec.DeepWalk` has a `metapath`",
    "vertex2vec graphany2vec": "`any2vec.DeepWalk` is it",
    "word2vec doc2vec deepwalk node2vec phrases": "its name has capitals: `any2vec.Word2Vec`, and so on",
}
"""Of modules, in lower case."""

_OF_TEXT = "sentences documents corpus corpus_file corpus_iterable train input file graph edgelist edge_index"

_VALUES = {"ns": "negative", "hs": "hierarchical", "one-vs-all": "ova"}
"""Of losses."""

_OPTION = re.compile(r"`([a-z_]+)(?:=[^`]*)?`")
_FIRST = re.compile(r"`(\w+)")
_ALIKE = 0.75  # of names; 0.67 is that of `sparse` and `starts`
_OF_PARAMETERS = {others: f"`{ours}` has it" for ours, others in _SAME.items()}
_NAMES = {other: f"give `{ours}`" for ours, others in _SAME.items() for other in others.split()}
_NAMES |= {other: how for others, how in _OTHERWISE.items() for other in others.split()}


def meant(name: str, known: Iterable[str], source: str) -> str:
    """Say what an option is called here, by its name elsewhere or a similar one of those `known`; "" if none is alike.

    `source` says where what is read is given: many programs have an option for it.
    """
    plain, known = name.lower().replace("-", "_"), set(known)
    if plain in known:
        return f"give `{plain}`"
    if plain in _OF_TEXT.split():
        return source
    found = _NAMES.get(plain, "")
    if found and known.issuperset(_OPTION.findall(found)) and plain[:-1] not in known:  # the plural of one
        return found
    if plain in _OF_CLASSIFY:
        return "`any2vec.Classifier` and `any2vec classify` have it"
    near = difflib.get_close_matches(plain, known, n=1, cutoff=_ALIKE)
    return f"perhaps `{near[0]}` is meant" if near else ""


def value_meant(value: object, choices: Iterable[str]) -> str:
    """Say which of the choices a value of fastText's is, for the end of a message; "" if none."""
    ours = _VALUES.get(value, "") if isinstance(value, str) else ""
    return f"; give {ours!r}" if ours in choices else ""


def method_meant(name: str, owner: Any) -> str:
    """Say what a method or attribute of a model, vectors, or a module, by its name, is here; "" if nothing is known."""
    is_module, is_model = isinstance(owner, str), hasattr(type(owner), "learned")
    of_documents = bool(getattr(vars(owner).get("vectors_"), "untrained", "")) if is_model else False
    prefix = ("dv." if of_documents else "wv.") if hasattr(type(owner), "wv") else ""
    if prefix and name in _SAME_OF_VECTORS.split():
        return f" (`{prefix}{name}` has it)"
    of_model = [_OF_MODELS, *[_OF_VECTORS] * bool(prefix), _OF_PARAMETERS]
    if is_model and "classes_" in type(owner).learned:
        of_model = [_OF_CLASSIFIERS, *of_model]
    tables = [_OF_MODULES] if is_module else of_model if is_model else [_OF_VECTORS]
    asked = name.lower() if is_module else name
    for here in (
        here.replace("{}", prefix) for table in tables for names, here in table.items() if asked in names.split()
    ):
        named = _FIRST.search(here)
        if is_module or not named or named[1] in {"any2vec", *dir(owner), *getattr(owner, "learned", ())}:
            return f" ({here})"
    return ""
