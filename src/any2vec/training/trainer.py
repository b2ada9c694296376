"""Algorithm 1 of GraphAny2Vec: epochs, rounds, computing, synchronizing."""

import json
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import Communicator, LostHostError, SharedError, allgather_bytes, together
from any2vec.corpus import Corpus
from any2vec.operators.matrices import Matrices
from any2vec.report.report import Report
from any2vec.report.rounds import Rounds
from any2vec.sync.beginning import check_memory
from any2vec.sync.schemes import AUTO, scheme_of
from any2vec.sync.wire import USUAL
from any2vec.training.checkpoints.checkpoint import Checkpoints
from any2vec.training.choice import choose, partition_of, usual_scheme
from any2vec.training.hosts.column_host import ColumnHost
from any2vec.training.hosts.host import Host
from any2vec.training.hosts.row_host import RowHost
from any2vec.training.options import Options
from any2vec.training.progress import Display
from any2vec.training.run import AfterEpoch, AfterRound, Run
from any2vec.training.start import Start
from any2vec.training.state import TrainingState
from any2vec.version import __version__

__all__ = ["AfterEpoch", "AfterRound", "check_agreement", "train"]


def train(
    corpus: Corpus,
    options: Options,
    communicator: Communicator,
    display: Display,
    report: Report,
    *,
    after_epoch: AfterEpoch | None = None,
    after_round: AfterRound | None = None,
    state: TrainingState | None = None,
    checkpoints: Checkpoints | None = None,
    start: Start | None = None,
    flags: NDArray[np.int64] | None = None,
) -> Matrices:
    """Train the matrices of all vertices on a corpus; all hosts call this, with the same options but for the threads.

    Return the matrices of this host's masters: after Ctrl-C, as far as they are trained; ``report.interrupted`` is true
    then. Raise a SharedError if they do not fit into memory, there is nothing to learn from, or values diverge.

    `report` receives losses, checks, seconds, speed, memory. `after_epoch` is called on host 0 with the epoch, from 1,
    and the matrices; only `e` if there are several hosts. The figures it returns are shown and kept. `after_round` is
    called on every host, but after a round that was cut short, with its state, whose masters must be copied to be kept.

    From a `state` of the same number of hosts and rounds, the outcome has the bits of an uninterrupted run; with
    others, what is left of the epoch is cut anew. Its masters are of consecutive ranges of vertices. `start` has what
    rows begin with, or what those of the state's run began with. The caller closes `checkpoints`. `flags` are two zeros
    that simulated hosts share: what stops one stops all at once, not only at the end of a round.
    """
    options = _as_begun(options.training_options(), state)
    with together(communicator):
        options = replace(options, scheme=options.scheme or usual_scheme(corpus, options, communicator))
    if options.scheme == AUTO:
        options, line = choose(corpus, options, communicator, start, state)
        display.say(line)
    report.sample, scheme = float(options.sample), scheme_of(options.scheme, communicator.size)
    report.scheme = str(options.scheme) if communicator.size > 1 or scheme.of_its_own else None
    partition = state.partition(communicator) if state else partition_of(corpus, options, communicator)
    kind: type[Host] = ColumnHost if scheme.by_columns else RowHost
    with together(communicator):
        host = kind(corpus, options, communicator, flags, start, partition)
    needs = options.dim, communicator, host.workers.threads, host.memory
    report.memory["model"] = check_memory(scheme, partition, *needs, wire=options.wire, gathers=after_epoch is not None)
    with together(communicator):
        host.open()
    interrupts = host.interrupts
    interrupts.finishes, interrupts.say = checkpoints is not None and not host.divisible, display.say
    run = Run(host, corpus, options, communicator, display, report, checkpoints)
    learned = True  # for all that is known, if an interrupt of another handler strikes early
    with host.workers, threadpool_limits(1, "blas"):  # its spinning workers would steal the cores
        try:
            run.compile()
            caught = interrupts.catching() if communicator.size == 1 else nullcontext()  # others wait for it
            with interrupts.handling(), caught:
                run.begin(state, start)
                learned = run.epochs(after_epoch, after_round)
                if learned:
                    run.blend(host.scheme.masters)
        except LostHostError as error:
            kept = checkpoints.newest_line() if checkpoints else ""
            error.args = (f"{error}{kept}",)
            interrupts.stop()
            raise
        except BaseException:
            interrupts.stop()
            raise
        finally:
            display.close()
            run.note()
    if not learned:
        display.say(f"The corpus is too small for `sample` {options.sample:g}: training without subsampling")
        report.rounds = Rounds()
        display.record("again", lambda: {"sample": 0.0})
        again: dict[str, Any] = {
            "after_epoch": after_epoch,
            "after_round": after_round,
            "checkpoints": checkpoints,
            "start": start,
            "flags": flags,
        }
        return train(corpus, replace(options, sample=0.0), communicator, display, report, **again)
    return host.scheme.rows_of_masters(last=True)


def _as_begun(options: Options, state: TrainingState | None) -> Options:
    """Fill in what a run that is taken up had found out, or chosen."""
    wire = options.wire or (state.wire if state else None) or USUAL
    return replace(options, wire=wire, sample=options.sample if not state or state.sample is None else state.sample)


_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # of an object, which is another one on each host
_OF_A_HOST = {"threads", "verbose", "log", "on_round"}
_OWN = {"cache", "start", "pretrained", "frozen", "vocabulary", "kinds"}
"""What is compared elsewhere, and may have other names on other hosts: here, only whether it is given."""


def check_agreement(model: Any, communicator: Communicator, more: Mapping[str, object]) -> None:
    """Compare the parameters of an estimator, and `more` options, before a call depends on one; all hosts call this.

    Raises
    ------
    SharedError
        On all hosts, naming the first option that differs.
    """
    named = {f.name: getattr(model, f.name) for f in fields(model)} | {"checks after each epoch": bool(model.callbacks)}
    mine = {"the estimator": type(model).__name__, "the version of any2vec": __version__}
    for name, value in (named | dict(more)).items():
        if name in _OWN:
            mine[name] = "not given" if value is None else "given"
        elif name not in _OF_A_HOST and name != "callbacks":
            mine[name] = _ADDRESS.sub("", repr(str(value) if isinstance(value, Path) else value))
    given = [json.loads(text) for text in allgather_bytes(communicator, json.dumps(mine).encode())]
    for host, theirs in enumerate(given):
        for name in {**given[0], **theirs}:
            if theirs.get(name) != given[0].get(name):
                values = f"{given[0].get(name)} on host 0, {theirs.get(name)} on host {host}"
                raise SharedError(f"the hosts were given different options: `{name}` is {values}")
