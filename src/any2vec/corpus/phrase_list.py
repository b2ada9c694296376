"""Phrases that were found: pairs of words by pass, and how they join the words of a sentence."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.bigrams import find_bigrams
from any2vec.corpus.id_text import IdText
from any2vec.corpus.joins import join
from any2vec.corpus.scores import Rule

__all__ = ["Pass", "PhraseList", "find_phrases", "join_phrases"]


class Pass(NamedTuple):
    """Pairs of words that one pass joins, the best first: with the connector words between them, counts and scores."""

    firsts: Sequence[str]
    betweens: Sequence[tuple[str, ...]]
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
        rows = zip(found.firsts, found.betweens, found.seconds, strict=True)
        return [self.joiner.join((first, *between, second)) for first, between, second in rows]

    @cached_property
    def digest(self) -> str:
        """A checksum of what determines how words are joined."""
        pairs = [
            [list(found.firsts), list(found.seconds), *([found.betweens] if any(found.betweens) else [])]
            for found in self.passes
        ]
        return hashlib.sha256(json.dumps([self.joiner, pairs]).encode()).hexdigest()[:32]

    def join_tokens(self, tokens: Iterable[Any]) -> list[Any]:
        """Return the tokens of a sentence (integers stand for their decimals) with its phrases joined."""
        left = list(tokens)
        for heads in self._heads:
            out: list[Any] = []
            place, head = 0, _Head()  # what may go on from the word at `place`
            for token in left:
                word = token if isinstance(token, str) else str(int(token))
                step = head.get(word)
                if isinstance(step, str):
                    out[place:] = [step]
                    head = _Head()
                    continue
                if step is None:
                    place, step = len(out), heads.get(word)
                out.append(token)
                head = _Head() if step is None else step
            left = out
        return left

    @cached_property
    def _heads(self) -> list[dict[str, "_Head"]]:
        """For each pass, what may follow the first word of a phrase."""
        every: list[dict[str, _Head]] = []
        for found in self.passes:
            heads: dict[str, _Head] = {}
            rows = zip(found.firsts, found.betweens, found.seconds, self.joined(found), strict=True)
            for first, between, second, phrase in rows:
                head = heads.setdefault(first, _Head())
                for word in between:
                    head = cast("_Head", head.setdefault(word, _Head()))
                head[second] = phrase
            every.append(heads)
        return every


class _Head(dict[str, "str | _Head"]):
    """What may follow the first words of a phrase: the last word, with the phrase, or a connector word."""


def find_phrases(
    text: IdText,
    rules: Sequence[Rule],
    joiner: str,
    folder: Path,
    threads: int,
    *,
    connectors: Sequence[str] = (),
    join_last: bool = True,
) -> PhraseList:
    """Find phrases, a pass by each rule, on the text that those before it have joined; the last join may be left out.

    Passes that find nothing are not listed.
    """
    passes: list[Pass] = []
    sign = joiner.encode()
    names = [word.encode() for word in connectors]
    connector_ids = text.add(names)
    spelt = dict(zip(connector_ids.tolist(), names, strict=True))
    for number, rule in enumerate(rules, 1):
        firsts, betweens, seconds, counts, scores = find_bigrams(text, rule, connector_ids, folder, threads)
        if not len(firsts):
            continue
        one, two = text.part().words(firsts), text.part().words(seconds)
        between = [tuple(spelt[word] for word in words) for words in betweens]
        ranked = sorted(zip((-scores).tolist(), one, two, between, range(len(one)), strict=True))
        _, one, two, between, order = map(list, zip(*ranked, strict=True))
        decoded = [[word.decode() for word in words] for words in (one, two)]
        inner = [tuple(word.decode() for word in words) for words in between]
        passes.append(Pass(decoded[0], inner, decoded[1], counts[order], scores[order]))
        if number == len(rules) and not join_last:
            break
        phrases = text.add([sign.join((a, *inside, b)) for a, inside, b in zip(one, between, two, strict=True)])
        join(text, firsts[order], [betweens[i] for i in order], seconds[order], phrases)
    return PhraseList(joiner, passes)


def join_phrases(text: IdText, phrases: PhraseList) -> None:
    """Join phrases in a text, which need not be that in which they were found."""
    for found in phrases.passes:
        firsts, seconds, joined = (
            text.add([word.encode() for word in column])
            for column in (found.firsts, found.seconds, phrases.joined(found))
        )
        inner = sorted({word for between in found.betweens for word in between})
        ids = dict(zip(inner, text.add([word.encode() for word in inner]).tolist(), strict=True))
        betweens = [tuple(ids[word] for word in between) for between in found.betweens]
        join(text, firsts, betweens, seconds, joined)
