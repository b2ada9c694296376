"""What word2phrase and gensim find and join, in plain Python with strings; word2phrase's scores in float32."""

import math
import re
from collections import Counter

import numpy as np


def naive_scores(
    lines, threshold=100.0, min_count=5, delta=None, across_lines=True, scoring="word2phrase", connectors=()
):
    """Return count and score of each pair of words, and what is between, that is a phrase in lines of words."""
    delta = min_count if delta is None else delta
    words = Counter(word for line in lines for word in line)
    total = words.total()
    whole = [[word for line in lines for word in line]] if across_lines else lines
    pairs = Counter(pair for line in whole for pair in neighbours(line, connectors))
    found = {}
    for (a, between, b), count in pairs.items():
        if min(count, words[a], words[b]) >= min_count:
            if scoring == "npmi":
                score = math.log(count / total / (words[a] / total * (words[b] / total))) / -math.log(count / total)
            else:
                score = np.float32(count - delta) / np.float32(words[a]) / np.float32(words[b])
                score *= np.float32(total)
                threshold = np.float32(threshold)
            if score > threshold:
                found[a, between, b] = count, np.float32(score)
    return found


def neighbours(line, connectors):
    """Yield each two words of a line between which there are only connector words, and these."""
    first, between = None, ()
    for word in line:
        if word in connectors:
            between += (word,)
        else:
            if first is not None:
                yield first, between, word
            first, between = word, ()


def naive_join(line, pairs, joiner="_", connectors=()):
    """Join pairs in a line of words; what has been joined is not joined again."""
    out, first = [], None  # the place of the last word that is free
    for word in line:
        out.append(word)
        if word in connectors:
            continue
        place = len(out) - 1
        if first is not None and (out[first], tuple(out[first + 1 : -1]), word) in pairs:
            out[first:] = [joiner.join(out[first:])]
            place = None
        first = place
    return out


def naive_phrases(lines, thresholds, joiner="_", **rule):
    """Return the pairs of each pass, and the lines with all phrases joined."""
    passes, connectors = [], rule.get("connectors", ())
    for threshold in thresholds:
        passes.append(naive_scores(lines, threshold, **rule))
        lines = [naive_join(line, passes[-1], joiner, connectors) for line in lines]
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
