"""Quoted fields of CSV: a separator inside quotes is part of a name, and two quotes are one."""

import re
from typing import NamedTuple

__all__ = ["UnclosedQuoteError", "Unquoted", "split_fields", "unquote", "without_quoted"]

SPACES = 0  # as in parse.py
_SPACE = rb"[ \t\r\v\f]"
_QUOTED = rb'"((?:[^"\n]|"")*)"'
_ANY_QUOTED = re.compile(rb"(^|[,;|\s])" + _QUOTED + rb"(?=\s*(?:[,;|\s]|$))")
_MARKS = bytes(range(0x1F, 0x1B, -1)) + bytes(range(1, 9)) + bytes(range(0x0E, 0x1C))  # one separates unquoted fields


class UnclosedQuoteError(Exception):
    """A field begins with a quote that does not end on its line."""


class Unquoted(NamedTuple):
    """Lines without quotes, and with empty ones for comments."""

    text: bytes
    delimiter: int  # the byte between fields
    comments: list[int]  # lines of comments, from 0


def without_quoted(line: bytes) -> bytes:
    """Replace quoted fields by a letter each, so that only real separators are left."""
    return _ANY_QUOTED.sub(rb"\1q", line) if b'"' in line else line


def split_fields(line: bytes, delimiter: int) -> list[bytes]:
    """Split a line at a byte, or at runs of whitespace, but not inside quotes."""
    if b'"' not in line:
        return line.split() if delimiter == SPACES else [field.strip() for field in line.split(bytes([delimiter]))]
    between = _SPACE + b"+" if delimiter == SPACES else _SPACE + b"*" + re.escape(bytes([delimiter])) + _SPACE + b"*"
    if delimiter == ord("\t"):
        between = rb"[ \r\v\f]*\t[ \r\v\f]*"
    field = re.compile(_QUOTED + rb"(?=(?:" + between + rb"|" + _SPACE + rb"*$))|(.*?)(?=" + between + rb"|$)")
    separator, fields, at = re.compile(between), [], 0
    line = line.strip(b" \r\v\f" if delimiter == ord("\t") else None)
    while True:
        found = field.match(line, at)
        assert found is not None  # the second part matches anything
        quoted, plain = found.groups()
        if quoted is not None:
            fields.append(quoted.replace(b'""', b'"'))
        else:
            if plain.startswith(b'"') and plain.count(b'"') % 2 and delimiter not in (SPACES, ord("\t")):
                raise UnclosedQuoteError
            fields.append(plain.strip())
        end = separator.match(line, found.end())
        if end is None or (delimiter == SPACES and end.end() == len(line)):
            return fields
        at = end.end()


def unquote(text: bytes, delimiter: int, comments: bytes) -> Unquoted | int:
    """Rewrite lines so that no field is quoted; or return the number of a line with a quote that does not end on it."""
    mark = next((bytes([byte]) for byte in _MARKS if byte not in text), None)
    lines, skipped = text.split(b"\n"), []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped and stripped[0] in comments:
            lines[number] = b""
            skipped.append(number)
        elif stripped:
            try:
                fields = split_fields(line, delimiter)
            except UnclosedQuoteError:
                return number
            if mark is None:
                return number
            lines[number] = mark.join(fields)
    return Unquoted(b"\n".join(lines), (mark or b"\x1f")[0], skipped)
