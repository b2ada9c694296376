"""Analogy questions, read from a file such as word2vec's questions-words.txt."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import split, strip
from any2vec.options import as_path
from any2vec.vectors.word_sets import read_lines

__all__ = ["Question", "QuestionSection", "Questions", "as_questions", "read_questions"]

Question: TypeAlias = tuple[str, str, str, str]
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
    questions: tuple[Question, ...]


Questions: TypeAlias = str | os.PathLike[str] | Sequence[QuestionSection]
"""A file of questions, or their sections."""


def read_questions(path: str | os.PathLike[str]) -> tuple[QuestionSection, ...]:
    """Read a file of analogy questions: lines of four words, in sections that begin with a line ": name"."""
    path = as_path(path)
    sections: list[tuple[str, list[Question]]] = []
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
