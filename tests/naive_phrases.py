"""What word2phrase finds and joins, in plain Python with strings; scores in float32, as there."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np


def naive_scores(lines, threshold=100.0, min_count=5, delta=None, across_lines=True):
    """Return count and score of each pair of words that is a phrase in lines of words."""
    delta = min_count if delta is None else delta
    words = Counter(word for line in lines for word in line)
    whole = [[word for line in lines for word in line]] if across_lines else lines
    pairs = Counter(pair for line in whole for pair in pairwise(line))
    found = {}
    for (a, b), count in pairs.items():
        if min(count, words[a], words[b]) >= min_count:
            score = np.float32(count - delta) / np.float32(words[a]) / np.float32(words[b])
            score *= np.float32(words.total())
            if score > np.float32(threshold):
                found[a, b] = count, score
    return found


def naive_join(line, pairs, joiner="_"):
    """Join pairs in a line of words; what has been joined is not joined again."""
    out, free = [], False
    for word in line:
        if free and (out[-1], word) in pairs:
            out[-1] += joiner + word
            free = False
        else:
            out.append(word)
            free = True
    return out


def naive_phrases(lines, thresholds, joiner="_", **rule):
    """Return the pairs of each pass, and the lines with all phrases joined."""
    passes = []
    for threshold in thresholds:
        passes.append(naive_scores(lines, threshold, **rule))
        lines = [naive_join(line, passes[-1], joiner) for line in lines]
    return passes, lines


def naive_text(data, joined, joiner="_"):
    """Return a text's bytes with the words of phrases joined; `joined` has the words of each line afterwards."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    out = b""
    for line, wanted in zip(data.split(b"\n"), joined, strict=True):
        parts = re.split(rb"([ \t\v\f\r]+)", line)  # words, and whitespace between them
        for word in wanted:
            if parts[0] == b"":  # before whitespace that begins the line
                out += parts[1]
                del parts[:2]
            count = 1
            while joiner.join(part.decode(errors="replace") for part in parts[: 2 * count : 2]) != word:
                count += 1
            out += joiner.encode().join(parts[: 2 * count - 1 : 2])
            del parts[: 2 * count - 1]
            if parts:
                out += parts.pop(0)
        out += b"".join(parts) + b"\n"
    return out[:-1] if data.endswith(b"\n") or not data else out
