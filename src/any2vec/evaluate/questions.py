"""Analogy questions, read from a file such as word2vec's questions-words.txt."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from any2vec.errors import Any2VecError
from any2vec.evaluate.lines import read_lines

__all__ = ["Question", "QuestionSection", "read_questions"]

Question: TypeAlias = tuple[str, str, str, str]
"""a, b, c and d: a is to b as c is to d."""


@dataclass(frozen=True)
class QuestionSection:
    """Questions of one kind.

    Attributes
    ----------
    name : str
        Names of syntactic ones begin with "gram".
    questions : tuple of (str, str, str, str)
        a is to b as c is to d.
    """

    name: str
    questions: tuple[Question, ...]


def read_questions(path: str | os.PathLike[str]) -> tuple[QuestionSection, ...]:
    """Read analogy questions: four words a line, sections that begin with a line ": name".

    Parameters
    ----------
    path : str or path
        The file; empty lines are passed over.

    Returns
    -------
    tuple of QuestionSection
        In the order of the file.

    Raises
    ------
    Any2VecError
        If a line is neither a question nor the name of a section, or there is no question; file and line are
        named.
    """
    path = Path(path)
    sections: list[tuple[str, list[Question]]] = []
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith(":"):
            if not (name := line[1:].strip()):
                raise Any2VecError(f"{path}, line {number:,}: the section has no name; ': name' is expected")
            sections.append((name, []))
        elif line:
            words = line.split()
            if len(words) != 4:
                wrong = f"a question has 4 words, this line has {len(words)}: {line[:60]!r}"
                raise Any2VecError(f"{path}, line {number:,}: {wrong}")
            if not sections:
                raise Any2VecError(f"{path}, line {number:,}: a question before the first section (': name')")
            sections[-1][1].append((words[0], words[1], words[2], words[3]))
    if not any(questions for _, questions in sections):
        raise Any2VecError(f"{path}: has no questions")
    return tuple(QuestionSection(name, tuple(questions)) for name, questions in sections)
