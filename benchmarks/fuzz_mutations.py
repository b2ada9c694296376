"""Mutations of inputs: of any bytes, and by their structure where bytes would be refused before they are understood.

An input is the files of a case, with `PART` between them. A part is mutated by what it begins with.
"""

import ast
import io
import json
import random
import re
import struct
from collections.abc import Callable
from tokenize import TokenError
from typing import Any

import numpy as np

from any2vec.vectors.files.fasttext import _MAGIC

PART = b"\n-- part --\n"
HOSTILE = [
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"4294967295",
    b"2147483647",
    b"\xff\xfe",
    b"\0",
    b"{",
    b'"',
    b"1e308",
    b"null",
    b"true",
    b"[]",
    b'{"event": "round"}',
]
VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    2,
    255,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    (1 << 63) - 1,
    1 << 64,
    10**30,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "a",
    "nan",
    "a b",
    "\0",
    "\ud800",
    "\u2028é\n",
    "../x",
    "x" * 300,
    [],
    {},
    [[]],
    {"a": {}},
    [0] * 50,
]
INTS = [0, 1, 2, 3, -1, 7, 127, 255, 1 << 15, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 24, 1000]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3.4e38, -3.4e38, 1e39, 1e308, float("nan"), float("inf"), -float("inf")]
KINDS = ["<f4", ">f4", "<f8", "<f2", "|b1", "|i1", "<i4", "<i8", ">i8", "<u8", "<c8", "|S3", "<U3", "<M8[s]", "|O"]

Bytes = Callable[[bytes], bytes]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Damage bytes in one to three places."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        kind, at = chance.randrange(7), chance.randrange(len(found) + 1)
        if kind == 0 and found:
            found[at % len(found)] ^= 1 << chance.randrange(8)
        elif kind == 1 and found:
            found[at % len(found)] = chance.randrange(256)
        elif kind == 2:
            del found[at:]
        elif kind == 3:
            del found[at : at + chance.randint(1, 20)]
        elif kind == 4:
            found[at:at] = found[at : at + chance.randint(1, 200)] * chance.randint(1, 50)
        elif kind == 5:
            found[at:at] = chance.choice(HOSTILE)
        else:
            numbers = list(re.finditer(rb"\d+", found))
            if numbers:
                one = chance.choice(numbers)
                found[one.start() : one.end()] = chance.choice(HOSTILE)
    return bytes(found)


def mutated(data: bytes, seeds: list[bytes], chance: random.Random, of_bytes: Bytes) -> bytes:
    """Mutate one part of an input, or take that of a valid one."""
    parts = data.split(PART)
    at = chance.randrange(len(parts))
    if chance.random() < 0.1:
        other = chance.choice(seeds).split(PART)
        if at < len(other):
            parts[at] = other[at]
            return PART.join(parts)
    if len(parts) > 1 and chance.random() < 0.03:
        del parts[at]
        return PART.join(parts)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        parts[at] = _part(parts[at], chance, of_bytes)
    return PART.join(parts)


_UNLIKE = (  # what those raise that change a part, where it is damaged already
    ValueError, KeyError, TypeError, OverflowError, SyntaxError, struct.error, RecursionError, EOFError, TokenError,
)  # fmt: skip


def _part(part: bytes, chance: random.Random, of_bytes: Bytes) -> bytes:
    """Mutate a part, one time in four as any bytes."""
    how = next((how for known, how in STRUCTURES if known(part)), None)
    if how is not None and chance.random() < 0.75:
        try:
            with np.errstate(all="ignore"):
                return how(part, chance)
        except _UNLIKE:
            pass
    return damaged(part, chance) if chance.random() < 0.3 else of_bytes(part)


def _json(part: bytes, chance: random.Random) -> bytes:
    """Change, remove, add or move a value of JSON."""
    content = json.loads(part)
    places: list[tuple[Any, Any]] = []
    stack = [content]
    while stack:
        one = stack.pop()
        keys = one.keys() if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        places += [(one, key) for key in keys]
        stack += [one[key] for key in keys]
    if not places:
        return json.dumps(chance.choice(VALUES)).encode()
    holder, key = chance.choice(places)
    kind, value = chance.randrange(7), holder[key]
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder[key:key] = [value] * chance.choice((1, 2, 40))
    elif kind == 1:
        holder[str(chance.choice(VALUES))] = value
    elif kind == 2:
        other, its = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[its]))
    elif kind == 3 and isinstance(value, int | float):
        holder[key] = value + chance.choice((1, -1, value, 0.5, -2 * value))
    elif kind == 4 and isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        holder[key] = value[:at] + str(chance.choice(VALUES)) + value[at + chance.randrange(3) :]
    else:
        holder[key] = chance.choice(VALUES)
    return json.dumps(content).encode()


def _json_lines(part: bytes, chance: random.Random) -> bytes:
    """Mutate, repeat, remove or move a line."""
    lines = part.split(b"\n")
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines) + 1)
    kind = chance.randrange(6)
    if kind == 0:
        lines[to:to] = [lines[at]] * chance.choice((1, 2, 30))
    elif kind == 1:
        del lines[at]
    elif lines[at]:
        lines[at] = _json(lines[at], chance)
    return b"\n".join(lines)


