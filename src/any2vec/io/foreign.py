"""Files that are something else than expected, recognized by what they begin with."""

import re
import struct
from collections.abc import Mapping
from typing import NamedTuple

from any2vec.errors import Any2VecError

__all__ = ["HEAD", "OF_NUL", "Foreign", "foreign", "refuse"]

HEAD = 4096
"""Bytes by which a file is recognized."""
OF_NUL = "is this UTF-16 or a binary file? It must be UTF-8 text; tr -d '\\0' < FILE leaves such bytes out"
"""What is asked and said of NUL bytes in a text."""


class Foreign(NamedTuple):
    """What a file is: its short name, what it is called in errors, and what can be done with it."""

    name: str
    what: str
    how: str


_COMPRESSED = "give its name the ending {}, by which it is unpacked"
_ARCHIVE = "unpack it, and give one of its files"
_SAVE_TEXT = "save it as plain text"
_MAGIC: tuple[tuple[bytes, str, str, str], ...] = (
    (b"\x93NUMPY", "npy", "an array of NumPy (.npy)", "read it with numpy.load"),
    (b"PAR1", "parquet", "a Parquet file", "read it with pandas.read_parquet"),
    (b"ARROW1", "arrow", "an Arrow (Feather) file", "read it with pandas.read_feather"),
    (b"FEA1", "arrow", "a Feather file", "read it with pandas.read_feather"),
    (b"ORC", "orc", "an ORC file", "read it with pandas.read_orc"),
    (b"Obj\x01", "avro", "an Avro file", "read it with the library that wrote it"),
    (
        b"\x89HDF\r\n\x1a\n",
        "hdf5",
        "an HDF5 file, as Matlab's from version 7.3",
        "read it with h5py, or save it with -v7",
    ),
    (b"MATLAB 5.0 MAT-file", "mat", "a Matlab file", "give its name the ending .mat"),
    (b"SQLite format 3\0", "sqlite", "a SQLite database", "read it with pandas.read_sql"),
    (b"\xba\x16\x4f\x2f", "fasttext", "a model of fastText (.bin)", "give its vectors, which fastText writes as .vec"),
    (b"%PDF-", "pdf", "a PDF file", _SAVE_TEXT),
    (b"{\\rtf", "rtf", "an RTF file", _SAVE_TEXT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office", "a file of Excel or Word", "save it as CSV or plain text"),
    (b"\x1f\x8b", "gz", "compressed with gzip", _COMPRESSED.format(".gz")),
    (b"BZh", "bz2", "compressed with bzip2", _COMPRESSED.format(".bz2")),
    (b"\xfd7zXZ\0", "xz", "compressed with xz", _COMPRESSED.format(".xz")),
    (b"\x28\xb5\x2f\xfd", "zst", "compressed with Zstandard", _COMPRESSED.format(".zst")),
    (b"\x04\x22\x4d\x18", "lz4", "compressed with LZ4", "unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "a 7-Zip archive", _ARCHIVE),
    (b"Rar!\x1a\x07", "rar", "a RAR archive", _ARCHIVE),
    (b"\x89PNG\r\n\x1a\n", "png", "an image (PNG)", "give a file of text"),
    (b"\x7fELF", "program", "a program", "give a file of text"),
    (b"RDX3\n", "rdata", "a file of R", "save it as text in R"),
    (b"RDX2\n", "rdata", "a file of R", "save it as text in R"),
)
_HTML = re.compile(rb"\s*(<!--.*?-->\s*)?<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_SAFETENSORS = re.compile(rb'\{\s*"')
_CONTROL = rb"[\0-\x08\x0e-\x1f]"
_SHORT_MAGIC = {magic: re.compile(magic + _CONTROL) for magic in (b"PAR1", b"ARROW1", b"FEA1", b"ORC")}  # words, too
_SHORT_MAGIC[b"BZh"] = re.compile(rb"BZh[1-9]1AY&SY")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")


def foreign(head: bytes) -> Foreign | None:
    """Return what a file is that begins with `head` (up to `HEAD` bytes), or None if it may be text.

    Formats of text, but for HTML and PDF, are not looked for: they depend on what is expected.
    """
    for magic, name, what, how in _MAGIC:
        if head.startswith(magic) and (magic not in _SHORT_MAGIC or _SHORT_MAGIC[magic].match(head)):
            return Foreign(name, what, how)
    return _zipped(head) if head.startswith(b"PK\x03\x04") else _by_structure(head)


def refuse(head: bytes, name: object, expected: str, but: str = "", instead: Mapping[str, str] | None = None) -> None:
    """Raise an error that names what a file is, if it is something else than expected, and not `but`.

    It says what can be done with it: by its short name what `instead` says, else what `Foreign` does.
    """
    if (found := foreign(head)) and found.name != but:
        how = (instead or {}).get(found.name, found.how)
        raise Any2VecError(f"{name}: this is {found.what}, not {expected}; {how}")


def _by_structure(head: bytes) -> Foreign | None:
    if _PICKLE.match(head):
        how = "read it with the library that wrote it, if you trust where it comes from: it may run any code"
        return Foreign("pickle", "a pickle of Python, as gensim's save writes", how)
    if len(head) > 9 and struct.unpack("<Q", head[:8])[0] < 1 << 32 and _SAFETENSORS.match(head[8:]):
        return Foreign("safetensors", "a file of safetensors", "a folder that any2vec saved is given by its own name")
    if head[257:262] == b"ustar":
        return Foreign("tar", "a tar archive", _ARCHIVE)
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return Foreign("html", "a web page (HTML)", "was the download refused? Download the file itself")
    return None


def _zipped(head: bytes) -> Foreign:
    first = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    if first.endswith(b".npy"):
        return Foreign("npz", "a .npz file of NumPy or SciPy", "give its name the ending .npz")
    if first.startswith((b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"word/")):
        return Foreign("office", "a file of Excel or Word", "save it as CSV or plain text")
    if first.endswith(b"/data.pkl"):
        return Foreign("torch", "a file of PyTorch", "read it with torch.load(path, weights_only=True)")
    return Foreign("zip", "a ZIP archive", _ARCHIVE)
