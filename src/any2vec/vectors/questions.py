"""Words by which vectors are judged, analogy questions and pairs with human judgements; evaluation by gensim's names.

`evaluate_word_analogies` and `evaluate_word_pairs` differ from `evaluate_analogies` and `evaluate_similarity` in three
things. Other spellings of a question's words are no answers, an answer's cosine may be negative, and case may count.
"""

import codecs
import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted, file_error, is_installed, missing_extra, shown
from any2vec.io.inputs import HEAD, refuse, split, strip
from any2vec.options import as_path, whole_number
from any2vec.vectors.neighbours import Neighbours
from any2vec.vectors.search import answer


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Read the lines of a file, stripped, without UTF-8's byte-order mark; errors name the line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise file_error(f"{path}: cannot be read: {error.strerror or error}", error) from None
    refuse(content[:HEAD], path, "text")
    try:
        name = codecs.lookup(encoding).name
        text = content.decode("utf-8-sig" if name == "utf-8" else name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Any2VecError(f"{path}, line {line:,}: not {name.upper()} text") from error
    except (LookupError, TypeError, ValueError):
        raise Any2VecError(f"`encoding` is {shown(encoding)}; a name such as 'utf-8' is expected") from None
    return [strip(line) for line in text.split("\n")]


def fold(word: str, fold_case: bool = True) -> str:
    """Map spellings in upper and lower case to one, if wanted: upper case, as word2vec's compute-accuracy does."""
    return word.upper() if fold_case else word


_Question: TypeAlias = tuple[str, str, str, str]
"""a, b, c and d: a is to b as c is to d."""


@dataclass(frozen=True)
class QuestionSection:
    """Questions of one kind.

    Attributes
    ----------
    name : str
        Those of syntactic questions begin with "gram".
    questions : tuple of (str, str, str, str)
        a is to b as c is to d.
    """

    name: str
    questions: tuple[_Question, ...]


Questions: TypeAlias = str | os.PathLike[str] | Sequence[QuestionSection]
"""A file of questions, or their sections."""


def read_questions(path: str | os.PathLike[str]) -> tuple[QuestionSection, ...]:
    """Read a file of analogy questions: lines of four words, in sections that begin with a line ": name"."""
    path = as_path(path)
    sections: list[tuple[str, list[_Question]]] = []
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith(":"):
            if not (name := strip(line[1:])):
                raise Any2VecError(f"{path}, line {number:,}: the section has no name; ': name' is expected")
            sections.append((name, []))
        elif line:
            words = split(line)
            if len(words) != 4:
                wrong = f"a question has 4 words, this line has {len(words)}: {line[:60]!r}"
                raise Any2VecError(f"{path}, line {number:,}: {wrong}")
            if not sections:
                raise Any2VecError(f"{path}, line {number:,}: a question before the first section (': name')")
            sections[-1][1].append((words[0], words[1], words[2], words[3]))
    if not any(questions for _, questions in sections):
        raise Any2VecError(f"{path}: has no questions")
    return tuple(QuestionSection(name, tuple(questions)) for name, questions in sections)


def as_questions(questions: Questions) -> Sequence[QuestionSection]:
    """Read the questions if they are in a file; refuse what is neither a file nor sections."""
    if isinstance(questions, str | os.PathLike):
        return read_questions(questions)
    if isinstance(questions, Sequence) and all(isinstance(section, QuestionSection) for section in questions):
        return [section for section in questions if isinstance(section, QuestionSection)]
    raise Any2VecError(f"questions: a file or a list of QuestionSection is expected, not {shown(questions)}")


_Pair: TypeAlias = tuple[str, str, float]
"""Two words and how similar people find them."""

Pairs: TypeAlias = str | os.PathLike[str] | Sequence[_Pair]
"""A file of pairs, or the pairs."""


def read_pairs(
    path: str | os.PathLike[str], delimiter: str | None = None, encoding: str = "utf-8"
) -> tuple[_Pair, ...]:
    """Read pairs of words with a score, in the order of the file.

    A line is a pair, columns separated by tabs, commas or whitespace, or the `delimiter`: two words, possibly a letter
    for the part of speech, and the score. Empty lines, lines that begin with "#" and a first line of column titles
    (without a number) are skipped. WordSim-353 and SimLex-999 are such files, as published and in gensim.
    """
    path = as_path(path)
    if delimiter is not None and not (isinstance(delimiter, str) and delimiter):
        raise Any2VecError(f"`delimiter` is {shown(delimiter)}; a string such as ',' is expected")
    pairs: list[_Pair] = []
    column = None
    titles = False
    for number, line in enumerate(read_lines(path, encoding), 1):
        if not line or line.startswith("#"):
            continue
        cells = _cells(line, delimiter)
        if column is None:
            column = _score_column(cells)
            if column is None and not titles:
                titles = True
                continue
        score = _number(cells[column]) if column is not None and column < len(cells) else None
        if score is None or not math.isfinite(score) or not (cells[0] and cells[1]):
            wrong = f"not two words and a finite number, separated by tabs: {line[:60]!r}"
            raise Any2VecError(f"{path}, line {number:,}: {wrong}")
        pairs.append((cells[0], cells[1], score))
    if not pairs:
        raise Any2VecError(f"{path}: has no pairs of words with a score")
    return tuple(pairs)


def as_pairs(pairs: Pairs, delimiter: str | None = None, encoding: str = "utf-8") -> Sequence[_Pair]:
    """Read the pairs if they are in a file; refuse what is neither a file nor pairs."""
    if isinstance(pairs, str | os.PathLike):
        return read_pairs(pairs, delimiter, encoding)
    with suppress(TypeError, ValueError):
        listed = [(a, b, float(score)) for a, b, score in pairs]
        if all(isinstance(a, str) and isinstance(b, str) for a, b, _ in listed):
            return listed
    raise Any2VecError(f"pairs: a file or tuples of two words and a number are expected, not {shown(pairs)}")


def require_scipy() -> None:
    """Raise now if Spearman's correlation could not be computed later, for want of SciPy."""
    if not is_installed("scipy"):
        raise missing_extra("scipy", "evaluate")


def correlations(pairs: Sequence[tuple[float, float]]) -> tuple[Any, Any] | None:
    """Return SciPy's results for Pearson's and Spearman's correlation; None for fewer than two values or equal ones."""
    require_scipy()
    from scipy import stats

    x, y = np.array(pairs, float).reshape(-1, 2).T
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return stats.pearsonr(x, y), stats.spearmanr(x, y)


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None and "\t" in line:
        delimiter = "\t"
    if delimiter is not None:
        return [strip(cell) for cell in line.split(delimiter)]
    if "," in line:
        return [strip(cell).strip('"') for cell in line.split(",")]
    return split(line)


def _score_column(cells: list[str]) -> int | None:
    """Find the column of the score on the line of the first pair; None on a line of titles."""
    if len(cells) > 2 and _number(cells[2]) is not None:
        return 2
    if len(cells) > 3 and len(cells[2]) == 1 and _number(cells[3]) is not None:
        return 3
    return None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def ask(
    vectors: Neighbours,
    questions: Iterable[QuestionSection],
    restrict: int | None,
    fold_case: bool = True,
    *,
    as_gensim: bool = False,
) -> list[list[bool | None]]:
    """Ask the questions of each section: True if answered rightly, False if wrongly, None if a word is unknown.

    As gensim asks, other spellings of a question's words are no answers, and an answer's cosine may be negative.
    """
    keys, ids = _keys(vectors, restrict, fold_case)
    known = [[[ids.get(fold(word, fold_case), -1) for word in q] for q in part.questions] for part in questions]
    asked = np.array([row for part in known for row in part if min(row) >= 0], np.int64).reshape(-1, 4)
    excluded = _with_other_spellings(keys, asked[:, :3]) if as_gensim else asked[:, :3]
    found = answer(vectors.matrix[: len(keys)], vectors.norms[: len(keys)], asked, excluded)
    least = -math.inf if as_gensim else 0.0  # compute-accuracy starts from 0
    right = iter(
        bool(cosine > least) and keys[i] == keys[wanted] for i, cosine, wanted in zip(*found, asked[:, 3], strict=True)
    )
    return [[next(right) if min(row) >= 0 else None for row in part] for part in known]


def cosines_of_pairs(
    vectors: Neighbours, pairs: Iterable[_Pair], restrict: int | None = None, fold_case: bool = True
) -> list[float | None]:
    """Return the cosine of each pair; None if a word is unknown, and has no vector from its parts, in lower case."""
    _, ids = _keys(vectors, restrict, fold_case)

    def meant(word: str) -> str | None:
        if (found := ids.get(fold(word, fold_case))) is not None:
            return vectors.words[found]
        spelt = word.lower() if fold_case else word
        return spelt if vectors.parts is not None and spelt in vectors else None

    both = [(meant(a), meant(b)) for a, b, _ in pairs]
    return [None if a is None or b is None else vectors.similarity(a, b) for a, b in both]


def evaluate_word_analogies(
    vectors: Neighbours,
    analogies: Questions,
    restrict_vocab: int | None = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> tuple[float, list[dict[str, Any]]]:
    """Ask "a is to b as c is to ?" of a file of questions.

    Parameters
    ----------
    analogies : path or sequence of QuestionSection
        A file such as questions-words.txt. Unlike in gensim, a line that is no question is an error.
    restrict_vocab : int, optional
        Use only this many words, the most frequent ones; None for all.
    case_insensitive : bool
        Take words in upper case; of those that differ only in case, the most frequent is meant.
    dummy4unknown : bool
        Count questions with an unknown word as answered wrongly; by default they are left out.

    Returns
    -------
    float
        Share of the questions asked that were answered correctly; 0 if none was asked.
    list of dict
        A dict for each section, and one for all, "Total accuracy". "section" is the name; "correct" and "incorrect"
        are the questions, as tuples of four words.

    Raises
    ------
    Any2VecError
        If the file cannot be read, a vector is not finite, or an argument is invalid.
    """
    questions = as_questions(analogies)
    answers = ask(vectors, questions, restrict_vocab, case_insensitive, as_gensim=True)
    kinds = {"correct": (True,), "incorrect": (False, None) if dummy4unknown else (False,)}
    found: list[dict[str, Any]] = []
    for section, rights in zip(questions, answers, strict=True):
        spelt = [tuple(fold(word, case_insensitive) for word in question) for question in section.questions]
        listed = list(zip(spelt, rights, strict=True))
        by_kind = {kind: [q for q, right in listed if right in answered] for kind, answered in kinds.items()}
        found.append({"section": section.name, **by_kind})
    total = {kind: [q for section in found for q in section[kind]] for kind in kinds}
    number = len(total["correct"]) + len(total["incorrect"])
    return len(total["correct"]) / max(1, number), [*found, {"section": "Total accuracy", **total}]


def evaluate_word_pairs(
    vectors: Neighbours,
    pairs: Pairs,
    delimiter: str | None = None,
    encoding: str = "utf8",
    restrict_vocab: int | None = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> tuple[Any, Any, float]:
    r"""Correlate the cosines of pairs of words with human scores; needs SciPy.

    Unlike in gensim, words that have a vector from their parts alone are known.

    Parameters
    ----------
    pairs : path or sequence of (str, str, float)
        A file such as WordSim-353. Unlike in gensim, a line that is no pair is an error.
    delimiter : str, optional
        What separates columns; by default tabs, commas or whitespace are found (gensim: "\t").
    encoding : str
        Of the file.
    restrict_vocab, case_insensitive
        As for `evaluate_word_analogies`.
    dummy4unknown : bool
        Take 0 for the cosine of pairs with an unknown word; by default they are left out.

    Returns
    -------
    pearson, spearman
        SciPy's results, pairs of a correlation and its p-value.
    float
        Pairs with an unknown word, in percent.

    Raises
    ------
    Any2VecError
        If the file cannot be read, an argument is invalid, SciPy is not installed, or there is no correlation:
        fewer than two pairs, or equal scores or cosines.
    """
    listed = as_pairs(pairs, delimiter, encoding)
    cosines = cosines_of_pairs(vectors, listed, restrict_vocab, case_insensitive)
    used = [
        (score, cosine or 0.0)
        for (_, _, score), cosine in zip(listed, cosines, strict=True)
        if cosine is not None or dummy4unknown
    ]
    found = correlations(used)
    if found is None:
        many = f"{counted(len(used), 'pair')} of known words"
        raise Any2VecError(f"no correlation: there are {many}, or all scores or all cosines are equal")
    return *found, 100 * cosines.count(None) / len(listed)


def _keys(vectors: Neighbours, restrict: int | None, fold_case: bool) -> tuple[list[str], dict[str, int]]:
    """Return the words that are used, as questions spell them, and the id that each spelling means: the first."""
    last = None if restrict is None else whole_number("restrict_vocab", restrict, 1)
    keys = [fold(word, fold_case) for word in vectors.words[:last]]
    return keys, {key: i for i, key in reversed(list(enumerate(keys)))}


def _with_other_spellings(keys: Sequence[str], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids of all words spelt as those of a row, shape (Q, k); -1 where there are fewer than k."""
    spellings: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        spellings.setdefault(key, []).append(i)
    used, rows = np.unique(asked, return_inverse=True)
    same = np.full((len(used), max((len(spellings[keys[i]]) for i in used), default=1)), -1, np.int64)
    for row, i in zip(same, used, strict=True):
        row[: len(spellings[keys[i]])] = spellings[keys[i]]
    return same[rows].reshape(len(asked), asked.shape[1] * same.shape[1])
