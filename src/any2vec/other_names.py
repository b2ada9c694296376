"""What options and methods of gensim, word2vec, fastText, DeepWalk, node2vec and PecanPy are called here."""

import difflib
from collections.abc import Iterable

__all__ = ["meant", "method_meant"]

_SAME = {
    "buckets": "bucket",
    "alpha": "lr learning_rate start_alpha",
    "checkpoint_minutes": "checkpoint_interval",
    "dim": "vector_size size dims dimension dimensions representation_size embedding_dim embedding_size",
    "epochs": "iter iters epoch n_iter niter iterations",
    "length": "walk_length",
    "max_size": "max_vocab_size max_final_vocab vocab_size",
    "min_alpha": "end_alpha",
    "min_count": "mincount min_freq minfreq",
    "negative": "neg num_negatives num_negative_samples negative_samples",
    "sample": "subsample sampling_rate t",
    "seed": "random_state",
    "threads": "workers thread num_threads n_jobs num_workers cores",
    "vocabulary": "read_vocab vocab",
    "save_vocabulary": "save_vocab",
    "walks": "num_walks number_walks walks_per_vertex walks_per_node",
    "window": "window_size ws context_size",
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
    "wordngrams word_ngrams mincountlabel": "classifiers of fastText have it; leave it out",
    "lrupdaterate": "leave it out",
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
    "mode": "walks need no mode; `--p` and `--q` are enough",
    "implicit_ids": "rows of a matrix are named 0, 1, ...",
}

_METHODS = {
    "build_vocab train": "`fit` reads and trains; `fit(..., warm_start=True)` continues with another text",
    "scan_vocab prepare_vocab": "`read` makes the vocabulary, and `fit` takes what it returns",
    "build_vocab_from_freq": "give the estimator a `vocabulary`",
    "get_latest_training_loss running_training_loss": "`loss_` has the mean loss of each epoch",
    "corpus_count corpus_total_words": "`report_.words` is the number of words",
    "most_similar similarity doesnt_match": "`wv` has it",
    "docvecs": "`dv` has the vectors of documents",
    "export_phrases find_phrases": "`phrases_` has the phrases and their scores",
    "freeze": "leave it out",
    "add_vocab": "`fit` takes all texts at once",
    "save save_word2vec_format": "`any2vec.save(vectors, path)` writes vectors; the ending of the name says the format",
    "add_vector set_vecattr allocate_vecattrs resize_vectors": "these vectors do not change; "
    "`add_vectors(words, matrix)` returns others, with more words",
    "intersect_word2vec_format": "give the estimator `pretrained` vectors",
    "init_sims unit_normalize_all vectors_norm": "`get_normed_vectors()` returns vectors of unit length",
    "vocab": "`key_to_index` has ids, and `get_vecattr(word, 'count')` counts",
    "index2word index2entity": "`index_to_key` has it",
    "word_vec": "`get_vector` has it",
    "words_closer_than": "`closer_than` has it",
    "sort_by_descending_frequency": "words are sorted by their counts",
    "get_word_vector get_input_vector": "`vectors[word]` is the vector, also of an unknown word",
    "get_sentence_vector": "`means(texts)` has the means of texts",
    "get_nearest_neighbors": "`most_similar` has it",
    "get_analogies": "`analogy` has it",
    "get_words get_labels": "`words` has it",
    "get_dimension": "`dim` has it",
    "get_input_matrix vectors_ngrams vectors_vocab get_subwords get_subword_id": "`parts` has the rows of words' parts",
    "bucket min_n max_n": "`parts.settings` has it",
    "get_output_matrix": "`t` has it",
    "wmdistance": "`to_gensim()` returns vectors that have it",
}
"""Methods and attributes of gensim's models, vectors and phrases that are not here, and what is."""

_OF_TEXT = "sentences corpus corpus_file corpus_iterable train input file graph edgelist"

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
    near = difflib.get_close_matches(plain, known, n=1)
    if found and (any(f"`{one}" in found for one in known) if found.startswith("give `") else plain[:-1] not in known):
        return found
    return f"perhaps `{near[0]}` is meant" if near else ""


def method_meant(name: str) -> str:
    """Say what gensim's method or attribute is here; "" if there is nothing to say."""
    return next((f" ({here})" for names, here in _METHODS.items() if name in names.split()), "")
