"""fastText's answers to a line, in plain Python: dictionary.cc, model.cc and loss.cc, with their rounding.

Logarithms have 1e-5 added to a probability; the logistic function of `ns` and `ova` is read from a table.
"""

import math

import numpy as np
from naive_lines import naive_rows


def answers(model, text):
    """Return the probability of each label, as fastText prints it; nothing for a line without rows."""
    rows, _ = naive_rows(text.encode("utf-8", "surrogateescape"), model)
    if not rows:
        return {}
    e, t = (numbers(matrix).astype(np.float64) for matrix in (model.e, model.t))
    hidden = sum(e[row] for row in rows if row is not None) / len(rows)
    scores = t @ hidden
    loss = model.settings.loss
    if loss == "hierarchical":
        return dict(zip(model.labels, tree_of(model.label_counts.tolist(), scores), strict=True))
    if loss == "softmax":
        found = np.exp(scores - scores.max())
        found /= found.sum()
    else:
        table = [1 / (1 + math.exp(-(i * 16 / 512 - 8))) for i in range(513)]
        found = [0.0 if s < -8 else 1.0 if s > 8 else table[int((s + 8) * 512 / 16)] for s in scores]
    return {label: p + 1e-5 for label, p in zip(model.labels, found, strict=True)}


def numbers(matrix):
    """Return rows as numbers."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.rows()


def tree_of(counts, scores):
    """Multiply along the paths of fastText's tree; inner vertices are numbered from the root down in our t."""
    number = len(counts)
    total, leaf, node = counts + [10**15] * (number - 1), number - 1, number
    pairs = {}
    for made in range(number, 2 * number - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and total[leaf] < total[node]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        total[made] = total[pair[0]] + total[pair[1]]
        pairs[made] = pair
    found = {2 * number - 2: 1.0}
    for made in range(2 * number - 2, number - 1, -1):
        score = -scores[2 * number - 2 - made]  # turned around: see vectors/files/fasttext.py
        right = 1 / (1 + math.exp(-score))
        for child, p in zip(pairs[made], (1 - right, right), strict=True):
            found[child] = found[made] * (p + 1e-5)
    return [found[label] for label in range(number)]
