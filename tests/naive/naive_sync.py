"""What synchronizing should do to rows, in a few lines of NumPy in float64, written from the papers.

Gradient combiner, orthogonality: GraphAny2Vec, section 4. Adasum: Maleki et al. 2020.
Curvature: sync/combiners/curvature.py (ARCHITECTURE, section 7).
"""

import numpy as np


def project(g1, g2):
    """What of g1 is orthogonal to g2 (Eq. 5)."""
    square = g2 @ g2
    return g1 - (g1 @ g2 / square if square else 0.0) * g2


def gradient(parts):
    """GC(g1, .., gk) = GC(gk, .., GC(g2, g1)), where GC(g1, g2) is g2 and what of g1 is orthogonal to it (Eq. 8)."""
    total = parts[0]
    for part in parts[1:]:
        total = total + project(part, total)
    return total


def orthogonality(parts):
    """Eq. 9, of k parts."""
    total = gradient(parts)
    return total @ total / sum(part @ part for part in parts)


def adasum(parts):
    """Each side less half of its projection on the other, pairwise, in host order."""
    total = parts[0]
    for part in parts[1:]:
        total = (total + project(total, part)) / 2 + (part + project(part, total)) / 2
    return total


def curvatures(e, t, sources, destinations, negative):
    """C_e and C_t but for kappa: (K + 1) E[t t^T] and E[e e^T], over what was met so often.

    Beside each, the direction that has a curvature of its own in blending, and that times the updates: for e its mean
    row m and |m|^2 M, M being the updates of the t row of a sample; none for t.
    """
    of_e, of_t = ((x.T * met) @ x / met.sum() for x, met in ((e, sources), (t, destinations)))
    mean = sources @ e / sources.sum()
    updates = destinations @ destinations / destinations.sum()
    return ((1 + negative) * of_t, mean, mean @ mean * updates), (of_e, None, 0.0)


def scaled(x, steps, k):
    """Scale x where one machine's step is `steps`, and a host's the k-th part."""
    steps = np.maximum(steps, 1e-12)
    return x * np.expm1(-steps) / (k * np.expm1(-steps / k))


def corrected(c, other, c_other, updates, hosts, alpha):
    """Shares of an error along each eigenvector of c that rows of the other label correct: of all hosts, and of one.

    `updates` are one host's.
    """
    shares = np.empty((2, len(c)))
    for i, u in enumerate(np.linalg.eigh(c)[1].T):
        weights = updates * (other @ u) ** 2
        for share, n in zip(shares, (1 + hosts * (updates - 1), updates), strict=True):
            share[i] = weights @ -np.expm1(-alpha * n * (u @ c_other @ u)) / weights.sum()
    return shares


def curvature(total, k, updates, c, alpha, by_other, least=0.0):
    """Scale the sum of what k hosts added in `updates` updates, in the eigenvectors of c (with kappa), n_h = N / k.

    On one machine and on a host, this row and the other label (`corrected`) correct errors in turn.
    """
    if k <= 1:
        return total
    values, vectors = np.linalg.eigh(c)
    own, along = np.maximum(alpha * values * updates, 1e-12), vectors.T @ total
    one, host = (
        (f + other - f * other) / (f + other)
        for f, other in zip((-np.expm1(-own), -np.expm1(-own / k)), by_other, strict=True)
    )
    return vectors @ np.where(own < least, along, scaled(along, own, k) * one / host)


def blended(before, change, share, updates, c, alpha, least=0.0):
    """Change that one run on all texts would have, from the optima of the earlier texts and the new one, each from 0.

    This run's `change` is by `updates`, a share of all; where all steps are below `least`, it is kept.
    """
    matrix, mean, shared = c
    along = np.zeros_like(change)
    if mean is not None:
        unit = mean / np.linalg.norm(mean)
        across = np.eye(len(unit)) - np.outer(unit, unit)
        matrix, along = across @ matrix @ across, unit * (unit @ change)
        before, change = across @ before, change - along
    result = scaled(along, alpha * shared, 1 / share)
    values, vectors = np.linalg.eigh(matrix)
    for value, vector in zip(values, vectors.T, strict=True):
        x, d = vector @ before, vector @ change
        here = alpha * max(value, 1e-12) * updates
        there = here * (1 - share) / share
        if here + there >= least:
            earlier, new = x / -np.expm1(-there), x + d / -np.expm1(-here)
            d = -np.expm1(-here - there) * ((1 - share) * earlier + share * new) - x
        result = result + vector * d
    return result


def masters(base, changes, combine):
    """Add to each row what `combine` makes of [(added, updates)] of the hosts that updated it, in host order.

    `changes` has, for each host, {row: (value, updates)}.
    """
    new = base.astype(float)
    for row in range(len(base)):
        found = [(host[row][0] - base[row], host[row][1]) for host in changes if host.get(row, (0, 0))[1]]
        if found:
            new[row] += combine([added for added, _ in found], [updates for _, updates in found])
    return new
