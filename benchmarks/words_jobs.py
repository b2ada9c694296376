"""Runs of contenders, each in a fresh process: the settings that all share, a job, and how it is run."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Job", "Settings", "run"]

SCRIPT = Path(__file__).with_name("words_contenders.py")


@dataclass(frozen=True)
class Settings:
    """Settings that all contenders share.

    Attributes
    ----------
    corpus : str
        A plain text file.
    cache : str
        Folder for any2vec's encoded corpora.
    words, mapped : int
        Raw words of the corpus, and bytes that any2vec maps into memory.
    """

    corpus: str
    cache: str
    words: int = 0
    mapped: int = 0
    dim: int = 200
    window: int = 5
    negative: int = 15
    sample: float = 1e-4
    alpha: float = 0.025
    min_count: int = 5
    epochs: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Job:
    """One run of one contender.

    Attributes
    ----------
    name : str
        Kind (of `KINDS`) and threads, as in "exact/2".
    settings : Settings
        What all contenders share.
    core : int, optional
        Core to pin it to.
    binary : str, optional
        The program to run, for fastText and word2vec.c.
    questions, wordsim, simlex : str, optional
        Files to evaluate the vectors with.
    """

    name: str
    settings: Settings
    core: int | None = None
    binary: str | None = None
    questions: str | None = None
    wordsim: str | None = None
    simlex: str | None = None

    @property
    def kind(self) -> str:
        """Which contender."""
        return self.name.partition("/")[0]

    @property
    def threads(self) -> int:
        """Number of threads."""
        return int(self.name.partition("/")[2] or 1)


def run(job: Job, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a job in a fresh process; return its figures, with `words_per_second` where it trained or read.

    Raises
    ------
    SystemExit
        If it failed; its standard error is passed through.
    """
    command = [sys.executable, str(SCRIPT), json.dumps(asdict(job))]
    plain = {"OPENBLAS_NUM_THREADS": str(job.threads), "OMP_NUM_THREADS": str(job.threads)}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | plain | (environment or {}), check=False
    )
    if done.returncode:
        raise SystemExit(f"{job.name} failed with status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])
