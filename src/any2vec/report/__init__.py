"""The report of a run: what it was and what it cost, as JSON."""

import json
import math
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from any2vec import __version__
from any2vec.io.outputs import Kind, check_writable, json_of, replacing_file
from any2vec.report.rounds import Rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report", "decimals", "peak_memory", "plain", "slowest_lines", "transfer", "without_nan", "write_figures"]


def peak_memory() -> int:
    """Peak memory of this process, in bytes; 0 where the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):  # not Linux, where getrusage would begin with the parent's peak
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


@cache
def _versions() -> dict[str, str]:
    found = {name: version(name) for name in ("numpy", "numba", "llvmlite")}
    return found | {"any2vec": __version__, "python": platform.python_version()}


def _machine() -> str:
    return f"{platform.system()}-{platform.release()}-{platform.machine()}"  # platform.platform() starts a program


@dataclass
class Report:
    """Figures of a run.

    Attributes
    ----------
    versions : dict from str to str
        Of what ran.
    machine : str
        System and processor's kind.
    options : dict
        What the user chose.
    kind : str
        What has vectors, "words" or "vertices". Other texts say "words" of both.
    words : int
        Raw words of the corpus; `kept_words` of them are in the vocabulary.
    vocabulary : int
        V.
    invalid_words : int
        Words of the corpus that are not valid UTF-8.
    cached : bool
        Whether the corpus was taken from the cache.
    seconds : dict from str to float
        Time by phase: scan, encode, compile, train.
    words_per_second : float
        Raw words per second of training.
    loss : list of float
        Mean loss over the samples of each epoch; not a number (null in JSON) if subsampling left it none.
    held_out : list of float
        Mean loss over the samples held out of training, after each epoch; empty if none are.
    checks : list of dict
        What callbacks returned after each epoch.
    walking : float
        Seconds of the processor, all threads together, in which training generated walks; a part of ``train``.
    read_bytes : int
        Bytes that hosts sent each other to read a graph in parts.
    walk_bytes : int
        The same, to walk on it, before training.
    memory : dict from str to int
        Bytes by part, of a host: ``model``, the matrices and what threads and hosts need besides; of a graph, ``graph``
        with the tables of walks, which goes before training if all walks are kept, ``names``, and ``walks``.
    peak_memory : int
        Bytes, of the process.
    threads : int
        Threads per host.
    hosts : int
        H.
    round_count : int
        S, rounds per epoch.
    scheme : str or None
        How hosts communicated: what was chosen, if none was given or ``auto``. None on one host, unless it is a scheme
        that trains otherwise than plain word2vec.
    sample : float or None
        The threshold of subsampling that counted: 0 where the option's left nothing. None before training.
    rounds : Rounds
        Statistics per round.
    interrupted : bool
        Whether training was stopped early.
    kept : bool
        Whether a checkpoint has what is trained.
    """

    options: dict[str, Any]
    versions: dict[str, str] = field(default_factory=lambda: dict(_versions()))
    machine: str = field(default_factory=_machine)
    kind: str = "words"
    words: int = 0
    kept_words: int = 0
    vocabulary: int = 0
    invalid_words: int = 0
    cached: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    words_per_second: float = 0.0
    loss: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    checks: list[dict[str, float]] = field(default_factory=list)
    walking: float = 0.0
    read_bytes: int = 0
    walk_bytes: int = 0
    memory: dict[str, int] = field(default_factory=dict)
    peak_memory: int = 0
    threads: int = 0
    hosts: int = 1
    round_count: int = 1
    scheme: str | None = None
    sample: float | None = None
    rounds: Rounds = field(default_factory=Rounds)
    interrupted: bool = False
    kept: bool = False

    def as_dict(self) -> dict[str, Any]:
        """All figures, with the versions of what ran."""
        return asdict(self)

    def plot(self) -> "Figure":
        """Draw loss, checks, speed and time; of several hosts also phases, bytes, orthogonality and rows by round.

        Returns
        -------
        matplotlib.figure.Figure
            With a panel for each. `figure.savefig(path)` saves it.

        Raises
        ------
        Any2VecError
            If matplotlib is not installed.
        """
        from any2vec.report.page import draw

        return draw(self)

    def outcome(self) -> dict[str, Any]:
        """Return the figures that training adds."""
        names = (
            "seconds words_per_second loss held_out checks walking memory peak_memory threads hosts round_count scheme"
        )
        return {name: getattr(self, name) for name in [*names.split(), "sample", "interrupted", "kept"]}

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the report as JSON.

        Parameters
        ----------
        path : str or path
            The file; an earlier report is replaced.
        force : bool
            Replace it also if it holds something else.

        Raises
        ------
        Any2VecError
            If it cannot be written, or holds something else.
        """
        path = Path(path)
        check_writable(path, REPORT, force=force)
        write_figures(self.as_dict(), path)


_NAMES = {"versions", "machine", "options", "seconds", "vocabulary"}
REPORT = Kind("a report", lambda path: isinstance(found := json_of(path), dict) and found.keys() >= _NAMES)


def without_nan(value: Any) -> Any:
    """Replace what is not a number, and infinities, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_figures(figures: Any, path: Path) -> None:
    """Write figures as JSON."""
    text = json.dumps(without_nan(figures), indent=2, default=plain, allow_nan=False)
    with replacing_file(path) as file:
        file.write(f"{text}\n".encode())


def plain(value: Any) -> Any:
    """Return what JSON has for a value that it does not know."""
    return value.item() if hasattr(value, "item") else str(value)  # NumPy's numbers; paths


def decimals(value: float, digits: int = 4) -> str:
    """Write a number, or "-" if there is none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


_MATTERS = 0.1  # of the time of training
_FEWEST = 10  # rounds that say something of the network


def transfer(report: Report) -> list[float]:
    """Return the seconds of communication that were no waiting for slower hosts, by entry of the rounds."""
    rounds = report.rounds
    waited = rounds.waited or [0.0] * len(rounds.epochs)  # an earlier version had none
    return [max(one - other, 0.0) for one, other in zip(rounds.seconds["communication"], waited, strict=True)]


def slowest_lines(report: Report) -> Iterator[str]:
    """Yield a line on the host that the others waited for to compute, and one on the host that received last.

    There is none where little time was lost, or no host stands out.
    """
    by_host, train = report.rounds.by_host, report.seconds.get("train", 0.0)
    if not by_host or report.hosts < 2:
        return
    awaited = np.array(by_host["awaited computing"])
    host = int(awaited.argmax())
    if awaited[host] > _MATTERS * train:
        times = by_host["computing"][host] / max(np.delete(by_host["computing"], host).mean(), 1e-9)
        yield (
            f"host {host} was slowest: it computed {times:,.1f} times as long as the others in the mean, and was last "
            f"in {_of(report, 'computing', host)}; they waited {awaited[host]:,.1f} s of {train:,.1f} s for it"
        )
    awaited, last = np.array(by_host["awaited receiving"]), np.array(by_host["last receiving"])
    host = int(last.argmax())
    enough = report.hosts > 2 and last.sum() >= _FEWEST and sum(transfer(report)) > _MATTERS * train
    if enough and min(last[host] / last.sum(), awaited[host] / max(awaited.sum(), 1e-9)) > 0.5:
        yield (
            f"host {host} received last in {_of(report, 'receiving', host)}: "
            "its network may be slower than that of the others"
        )


def _of(report: Report, what: str, host: int) -> str:
    last = report.rounds.by_host[f"last {what}"]
    return f"{last[host]:,.0f} of {sum(last):,.0f} rounds"
