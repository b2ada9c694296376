"""Algorithm 1 of GraphAny2Vec: epochs, rounds, computing, synchronizing."""

import math
import time
from collections.abc import Callable

from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError
from any2vec.operators.skipgram import Tally
from any2vec.training.host import Host
from any2vec.training.meter import Meter
from any2vec.training.model import Model
from any2vec.training.options import Options
from any2vec.training.progress import Display
from any2vec.training.report import Report, peak_memory

__all__ = ["train"]

_HOT_ROWS = 1000  # looked at while an epoch runs: where values explode, they explode first
_SECONDS_BETWEEN_LOOKS = 1.0
_FEW_EPOCHS = 20  # more than that are not worth a line each


def train(
    corpus: Corpus,
    options: Options,
    display: Display,
    report: Report,
    *,
    after_epoch: Callable[[int, Model], dict[str, float]] = lambda *_: {},
    rounds: int = 1,
    width: int | None = None,
) -> Model:
    """Train the labels of all vertices on a corpus.

    Parameters
    ----------
    corpus : Corpus
        V and W.
    options : Options
        How.
    display : Display
        Shows how it goes.
    report : Report
        Gets the figures: losses, checks, seconds, speed, memory.
    after_epoch : function
        Called after each epoch with its number, from 1, and the model; the figures it returns are shown and kept.
    rounds : int
        S, slices of the worklist in an epoch. On one host the result does not depend on it.
    width : int, optional
        Floats in a register, if not this processor's.

    Returns
    -------
    Model
        The labels e and t. After Ctrl-C, as far as they are trained; ``report.interrupted`` is true then.

    Raises
    ------
    Any2VecError
        If the model does not fit into memory, there is nothing to learn from, or values stop being finite.
    """
    with Host(corpus.vocabulary, corpus.worklist, options, width) as host:
        started = time.perf_counter()
        display.compiling()
        host.compile()
        report.seconds["compile"] = time.perf_counter() - started
        meter = Meter(options, host.words, corpus.raw_words, display)
        try:
            with host.interruptible():
                for epoch in range(options.epochs):
                    meter.start_epoch()
                    for s in range(rounds):
                        low, high = (host.words * (s + k) // rounds for k in (0, 1))
                        tallies = host.tallies()
                        host.compute(epoch, low, high, tallies, _Look(host, meter, tallies, epoch))
                        meter.add(tallies)
                    meter.end_epoch()
                    if not host.model.is_finite() or not math.isfinite(meter.loss[-1]):
                        raise _not_finite(options, epoch)
                    if host.interrupted:
                        break
                    if not meter.samples:
                        raise Any2VecError("nothing to learn: no sentence keeps two words (a line is a sentence)")
                    figures = after_epoch(epoch + 1, host.model)
                    report.checks += [{"epoch": epoch + 1, **figures}] if figures else []
                    if figures or options.epochs <= _FEW_EPOCHS:
                        display.say(_line(epoch, options, meter, figures))
        finally:
            display.close()
            _note(report, host, meter)
        return host.model


class _Look:
    """Shows how a round goes, and stops it when values are not finite any more."""

    def __init__(self, host: Host, meter: Meter, tallies: list[Tally], epoch: int) -> None:
        self._host, self._meter, self._tallies, self._epoch = host, meter, tallies, epoch
        self._last = time.monotonic()

    def __call__(self) -> None:
        self._meter.show(self._tallies)
        if time.monotonic() - self._last > _SECONDS_BETWEEN_LOOKS:
            self._last = time.monotonic()
            if not self._host.model.is_finite(_HOT_ROWS):
                raise _not_finite(self._host.options, self._epoch)


def _line(epoch: int, options: Options, meter: Meter, figures: dict[str, float]) -> str:
    told = [f"epoch {epoch + 1}/{options.epochs}", f"loss {meter.loss[-1]:.4f}"]
    return "  ".join(told + [f"{name} {value:.2f}" for name, value in figures.items()])


def _note(report: Report, host: Host, meter: Meter) -> None:
    report.threads = host.threads
    report.interrupted = host.interrupted
    report.loss = meter.loss
    report.seconds["train"] = meter.seconds
    report.words_per_second = meter.words_per_second
    report.peak_memory = peak_memory()


def _not_finite(options: Options, epoch: int) -> Any2VecError:
    return Any2VecError(
        f"training stopped in epoch {epoch + 1}: values are not finite any more; alpha {options.alpha} is too "
        "large for this corpus (0.025 is usual)"
    )
