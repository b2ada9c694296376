"""Lower case and tokens of raw text, in a few lines of plain Python: a letter for each character, and a pattern."""

# ruff: noqa: RUF001 (text of many scripts)

import re
import unicodedata

LETTERS = {
    **dict.fromkeys("'’", "a"),
    **dict.fromkeys(",.", "p"),
    "\u200b": " ",
    "\u200c": "m",
    "\u200d": "j",
    "\0": "w",
}
LETTERS |= {chr(code): "m" for code in range(0x1F3FB, 0x1F400)} | {chr(code): "r" for code in range(0x1F1E6, 0x1F200)}
LETTERS |= {chr(code): "s" for code in [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]}
TOKEN = re.compile(r"[wdmj](?:[wdmj]|a(?=[wd])|(?<=d)p(?=d))*|(?:rr?|[sap])[mj]*(?:(?<=j)[sap][mj]*)*")


def kind(character):
    """Return w for a letter, d digit, m mark, s sign, space; an empty text for what is not seen."""
    if character in LETTERS:
        return LETTERS[character]
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return "w"
    category = unicodedata.category(character)
    if category in ("Nd", "Cf", "Cc"):
        return {"Nd": "d", "Cf": "", "Cc": " "}[category]
    if category == "Lo" and unicodedata.name(character, "").startswith(("CJK UNIFIED", "CJK COMPATIBILITY")):
        return "s"
    return "w" if category[0] in "LN" or category == "Pc" else {"M": "m", "Z": " "}.get(category[0], "s")


def tokens(text):
    seen = "".join(character for character in text if kind(character))
    return [seen[found.start() : found.end()] for found in TOKEN.finditer("".join(map(kind, seen)))]


def read_as(data, *, lowercase, tokenize, prefix=None):
    """Return the text of a file as it is to be split at whitespace; lines stay lines, words with a prefix whole."""
    if prefix:
        how = {"lowercase": lowercase, "tokenize": tokenize}
        runs = re.split(rb"([ \t-\r]+)", data)
        return b"".join(run if run.startswith(prefix) or run.isspace() else read_as(run, **how) for run in runs)
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lowercase:
        lines = [line.lower() for line in lines]
    if tokenize:
        lines = [" ".join(tokens(line)) for line in lines]
    return "\n".join(lines).encode("utf-8", "surrogateescape")
