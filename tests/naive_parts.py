"""Words with parts in plain Python: fastText's skip-gram and CBOW (Bojanowski et al. 2017; Joulin et al. 2017)."""

from collections import Counter

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


def train(setting, model, loss, e, t, rows, tree, epoch=0):
    """Do an epoch on float64 rows, in place; return the losses. In skip-gram the centre is the source."""
    losses = []
    if model == "cbow":
        for sources, targets, alpha in naive_models.steps(setting, loss, epoch, 0, len(setting.ids), tree):
            every = [row for word in sources for row in rows[word]]
            losses += naive_models.apply_cbow(e, t, every, targets, alpha, loss)
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
