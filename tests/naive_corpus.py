"""Texts, and what reading a corpus should find in them, in a few lines of plain Python."""

import random
from collections import Counter
from itertools import pairwise

from hypothesis import strategies as st

PIECES = [
    b"a",
    b"b",
    b"c" * 7,
    b"d" * 8,
    b"e" * 9,
    b"f" * 15,
    b"g" * 16,
    b"h" * 17,
    b"\x01",
    b"\x1f",
    b"\x7f",
]
PIECES += ["é".encode(), "\ufffd".encode(), "本".encode(), b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"]
PIECES += [b" "] * 6 + [b"\n", b"\n", b"\r\n", b"\t", b"\v", b"\f", b"\r", b" \n \n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=80).map(b"".join)


def some_text(words=20_000, distinct=3_000, seed=1):
    draw = random.Random(seed)
    names = [f"w{i}" * draw.randint(1, 6) for i in range(distinct)]
    drawn = [names[int(distinct * draw.random() ** 3)] for _ in range(words)]
    return b"".join(word.encode() + draw.choice([b" ", b" ", b" ", b"\n"]) for word in drawn)


def naive(files, min_count=1, max_size=None):
    """Return words, counts, sentences of ids, raw words and invalid words of some files' bytes."""
    lines = [line.split() for text in files for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    decoded = [[word.decode(errors="replace") for word in line] for line in lines]
    counts = Counter(word for line in decoded for word in line)
    kept = sorted((w for w in counts if counts[w] >= min_count), key=lambda w: (-counts[w], w.encode()))
    ids = {word: i for i, word in enumerate(kept[:max_size])}
    sentences = [found for line in decoded if (found := [ids[word] for word in line if word in ids])]
    invalid = sum(word.decode(errors="replace").encode() != word for line in lines for word in line)
    return list(ids), [counts[word] for word in ids], sentences, counts.total(), invalid


def found(corpus):
    """Return the same of what was read."""
    ids, bounds = corpus.worklist.ids.tolist(), corpus.worklist.bounds.tolist()
    sentences = [ids[a:b] for a, b in pairwise(bounds)]
    assert bounds[0] == 0
    assert bounds[-1] == len(ids)
    assert len(sentences) == corpus.sentences == len(corpus.worklist)
    vocabulary = corpus.vocabulary
    return list(vocabulary.words), vocabulary.counts.tolist(), sentences, corpus.raw_words, corpus.invalid


def naive_cuts(files, sentences_kept, hosts):
    """Return where the hosts' parts of W begin, for plain files.

    `sentences_kept` says of each line of each file's bytes how many of its words are in the vocabulary.
    """
    total = sum(map(len, files))
    words, before = [0] * hosts, 0
    kept = iter(sentences_kept)
    for text in files:
        place = before
        for line in text.split(b"\n"):
            owner = max((h for h in range(hosts) if total * h // hosts <= place < total * (h + 1) // hosts), default=-1)
            words[owner] += next(kept)
            place += len(line) + 1
        before += len(text)
    return [sum(words[:h]) for h in range(hosts + 1)]
