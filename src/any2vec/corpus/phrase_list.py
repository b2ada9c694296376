"""Phrases that were found: pairs of words by pass, and how they join the words of a sentence."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.bigrams import Rule, find_bigrams
from any2vec.corpus.id_text import IdText
from any2vec.corpus.joins import join

__all__ = ["Pass", "PhraseList", "find_phrases", "join_phrases"]


class Pass(NamedTuple):
    """Pairs of words that one pass joins, the best first, how often each occurred, and their scores."""

    firsts: Sequence[str]
    seconds: Sequence[str]
    counts: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PhraseList:
    """What passes over a text found; the words of a pass may be phrases of those before it."""

    joiner: str
    passes: Sequence[Pass]

    def joined(self, found: Pass) -> list[str]:
        """Return the phrases of a pass."""
        return [f"{first}{self.joiner}{second}" for first, second in zip(found.firsts, found.seconds, strict=True)]

    @cached_property
    def digest(self) -> str:
        """A checksum of what determines how words are joined."""
        pairs = [[list(found.firsts), list(found.seconds)] for found in self.passes]
        return hashlib.sha256(json.dumps([self.joiner, pairs]).encode()).hexdigest()[:32]

    def join_tokens(self, tokens: Iterable[Any]) -> list[Any]:
        """Return the tokens of a sentence (integers stand for their decimals) with its phrases joined."""
        left = list(tokens)
        for follows in self._follows:
            out: list[Any] = []
            last: dict[str, str] = {}  # what may follow the last word, if that is free
            for token in left:
                word = token if isinstance(token, str) else str(int(token))
                phrase = last.get(word)
                if phrase is None:
                    out.append(token)
                    last = follows.get(word, {})
                else:
                    out[-1] = phrase
                    last = {}
            left = out
        return left

    @cached_property
    def _follows(self) -> list[dict[str, dict[str, str]]]:
        """For each pass, the phrases by first and second word."""
        every: list[dict[str, dict[str, str]]] = []
        for found in self.passes:
            follows: dict[str, dict[str, str]] = {}
            for first, second, phrase in zip(found.firsts, found.seconds, self.joined(found), strict=True):
                follows.setdefault(first, {})[second] = phrase
            every.append(follows)
        return every


def find_phrases(
    text: IdText, rules: Sequence[Rule], joiner: str, folder: Path, threads: int, *, join_last: bool = True
) -> PhraseList:
    """Find phrases, a pass by each rule, on the text that those before it have joined; the last join may be left out.

    Passes that find nothing are not listed.
    """
    passes: list[Pass] = []
    for number, rule in enumerate(rules, 1):
        firsts, seconds, counts, scores = find_bigrams(text, rule, folder, threads)
        if not len(firsts):
            continue
        one, two = text.part().words(firsts), text.part().words(seconds)
        ranked = sorted(zip((-scores).tolist(), one, two, range(len(one)), strict=True))
        one, two, order = [row[1] for row in ranked], [row[2] for row in ranked], [row[3] for row in ranked]
        passes.append(Pass([w.decode() for w in one], [w.decode() for w in two], counts[order], scores[order]))
        if number == len(rules) and not join_last:
            break
        sign = joiner.encode()
        phrases = text.add([a + sign + b for a, b in zip(one, two, strict=True)])
        join(text, firsts[order], seconds[order], phrases)
    return PhraseList(joiner, passes)


def join_phrases(text: IdText, phrases: PhraseList) -> None:
    """Join phrases in a text, which need not be that in which they were found."""
    for found in phrases.passes:
        words = (found.firsts, found.seconds, phrases.joined(found))
        firsts, seconds, joined = (text.add([word.encode() for word in column]) for column in words)
        join(text, firsts, seconds, joined)
