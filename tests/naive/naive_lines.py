"""How fastText reads a line and predicts labels, in plain Python."""

import heapq
import re

import numpy as np
from naive_subwords import naive_hash, naive_subwords

SPACES = rb"[ \n\r\t\v\f\0]+"


def signed(hashed):
    return hashed - 2**32 if hashed >= 2**31 else hashed


def naive_rows(line, model):
    """List the rows of a line, None for those of zeros, and how many words are known, of how many."""
    how = model.settings
    places = {word: i for i, word in enumerate(model.words)}
    buckets = {bucket: len(places) + i for i, bucket in enumerate(model.ids.tolist())}
    rows, hashes, known, number = [], [], 0, 0

    def push(bucket):
        if bucket in buckets or how.counts_unknown:
            rows.append(buckets.get(bucket))

    for token in [*re.split(SPACES, line), b"</s>"]:
        word = token.decode("utf-8", "surrogateescape")
        if not token or (how.prefix and word.startswith(how.prefix)):
            continue
        hashes.append(signed(naive_hash(token)))
        if word in places:
            rows.append(places[word])
        for bucket in naive_subwords(word, how.least, how.most, how.buckets) if how.most else []:
            push(bucket)
        known, number = known + (word in places), number + 1
    for i, hashed in enumerate(hashes):
        gram = hashed
        for other in hashes[i + 1 : i + how.word_ngrams]:
            gram = (gram * 116049371 + other) % 2**64
            push(gram % how.buckets)
    return rows, (known - ("</s>" in places), number - 1)


def naive_tree(counts):
    """Join the two least; of a label and others joined, of the same count, the latter."""
    nodes = [(count, 1, -i, i) for i, count in enumerate(counts)]
    heapq.heapify(nodes)
    for made in range(len(counts) - 1):
        first, second = heapq.heappop(nodes), heapq.heappop(nodes)
        heapq.heappush(nodes, (first[0] + second[0], 0, made, (made, first[3], second[3])))
    return nodes[0][3], len(counts) - 1


def naive_probabilities(line, model, extra=0.0):
    """Return all labels' probabilities, None of a line without rows; fastText adds 1e-5 at each turn of a tree."""
    rows, _ = naive_rows(line, model)
    if not rows:
        return None
    h = sum((model.e[row].astype(float) for row in rows if row is not None), np.zeros(model.e.shape[1])) / len(rows)
    scores = model.t.astype(float) @ h
    if model.settings.loss == "softmax":
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()
    chances = 1 / (1 + np.exp(-scores))
    if model.settings.loss != "hierarchical":
        return chances
    root, inner = naive_tree(model.label_counts.tolist())
    found = np.zeros(len(model.labels))

    def descend(node, p):
        if isinstance(node, int):
            found[node] = p
            return
        made, first, second = node
        chance = chances[inner - 1 - made]
        descend(first, p * (chance + extra))
        descend(second, p * (1 - chance + extra))

    descend(root, 1.0)
    return found
