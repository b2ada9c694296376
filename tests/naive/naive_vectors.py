"""Plain versions of what vectors/ and evaluate/ compute in batches."""

import numpy as np


def unit(row):
    norm = np.linalg.norm(row.astype(np.float64))
    return row.astype(np.float64) / norm if norm else np.zeros(len(row))


def most_similar(words, matrix, positive, negative, topn):
    mean = sum((unit(matrix[words.index(w)]) for w in positive), np.zeros(matrix.shape[1]))
    mean = mean - sum((unit(matrix[words.index(w)]) for w in negative), np.zeros(matrix.shape[1]))
    scored = [(-float(unit(row) @ unit(mean)), i) for i, row in enumerate(matrix)]
    return [(words[i], -s) for s, i in sorted(scored) if words[i] not in [*positive, *negative]][:topn]


def analogies(words, matrix, sections, restrict):
    """Follow compute-accuracy.c, a question at a time; return right, asked and skipped of each section."""
    words = [word.upper() for word in words[:restrict]]
    rows = np.array([unit(row) for row in matrix[:restrict]])
    scores = []
    for section in sections:
        right = asked = 0
        for question in ([word.upper() for word in q] for q in section.questions):
            if any(word not in words for word in question):
                continue
            asked += 1
            a, b, c = (words.index(word) for word in question[:3])
            best, answer = 0.0, None
            for i, row in enumerate(rows):
                cosine = row @ (rows[b] - rows[a] + rows[c])
                if i not in {a, b, c} and cosine > best:
                    best, answer = cosine, words[i]
            right += answer == question[3]
        scores.append((right, asked, len(section.questions) - asked))
    return scores


def spearman(x, y):
    def ranks(values):
        return np.array([np.mean([v < w for v in values]) + np.mean([v == w for v in values]) / 2 for w in values])

    return np.corrcoef(ranks(x), ranks(y))[0, 1]
