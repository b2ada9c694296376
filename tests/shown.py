"""What a page shows of an output, compared with the output.

All is equal but for spaces, lines and items left out (`...`), what depends on the machine and its load, and the last
digits of numbers that are not whole: other processors round otherwise.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from any2vec.operators.tiles import register_width

AS_SHOWN = register_width() == 16
"""Whether training here has the figures of pages: others have processors that take five context words at a time."""

UNSTEADY = [  # by the machine, and what this machine has just done
    (r"[\d,]+ words/s", "# words/s"),
    (r"; (\w+ [\d.]+ s, )*peak memory [\d,]+ MiB", "; peak memory # MiB"),
    (r"^( ?\w+, s) .*", r"\1 #"),
    (r"(rows changed orthogonally \d+)\.\d", r"\1"),  # rows near the limit: processors round otherwise
    (r"-{3,}", "---"),  # as long as the longest number of a column
    (r" *\| *", "|"),
]
UNSTEADY_KEYS = (".seconds", ".words_per_second", ".peak_memory", ".cached")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def differs(shown, printed):
    """Return the first line of a list that is not in a printed text, in its place; None if there is none."""
    lines, at, anywhere = [line for line in printed.strip().split("\n") if line.strip()], 0, False
    for line in filter(str.strip, shown):
        if line.strip() == "...":
            anywhere = True
            continue
        last = len(lines) if anywhere else at + 1
        at = next((i + 1 for i in range(at, min(last, len(lines))) if same_line(line, lines[i])), 0)
        if not at:
            return line
        anywhere = False
    return None if anywhere or at == len(lines) else f"... is missing before {lines[at]!r}"


def same_line(shown, printed):
    one, other = map(steady, (shown, printed))
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(a == b or ("." in a + b and close(to_number(a), to_number(b))) for a, b in pairs)


def steady(line):
    line = " ".join(line.split())
    for pattern, instead in UNSTEADY:
        line = re.sub(pattern, instead, line)
    return line


def to_number(digits):
    return float(digits.replace(",", ""))


def close(one, other):
    return one == pytest.approx(other, rel=0.01, abs=0.002)


def differs_json(shown, written, where=""):
    """Return where JSON that is shown is not what was written; None if nowhere. Keys and items may be left out."""
    if type(shown) is not type(written):
        return where
    if isinstance(shown, dict):
        pairs = [(f"{where}.{key}", shown[key], written.get(key)) for key in shown if key != "..."]
        found = ((differs_kind if at.endswith(UNSTEADY_KEYS) else differs_json)(*pair, at) for at, *pair in pairs)
        return next(filter(None, found), None)
    if isinstance(shown, list):
        at = shown.index("...") if "..." in shown else len(shown)
        head, tail = shown[:at], shown[at + 1 :]
        if len(head) + len(tail) > len(written) or (at == len(shown) and len(head) != len(written)):
            return where
        pairs = zip(head + tail, written[: len(head)] + written[len(written) - len(tail) :], strict=True)
        return next((found for pair in pairs if (found := differs_json(*pair, where))), None)
    same = close(shown, written) if isinstance(shown, float) else shown == written
    return None if same else where


def differs_kind(shown, written, where):
    """Compare keys and types only."""
    if isinstance(shown, dict) and isinstance(written, dict):
        kinds = ((shown[key], written.get(key), f"{where}.{key}") for key in shown)
        return next((found for kind in kinds if (found := differs_kind(*kind))), None)
    return None if type(shown) is type(written) else where


def written_by(given):
    """Return the JSON that a command wrote: after the first option that names such a file."""
    name = next(after for option, after in pairwise(given) if option in ("--report", "--json"))
    return json.loads(Path(name).read_text("utf-8"))
