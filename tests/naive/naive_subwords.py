"""fastText's n-grams and their hash, in plain Python with bytes."""

import re

import numpy as np


def naive_hash(data):
    """Hash bytes by FNV-1a; each byte is signed."""
    hashed = 2166136261
    for byte in data:
        hashed ^= byte if byte < 128 else byte + 0xFFFFFF00
        hashed = hashed * 16777619 % 2**32
    return hashed


def naive_ngrams(word, least, most):
    """List the n-grams of "<word>": a character is a byte and those after it that begin with the bits 10."""
    if word == "</s>":
        return []
    data = b"<" + word.encode("utf-8", "surrogateescape") + b">"
    characters = re.findall(rb"[^\x80-\xbf][\x80-\xbf]*", data)
    places = range(len(characters))
    lengths = [(i, n) for i in places for n in range(least, most + 1) if i + n <= len(characters)]
    ends = (0, 1), (len(characters) - 1, 1)
    return [b"".join(characters[i : i + n]) for i, n in lengths if (i, n) not in ends]


def naive_subwords(word, least, most, buckets):
    """List the buckets of a word's n-grams."""
    return [naive_hash(ngram) % buckets for ngram in naive_ngrams(word, least, most)]


def naive_mean(word, own, settings, ids, rows):
    """Add up a word's own row, if any, and those of its n-grams, where there is one, in float32; divide by all."""
    buckets = naive_subwords(word, settings.least, settings.most, settings.buckets)
    places = {number: row for row, number in enumerate(ids.tolist())}
    total = np.zeros(rows.shape[1], np.float32) if own is None else own.copy()
    for bucket in buckets:
        if bucket in places:
            total = total + rows[places[bucket]]
    number = len(buckets) + (own is not None)
    return total * np.float32(1 / number) if number else total
