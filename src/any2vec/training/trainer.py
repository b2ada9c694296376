"""Training: the host that a run needs, who listens to it, and the run, which is Algorithm 1 (`training.run`)."""

import json
import re
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec import __version__
from any2vec.cluster.communicator import Communicator, LostHostError, SharedError, allgather_bytes, together
from any2vec.corpus import Corpus
from any2vec.operators.matrices import Matrices
from any2vec.report import Report
from any2vec.report.rounds import Rounds
from any2vec.sync import AUTO, scheme_of
from any2vec.sync.channel import Partition
from any2vec.sync.scheme import check_memory
from any2vec.sync.wire import USUAL
from any2vec.training.checkpoints.checkpoint import Checkpoints
from any2vec.training.choice import choose, partition_of, usual_scheme
from any2vec.training.column_host import ColumnHost
from any2vec.training.host import Host
from any2vec.training.listeners import AfterEpoch, Blend, Checkpointing, Checks, HeldOut
from any2vec.training.options import Options
from any2vec.training.progress import Display
from any2vec.training.row_host import RowHost
from any2vec.training.run import Run
from any2vec.training.state import Start, TrainingState


def train(
    corpus: Corpus,
    options: Options,
    communicator: Communicator,
    display: Display,
    report: Report,
    *,
    after_epoch: AfterEpoch | None = None,
    state: TrainingState | None = None,
    checkpoints: Checkpoints | None = None,
    start: Start | None = None,
    flags: NDArray[np.int64] | None = None,
) -> Matrices:
    """Train the matrices of all vertices on a corpus; all hosts call this, with the same options but for the threads.

    Return the matrices of this host's masters: after Ctrl-C, as far as they are trained; ``report.interrupted`` is true
    then. Raise a SharedError if they do not fit into memory, there is nothing to learn from, or values diverge.

    `report` receives losses, checks, seconds, speed, memory. `after_epoch` is called on host 0 with the epoch, from 1,
    and the matrices; only `e` if there are several hosts. The figures it returns are shown and kept.

    From a `state` of the same number of hosts and rounds, the outcome has the bits of an uninterrupted run; with
    others, what is left of the epoch is cut anew. Its masters are of consecutive ranges of vertices. `start` has what
    rows begin with, or what those of the state's run began with. The caller closes `checkpoints`. `flags` are two zeros
    that simulated hosts share: what stops one stops all at once, not only at the end of a round.
    """
    options = options.training_options().for_text(int(corpus.cuts[-1]))
    options = replace(options, wire=options.wire or (state.wire if state else None) or USUAL)
    if state and state.sample is not None:  # what the run had set it to
        options = replace(options, sample=state.sample)
    with together(communicator):
        options = replace(options, scheme=options.scheme or usual_scheme(corpus, options, communicator))
    if options.scheme == AUTO:
        options, line = choose(corpus, options, communicator, start, state)
        display.say(line)
    while True:
        report.sample = float(options.sample)
        partition = state.partition(communicator) if state else partition_of(corpus, options, communicator)
        host = _host(corpus, options, communicator, report, start, flags, partition, gathers=after_epoch is not None)
        host.interrupts.finishes = checkpoints is not None and not host.divisible
        host.interrupts.say = display.say
        kept = checkpoints.newest_line if checkpoints else str
        run = Run(host, corpus, options, communicator, display, report, kept)
        if _trained(run, start, state, after_epoch, checkpoints):
            return host.scheme.rows_of_masters(last=True)
        display.say(f"The corpus is too small for `sample` {options.sample:g}: training without subsampling")
        report.rounds, options, state = Rounds(), replace(options, sample=0.0), None  # now there is something to learn
        display.record("again", lambda: {"sample": 0.0})
        del run, host  # and their matrices


def _trained(
    run: Run,
    start: Start | None,
    state: TrainingState | None,
    after_epoch: AfterEpoch | None,
    checkpoints: Checkpoints | None,
) -> bool:
    """Run all epochs; return whether that was of use: subsampling may leave no sample."""
    host, interrupts, communicator = run.host, run.host.interrupts, run.communicator
    learned = True  # for all that is known, if an interrupt of another handler strikes early
    with host.workers, threadpool_limits(1, "blas"):  # its spinning workers would steal the cores
        try:
            _compile(host, communicator, run.display, run.report)
            caught = interrupts.catching() if communicator.size == 1 else nullcontext()  # others wait for it
            with interrupts.handling(), caught:
                if start and not state:
                    host.begin_with(start)
                checks = Checks(after_epoch, Blend.of(start, host, run.options), run.report)
                run.begin(state)
                held = [HeldOut(host, run.report)] if run.options.held_out else []
                keeping = [Checkpointing(checkpoints)] if checkpoints else []
                learned = run.epochs([*held, checks, *keeping])  # a check may be interrupted, and a checkpoint follow
                if learned:
                    checks.blended(run, host.scheme.masters)
        except LostHostError as error:
            error.args = (f"{error}{run.kept()}",)
            interrupts.stop()
            raise
        except BaseException:
            interrupts.stop()
            raise
        finally:
            run.display.close()
            if "compile" in run.report.seconds:
                run.figures.note(run)
    return learned


def _host(
    corpus: Corpus,
    options: Options,
    communicator: Communicator,
    report: Report,
    start: Start | None,
    flags: NDArray[np.int64] | None,
    partition: Partition,
    *,
    gathers: bool,
) -> Host:
    """Make this host: it finds out what it needs, and takes that if the memory of all hosts suffices."""
    scheme = scheme_of(options.scheme, communicator.size)
    report.scheme = str(options.scheme) if communicator.size > 1 or scheme.of_its_own else None
    kind: type[Host] = ColumnHost if scheme.by_columns else RowHost
    with together(communicator):
        host = kind(corpus, options, communicator, flags, start, partition)
    needs = options.dim, communicator, host.workers.threads, host.memory
    report.memory["model"] = check_memory(scheme, partition, *needs, wire=options.wire, gathers=gathers)
    with together(communicator):
        host.open()
    return host


def _compile(host: Host, communicator: Communicator, display: Display, report: Report) -> None:
    """Compile the operator: host 0 first, so that others find it in the cache."""
    started = time.perf_counter()
    report.seconds.pop("compile", None)
    display.compiling()
    first = communicator.rank == 0
    if not first:
        communicator.barrier()
    host.compile()
    if first:
        communicator.barrier()
    report.seconds["compile"] = time.perf_counter() - started


_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # of an object, which is another one on each host
_OF_A_HOST = {"threads", "verbose", "log", "on_round"}
_OWN = {"cache", "start", "pretrained", "frozen", "vocabulary", "kinds"}
"""What is compared elsewhere, and may have other names on other hosts: here, only whether it is given."""


def check_agreement(model: Any, communicator: Communicator, more: Mapping[str, object]) -> None:
    """Compare the parameters of an estimator, and `more` options, before a call depends on one; all hosts call this."""
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
