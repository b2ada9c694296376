"""PV-DBOW and PV-DM in plain Python (Le and Mikolov 2014): the document is one more source of each of its windows."""

from itertools import pairwise

import naive
import naive_models
import numpy as np


def windows(setting, epoch):
    """Document, position, key and context of every centre, whether or not it has a context."""
    found = {position: (key, near) for position, key, near in naive.windows(setting, epoch, 0, len(setting.ids))}
    for document, (begin, end) in enumerate(pairwise(setting.bounds)):
        for position in naive.kept(
            setting.ids, begin, end, setting.keep, naive.epoch_key(setting.seed, epoch, naive.KEEP)
        ):
            key = naive.draw(naive.epoch_key(setting.seed, epoch, naive.NEGATIVES), position)
            yield document, position, *found.get(position, (key, []))


def train(setting, model, words, rows, e, t, epoch):
    """Do an epoch on float64 rows of documents, e and t, in place; return the losses."""
    losses, n = [], len(e)
    both = np.concatenate([e, rows])
    for document, position, key, near in windows(setting, epoch):
        centre, alpha = setting.ids[position], naive.rate(setting, epoch, position)
        drawn = [naive.negative(naive.draw(key, k + 1), setting.table) for k in range(setting.negative)]
        targets = [(centre, 1), *((word, 0) for word in drawn if word != centre)]
        sources = [*((word for _, word in near) if words or model == "dm" else ()), n + document]
        apply = naive_models.apply_cbow if model == "dm" else naive_models.apply_skipgram
        losses += apply(both, t, sources, targets, alpha, "negative")
    e[:], rows[:] = both[:n], both[n:]
    return losses


def infer(setting, model, texts, e, t, first):
    """Return rows of new texts, each trained alone from `first`, with e and t as they are."""
    made = []
    for ids in texts:
        alone, rows = setting._replace(ids=ids, bounds=[0, len(ids)]), first.astype(float)[None]
        for epoch in range(setting.epochs):
            for _, position, key, near in windows(alone, epoch):
                centre, alpha = ids[position], naive.rate(alone, epoch, position)
                drawn = [naive.negative(naive.draw(key, k + 1), setting.table) for k in range(setting.negative)]
                sources = [e[word] for _, word in near] if model == "dm" else []
                joined = np.mean([*sources, rows[0]], axis=0)
                change = np.zeros_like(joined)
                for target, label in [(centre, 1), *((word, 0) for word in drawn if word != centre)]:
                    g, _ = naive_models.step_of(joined @ t[target], label, alpha, "negative")
                    change += g * t[target]
                rows[0] += change
        made.append(rows[0])
    return np.array(made)
