"""What options are called in gensim, word2vec, fastText, DeepWalk and node2vec, and what to give in place of them."""

import difflib
from collections.abc import Iterable

__all__ = ["meant"]

_SAME = {
    "alpha": "lr learning_rate start_alpha",
    "checkpoint_minutes": "checkpoint_interval",
    "dim": "vector_size size dims dimension dimensions representation_size embedding_dim embedding_size",
    "epochs": "iter iters epoch n_iter niter iterations",
    "length": "walk_length",
    "max_size": "max_vocab_size max_final_vocab vocab_size",
    "min_count": "mincount min_freq minfreq",
    "negative": "neg num_negatives num_negative_samples negative_samples",
    "sample": "subsample sampling_rate",
    "threads": "workers thread num_threads n_jobs num_workers cores",
    "vocabulary": "read_vocab vocab",
    "save_vocabulary": "save_vocab",
    "walks": "num_walks number_walks walks_per_vertex",
    "window": "window_size ws context_size",
    "joiner": "delimiter",
}
"""Other names of options, by ours."""

_OTHERWISE = {
    "sg": "give `model='skipgram'` for sg=1, `model='cbow'` for sg=0",
    "cbow": "give `model='cbow'` for cbow=1, `model='skipgram'` for cbow=0",
    "hs": "give `loss='hierarchical'` for hs=1, and nothing for hs=0",
    "cbow_mean": "give `context='mean'` for cbow_mean=1, `context='sum'` for cbow_mean=0",
    "min_alpha": "the rate falls to 1e-4 of `alpha`",
    "ns_exponent": "negatives are drawn by counts to the power of 0.75",
    "batch_words": "threads take their words themselves",
    "sorted_vocab": "words are sorted by their counts",
    "null_word": "leave it out",
    "hashfxn": "vectors begin with draws of `seed`",
    "compute_loss": "losses are always kept",
    "shrink_windows": "windows are always shrunk, as in word2vec",
    "trim_rule": "give a `vocabulary`",
    "quiet": "give `verbose=False`",
    "binary": "the ending says the format, .bin or .txt",
}

_OF_TEXT = "sentences corpus corpus_file corpus_iterable train input file graph edgelist"

_NAMES = {other: f"give `{ours}`" for ours, others in _SAME.items() for other in others.split()}
_NAMES |= _OTHERWISE


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
    if found and (not found.startswith("give `") or any(f"`{one}" in found for one in known)):
        return found
    near = difflib.get_close_matches(plain, known, n=1)
    return f"perhaps `{near[0]}` is meant" if near else ""
