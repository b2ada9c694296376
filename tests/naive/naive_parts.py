"""Words with parts in plain Python: fastText's skip-gram and CBOW (Bojanowski et al. 2017; Joulin et al. 2017)."""

from bisect import bisect_right
from collections import Counter
from itertools import groupby

import naive
import naive_models
import naive_subwords
import numpy as np


def rows_of(words, counts, least, most, buckets):
    """Rows of e of each word, with n-grams as parts: see `rows_of_parts`."""
    return rows_of_parts(counts, [naive_subwords.naive_subwords(word, least, most, buckets) for word in words])


def rows_of_parts(counts, parts):
    """Rows of e of each word, its own first, and of each part; the most frequent first, words before parts."""
    used = Counter()
    for count, listed in zip(counts, parts, strict=True):
        for part in listed:
            used[part] += count
    names = [*range(len(counts)), *((part,) for part in sorted(used))]
    times = [*counts, *(used[part] for part in sorted(used))]
    order = sorted(range(len(names)), key=lambda i: (-times[i], i))
    row = {names[i]: at for at, i in enumerate(order)}
    return [[row[word], *(row[(part,)] for part in listed)] for word, listed in enumerate(parts)], {
        part: row[(part,)] for part in used
    }


def train(setting, model, loss, e, t, rows, tree, epoch=0, context="mean"):
    """Do an epoch on float64 rows, in place; return the losses. In skip-gram the centre is the source."""
    losses = []
    if model == "cbow":
        for chunk in chunks(setting, loss, epoch, tree):
            losses += train_chunk(chunk, loss, e, t, rows, context)
        return losses
    for position, key, contexts in naive.windows(setting, epoch, 0, len(setting.ids)):
        alpha, sources = naive.rate(setting, epoch, position), rows[setting.ids[position]]
        joined, change = e[sources].mean(0), np.zeros(e.shape[1])
        for distance, word in contexts:
            before = joined + change
            first = 1 + (distance + setting.window) * setting.negative if setting.negatives_per == "pair" else 1
            if loss == "hierarchical":
                targets = [(inner, 1 - code) for inner, code in tree[word]]
            else:
                drawn = [naive.negative(naive.draw(key, first + k), setting.table) for k in range(setting.negative)]
                targets = [(word, 1), *((other, 0) for other in drawn if other != word)]
            scores = [before @ t[target] for target, _ in targets]
            for (target, label), x in zip(targets, scores, strict=True):
                g, more = naive_models.step_of(x, label, alpha, loss)
                losses.append(more)
                change += g * t[target]
                t[target] += g * before
        np.add.at(e, sources, change)
    return losses


def chunks(setting, loss, epoch, tree, chunk=512):
    """Windows of CBOW by chunks of a sentence: centre, {number in the sentence: context word}, targets, rate."""

    def chunk_of(window):
        position = window[0][0]
        sentence = bisect_right(setting.bounds, position) - 1
        return sentence, (position - setting.bounds[sentence]) // chunk

    size = len(setting.ids)
    windows = zip(
        naive.windows(setting, epoch, 0, size), naive_models.steps(setting, loss, epoch, 0, size, tree), strict=True
    )
    sentence, centre = -1, 0
    for (at, _), found in groupby(windows, chunk_of):
        listed = []
        centre = centre if at == sentence else 0
        sentence = at
        for (_, _, contexts), (_, targets, alpha) in found:
            listed.append((centre, {centre + distance: word for distance, word in contexts}, targets, alpha))
            centre += 1  # all words that are kept are centres, but in sentences of one
        yield listed


def train_chunk(chunk, loss, e, t, rows, context):
    """Train on a chunk: a word's rows are summed up when it comes into reach, and changed when it leaves for good."""
    spans = [[min(centre, *near), max(centre, *near) + 1] for centre, near, _, _ in chunk]
    word_at = {number: word for _, near, _, _ in chunk for number, word in near.items()}
    sums, changes, losses = {}, {}, []
    for i, (_, near, targets, alpha) in enumerate(chunk):
        for number in range(min(begin for begin, _ in spans[i:]), max(end for _, end in spans[: i + 1])):
            if number in word_at and number not in sums:
                sums[number], changes[number] = e[rows[word_at[number]]].sum(0), np.zeros(e.shape[1])
        size = sum(len(rows[word]) for word in near.values())
        whole = sum(sums[number] + len(rows[word]) * changes[number] for number, word in near.items())
        joined, change = whole if context == "sum" else whole / size, np.zeros(e.shape[1])
        scores = [joined @ t[target] for target, _ in targets]
        for (target, label), x in zip(targets, scores, strict=True):
            g, more = naive_models.step_of(x, label, alpha, loss)
            losses.append(more)
            change += g * t[target]
            t[target] += g * joined
        for number in near:
            changes[number] += change / size if context == "corrected" else change
        left = min((begin for begin, _ in spans[i + 1 :]), default=np.inf)
        for number in sorted(number for number in sums if number < left):
            np.add.at(e, rows[word_at[number]], changes.pop(number))
            del sums[number]
            del word_at[number]
    return losses


def updates(setting, loss, rows, tree, number, vertices):
    """Updates of each row of e and of each target in an epoch of CBOW: one by each window, for each word."""
    sources, destinations = np.zeros(number, int), np.zeros(vertices, int)
    for words, targets, _ in naive_models.steps(setting, loss, 0, 0, len(setting.ids), tree):
        for word in words:
            np.add.at(sources, rows[word], 1)
        for target, _ in targets:
            destinations[target] += 1
    return sources.tolist(), destinations.tolist()
