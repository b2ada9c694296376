"""Training of labels, line by line, in plain Python: Joulin et al. 2017, and fastText's supervised mode."""

import math
from collections import Counter

import numpy as np
from naive import FLOOR, NEGATIVES, below, draw, epoch_key, negative
from naive_subwords import naive_hash, naive_subwords

PREFIX, END = "__label__", "</s>"


def signed(word):
    """fastText's hash of a word, 32 bits with a sign."""
    hashed = naive_hash(word.encode())
    return hashed - 2**32 if hashed >= 2**31 else hashed


def parts_of(line, grams, buckets, characters):
    """List the parts of a line: words, the end, buckets of n-grams; labels are none."""
    words = [word for word in line if not word.startswith(PREFIX)]
    found = [part for word in words for part in (word, *(naive_subwords(word, *characters) if characters else ()))]
    found.append(END)
    hashes = [signed(word) % 2**64 for word in (*words, END)]
    for i in range(len(words)):
        gram = hashes[i]
        for j in range(i + 1, min(i + grams, len(hashes))):
            gram = (gram * 116049371 + hashes[j]) % 2**64
            found.append(gram % buckets)
    return found


def vocabulary(lines):
    """List words by falling count, ties by their bytes."""
    counts = Counter(word for line in lines for word in line)
    return sorted(counts, key=lambda word: (-counts[word], word.encode())), counts


def rows_of(lines, min_count, **how):
    """Number the parts of lines by falling use: the end, words, and buckets, in this order where they are alike."""
    words, counts = vocabulary(lines)
    own = [word for word in words if not word.startswith(PREFIX) and counts[word] >= min_count]
    uses = Counter(part for line in lines for part in parts_of(line, **how))
    buckets = sorted(part for part in uses if isinstance(part, int))
    return {part: row for row, part in enumerate(sorted([END, *own, *buckets], key=lambda part: -uses[part]))}


def train(lines, e, t, loss, rows, tree=None, table=None, negatives=5, *, alpha, epochs, seed, weights=None, **how):
    """Train for all epochs; `e` and `t`, float64, change. Return the mean loss of a line, or of its samples, by epoch.

    `tree` has the path of each label, of inner vertices and labels 0 and 1; `table` is that of negatives; `weights`
    have one of each label.
    """
    words, _ = vocabulary(lines)
    labels = [word for word in words if word.startswith(PREFIX)]
    total, losses = sum(map(len, lines)) * epochs, []
    done = 0
    for epoch in range(epochs):
        summed = samples = 0.0
        key, position = epoch_key(seed, epoch, NEGATIVES), 0
        for line in lines:
            places = [rows[part] for part in parts_of(line, **how) if part in rows]
            mine = [labels.index(word) for word in line if word in labels]
            window = draw(key, position)
            step = alpha * max(1 - (done + position) / total, FLOOR)
            position += len(line)
            if not mine:
                continue
            step *= np.mean([weights[k] for k in mine]) if weights else 1
            chosen = mine[below(draw(window, 1), len(mine))]
            if loss in ("softmax", "ova"):
                wanted = {chosen} if loss == "softmax" else set(mine)
                targets = [(k, int(k in wanted)) for k in range(len(labels))]
            elif loss == "hierarchical":
                targets = tree[chosen]
            else:
                drawn = [negative(draw(window, 2 + j), table) for j in range(negatives)]
                targets = [(chosen, 1), *((k, 0) for k in drawn if k != chosen)]
            mean = e[places].mean(axis=0)
            scores = np.array([t[k] @ mean for k, _ in targets])
            truth = np.array([label for _, label in targets])
            if loss == "softmax":
                p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                summed -= math.log(p[truth == 1][0])
                samples += 1
            else:
                p = 1 / (1 + np.exp(-scores))
                summed -= np.log(np.where(truth, p, 1 - p)).sum()
                samples += len(targets)
            change = np.zeros_like(mean)
            for (k, _), gradient in zip(targets, step * (truth - p), strict=True):
                change += gradient * t[k]
                t[k] += gradient * mean
            for place in places:
                e[place] += change / len(places)
        done += position
        losses.append(summed / samples)
    return losses
