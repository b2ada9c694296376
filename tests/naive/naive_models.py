"""The four models in plain Python: CBOW and hierarchical softmax (Mikolov et al. 2013; Irsoy et al. 2021)."""

import naive
import numpy as np


def huffman(counts):
    """Join the two least nodes again and again; return each vertex's path: (inner vertex, code), the root first.

    Of equal counts inner vertices come first, in the order they were made; then vertices, the last one first.
    """
    nodes = [(count, 1, -vertex, {vertex: []}) for vertex, count in enumerate(counts)]
    for made in range(len(counts) - 1):
        nodes.sort(key=lambda node: node[:3])
        first, second, *nodes = nodes
        inner = len(counts) - 2 - made
        below = {
            v: [(inner, code), *path] for code, child in enumerate((first, second)) for v, path in child[3].items()
        }
        nodes.append((first[0] + second[0], 0, made, below))
    return nodes[0][3]


def steps(setting, loss, epoch, low, high, tree):
    """Windows as (sources, [(target, label)], learning rate); negatives that are the centre are left out."""
    for position, key, contexts in naive.windows(setting, epoch, low, high):
        centre, alpha = setting.ids[position], naive.rate(setting, epoch, position)
        if loss == "hierarchical":
            targets = [(inner, 1 - code) for inner, code in tree[centre]]
        else:
            drawn = [naive.negative(naive.draw(key, k + 1), setting.table) for k in range(setting.negative)]
            targets = [(centre, 1), *((word, 0) for word in drawn if word != centre)]
        yield [word for _, word in contexts], targets, alpha


def step_of(x, label, alpha, loss):
    """Learning rate times minus the gradient of the loss, and the loss; if hierarchical, no step beyond 6."""
    x = np.clip(x, -naive.LIMIT, naive.LIMIT)
    counts = np.abs(x) < 6 if loss == "hierarchical" else 1
    return alpha * (label - 1 / (1 + np.exp(-x))) * counts, naive.loss(x, label)


def apply_skipgram(e, t, sources, targets, alpha, loss):
    """Pair every source with every target, as many sources at a time as a tile has rows; return the losses."""
    losses = []
    for block in naive.blocks(sources, 5 if loss == "hierarchical" else naive.HERE):
        before, change = e[block], np.zeros((len(block), e.shape[1]))
        scores = [before @ t[target] for target, _ in targets]
        for (target, label), x in zip(targets, scores, strict=True):
            g, more = step_of(x, label, alpha, loss)
            losses += more.tolist()
            change += np.outer(g, t[target])
            t[target] += g @ before
        np.add.at(e, block, change)
    return losses


def apply_cbow(e, t, sources, targets, alpha, loss, context="mean"):
    """Let the mean or the sum of the sources learn, and add its change to each; return the losses."""
    joined = e[sources].sum(0) if context == "sum" else e[sources].mean(0)
    change, losses = np.zeros(e.shape[1]), []
    scores = [joined @ t[target] for target, _ in targets]
    for (target, label), x in zip(targets, scores, strict=True):
        g, more = step_of(x, label, alpha, loss)
        losses.append(more)
        change += g * t[target]
        t[target] += g * joined
    np.add.at(e, sources, change / len(sources) if context == "corrected" else change)
    return losses


def train(setting, model, loss, e, t, tree, epoch=0, context="mean"):
    """Do an epoch on float64 labels, in place; return the losses."""
    how = {"context": context} if model == "cbow" else {}
    apply = apply_cbow if model == "cbow" else apply_skipgram
    return [
        x
        for sources, targets, alpha in steps(setting, loss, epoch, 0, len(setting.ids), tree)
        for x in apply(e, t, sources, targets, alpha, loss, **how)
    ]


def updates(setting, model, loss, vertices, tree):
    """Updates that each vertex gets in an epoch as a source and as a destination; a CBOW window is one source there."""
    sources, destinations = np.zeros((2, vertices), int)
    for words, targets, _ in steps(setting, loss, 0, 0, len(setting.ids), tree):
        for word in words:
            sources[word] += 1
        for target, _ in targets:
            destinations[target] += 1 if model == "cbow" else len(words)
    return [sources.tolist(), destinations.tolist()]
