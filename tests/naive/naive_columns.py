"""Mini-batches in plain Python: all scores of some centres on the labels as they are, then all steps."""

import itertools

import naive
import naive_models
import numpy as np


def centres(setting, loss, negatives_per, epoch, tree):
    """Batches of each centre in turn: lists of (sources, [(target, label)], learning rate)."""
    words = len(setting.ids)
    if negatives_per == "window":
        for step in naive_models.steps(setting, loss, epoch, 0, words, tree):
            yield [step]
        return
    for _, steps in itertools.groupby(naive.steps(setting, epoch, 0, words), key=lambda step: step.position):
        yield [
            (s.sources, [(w, int(k == 0)) for k, w in enumerate(s.targets) if k == 0 or w != s.targets[0]], s.alpha)
            for s in steps
        ]


def join(e, sources, context):
    return e[sources].sum(0) if context == "sum" else e[sources].mean(0)


def blocks_of(batch, model):
    """(sources, targets, alpha) of what is applied at once: a context, or up to five of its words."""
    for sources, targets, alpha in batch:
        for block in [sources] if model == "cbow" else naive.blocks(sources, 5):
            yield block, targets, alpha


def train(setting, how, e, t, tree, size, epoch=0):
    """Do an epoch in mini-batches of `size` centres, 2 * window apart, on float64 labels, in place; return losses."""
    model, context, negatives_per = how.model, how.context, how.negatives_per
    all_centres, losses, apart = list(centres(setting, how.loss, negatives_per, epoch, tree)), [], 2 * setting.window
    chunks = [all_centres[begin : begin + apart * size] for begin in range(0, len(all_centres), apart * size)]
    for chunk, first in itertools.product(chunks, range(apart)):
        blocks = [b for batch in chunk[first::apart] for b in blocks_of(batch, model)]
        steps = []
        for sources, targets, alpha in blocks:
            rows = join(e, sources, context)[None] if model == "cbow" else e[sources]
            found = [naive_models.step_of(rows @ t[w], label, alpha, how.loss) for w, label in targets]
            steps.append([g for g, _ in found])
            losses += [x for _, more in found for x in more]
        for (sources, targets, _), all_g in zip(blocks, steps, strict=True):
            rows = join(e, sources, context)[None] if model == "cbow" else e[sources]
            change = np.zeros_like(rows)
            for (w, _), g in zip(targets, all_g, strict=True):
                change += np.outer(g, t[w])
                t[w] += g @ rows
            if context == "corrected":
                change /= len(sources)
            np.add.at(e, sources, change)
    return losses
