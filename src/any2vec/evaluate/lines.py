"""Evaluation sets are short text files, read as a whole."""

from pathlib import Path

from any2vec.errors import Any2VecError

__all__ = ["read_lines"]


def read_lines(path: Path) -> list[str]:
    """Read the lines of a UTF-8 file.

    Parameters
    ----------
    path : Path
        The file; a byte-order mark is passed over.

    Returns
    -------
    list of str
        Without line ends and blanks around them.

    Raises
    ------
    Any2VecError
        If it cannot be read, or is not UTF-8; the line is named.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Any2VecError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return [line.strip() for line in content.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Any2VecError(f"{path}, line {line:,}: not UTF-8 text") from error
