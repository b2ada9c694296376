"""Texts to read, for tests: of odd words and separators, and larger ones."""

import random

from hypothesis import strategies as st

PIECES = [b"a", b"b", b"c" * 7, b"d" * 8, b"e" * 9, b"f" * 15, b"g" * 16, b"h" * 17, b"\x01", b"\x1f", b"\x7f"]
PIECES += ["é".encode(), "\ufffd".encode(), "本".encode(), b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"]
PIECES += [b" "] * 6 + [b"\n", b"\n", b"\r\n", b"\t", b"\v", b"\f", b"\r", b" \n \n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=80).map(b"".join)


def some_text(words=20_000, distinct=3_000, seed=1):
    draw = random.Random(seed)
    names = [f"w{i}" * draw.randint(1, 6) for i in range(distinct)]
    drawn = [names[int(distinct * draw.random() ** 3)] for _ in range(words)]
    return b"".join(word.encode() + draw.choice([b" ", b" ", b" ", b"\n"]) for word in drawn)