def _safetensors(part: bytes, chance: random.Random) -> bytes:
    """Mutate the header, whose length is kept right, or a number."""
    length = int.from_bytes(part[:8], "little")
    header, numbers = part[8 : 8 + length], bytearray(part[8 + length :])
    if chance.random() < 0.4:
        header = _json(header, chance)
        return len(header).to_bytes(8, "little") + header + bytes(numbers)
    for _ in range(chance.choice((1, 1, 3))):
        at = 4 * chance.randrange(len(numbers) // 4)
        numbers[at : at + 4] = np.array([chance.choice(NUMBERS)]).astype("<f4").tobytes()
    return part[: 8 + length] + bytes(numbers)


def _npy(part: bytes, chance: random.Random) -> bytes:
    """Change a number, the shape or the type of an array, or what its header says of them."""
    kind, out = chance.randrange(5), io.BytesIO()
    if kind == 0:  # the header alone
        length = int.from_bytes(part[8:10], "little")
        header = ast.literal_eval(part[10 : 10 + length].decode())
        name = chance.choice(("descr", "shape", "fortran_order"))
        header[name] = {
            "descr": chance.choice(KINDS),
            "shape": tuple(abs(chance.choice(INTS)) for _ in range(chance.randrange(4))),
            "fortran_order": chance.choice((True, False, 1, None)),
        }[name]
        text = repr(header).encode()
        return part[:8] + len(text).to_bytes(2, "little") + text + part[10 + length :]
    array = np.load(io.BytesIO(part), allow_pickle=False)
    if kind == 1 or not array.size:
        array = array.astype(chance.choice(KINDS[:-1]))
    elif kind == 2:
        array = np.resize(array, tuple(chance.choice((0, 1, 2, 12, 13)) for _ in range(chance.randrange(3))))
    elif array.dtype.kind == "f":
        array.flat[chance.randrange(array.size)] = chance.choice(NUMBERS)
    elif array.dtype.kind in "SU":
        array = np.array(chance.choice(("csr", "csc", "coo", "bsr", "dia", "lil", "")), array.dtype.kind + "3")
    else:
        array.flat[chance.randrange(array.size)] = chance.choice(INTS)
    np.save(out, array)
    return out.getvalue()


_HEAD = struct.Struct("<2i12id3i2q")  # of a model of fastText: magic number, version, arguments, sizes


def _fasttext(part: bytes, chance: random.Random) -> bytes:
    """Change numbers of the header; half of the time, write matrices that fit them."""
    head, rest = list(_HEAD.unpack_from(part)), part[_HEAD.size :]
    places = [1, 2, *range(7, 13), 15, 16, 17, 18, 19] if chance.random() < 0.7 else [2, 10, 11, 12]
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.choice(places)
        head[at] = chance.choice([*INTS, head[at] + 1, head[at] - 1])
    entries, end = [], 0
    while len(entries) < 200 and (stop := rest.find(b"\0", end)) >= 0 and stop + 10 <= len(rest) and end < stop:
        if not 0 <= rest[stop + 9] <= 1 or len(entries) == max(head[15], 1):
            break
        entries.append(rest[end : stop + 10])
        end = stop + 10
    if chance.random() < 0.3 and entries:
        at = chance.randrange(len(entries))
        count = chance.choice([*INTS, (1 << 63) - 1])
        word = chance.choice((b"a", b"\xff", b"</s>", b"__label__a", "é".encode(), b" ", b"x" * 3000, b"\xf0\x9f"))
        entries[at] = (
            chance.choice((word, entries[at][:-10])) + b"\0" + struct.pack("<qb", count, chance.choice((0, 0, 1)))
        )
    if chance.random() < 0.5 or not entries:
        return _HEAD.pack(*head) + b"".join(entries) + rest[end:]
    head[15:17], head[17] = [len(entries)] * 2, 0
    dim, buckets = max(1, head[2]) % 9 or 1, head[10] if 0 <= head[10] < 500 else 20
    head[2], head[10] = dim, buckets
    numbers = [chance.choice(NUMBERS[:10] if chance.random() < 0.1 else (0.5, -0.25, 1e-3)) for _ in range(16)]
    matrices = b"".join(
        struct.pack("<?2q", False, rows, dim) + np.resize(np.array(numbers).astype("<f4"), rows * dim).tobytes()
        for rows in (len(entries) + buckets, len(entries))
    )
    return _HEAD.pack(*head) + b"".join(entries) + matrices


STRUCTURES: list[tuple[Callable[[bytes], bool], Callable[[bytes, random.Random], bytes]]] = [
    (lambda part: part.startswith(b'{"event"'), _json_lines),
    (lambda part: part[:1] in (b"{", b"["), _json),
    (lambda part: part.startswith(_MAGIC), _fasttext),
    (lambda part: part.startswith(b"\x93NUMPY"), _npy),
    (lambda part: part[8:9] == b"{", _safetensors),
]
