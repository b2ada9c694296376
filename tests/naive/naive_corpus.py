"""What reading a corpus should find, in a few lines of plain Python."""

from collections import Counter
from itertools import pairwise


def naive(files, min_count=1, max_size=None, known=None):
    """Return words, counts, sentences of ids, raw words and invalid words of some files' bytes.

    `known` words, of which counts are given, are all kept; what `max_size` leaves is for others.
    """
    known = known or {}
    lines = [line.split() for text in files for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    decoded = [[word.decode(errors="replace") for word in line] for line in lines]
    counts = Counter(word for line in decoded for word in line)
    new = sorted((w for w in counts.keys() - known if counts[w] >= min_count), key=lambda w: (-counts[w], w.encode()))
    new = new if max_size is None else new[: max_size - len(known)]
    totals = {word: counts[word] + known.get(word, 0) for word in [*known, *new]}
    ids = {word: i for i, word in enumerate(sorted(totals, key=lambda w: (-totals[w], w.encode())))}
    sentences = [found for line in decoded if (found := [ids[word] for word in line if word in ids])]
    invalid = sum(word.decode(errors="replace").encode() != word for line in lines for word in line)
    return list(ids), [totals[word] for word in ids], sentences, counts.total(), invalid


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
