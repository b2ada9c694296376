"""Training on simulated hosts, for tests; sizes that few kernels are compiled for."""

import numpy as np
import pytest
from numba import njit

from any2vec.cluster.local import simulate
from any2vec.corpus import read_corpus
from any2vec.operators import SkipGram
from any2vec.report import Report
from any2vec.sync import SCHEMES
from any2vec.sync.combiners import COMBINERS, RowCombiner
from any2vec.training import trainer
from any2vec.training.options import Decay, Options
from any2vec.training.progress import Quiet
from any2vec.training.schedule import Schedule

SIZES = {  # any D up to 16 has rows of 16 floats
    "window": {"dim": 16, "window": 3, "negative": 3},
    "pair": {"dim": 100, "window": 1, "negative": 1, "negatives_per": "pair"},
}


@njit
def largest_row(parts, updates, out):
    most = 0
    for host in range(1, len(updates)):
        if updates[host] > updates[most]:
            most = host
    out[:] = parts[most]


class Said:
    """A display that keeps its lines."""

    def __init__(self):
        self.lines = []

    def __getattr__(self, name):
        return self.lines.append if name == "say" else lambda *_: None


class Largest(RowCombiner):
    """A user's own: what the host that made most updates added."""

    row = staticmethod(largest_row)


def rounds_more(hosts, rounds):
    """Rounds that the first epoch has more than others."""
    return len(Schedule(Decay(0.1), 1, rounds, np.arange(hosts + 1)).numbers(0)) - rounds


COMBINES = [*COMBINERS, Largest]
NAMES = [name for name, scheme in SCHEMES.items() if not scheme.of_its_own]


def text(sentences, seed=0, words=12):
    """Random sentences of words that are not equally frequent; before them, some that hold each word once."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, words + 1)
    drawn = [rng.choice(words, rng.integers(1, 9), p=share / share.sum()) for _ in range(sentences)]
    return [[f"w{i}" for i in sentence] for sentence in [*np.array_split(range(words), -(-words // 8)), *drawn]]


def read(sentences, hosts):
    return read_corpus(sentences, min_count=1, cache=None, hosts=hosts)


def pressed_after(number):
    """A callback of epochs, or of rounds, that presses Ctrl-C after one of them."""

    def press(epoch, *_):
        if number == (epoch["round"] if isinstance(epoch, dict) else epoch):
            raise KeyboardInterrupt

    return press


def interrupted(model, source):
    """Fit a model that is interrupted: it keeps what is trained."""
    with pytest.raises(KeyboardInterrupt):
        model.fit(source)
    assert model.report_.interrupted
    return model


def skipgram(negatives_per="window", window=5, negative=5):
    """The skip-gram operator of some sizes."""
    return SkipGram(Options(window=window, negative=negative, negatives_per=negatives_per).training_options())


def options(negatives_per="window", **more):
    return Options(**(SIZES[negatives_per] | {"threads": 1, "epochs": 1, "sample": 0} | more))


def train(corpus, how, cores=2, wrap=lambda communicator: communicator, report=None):
    """Train on as many simulated hosts as the corpus is cut for; return e and t of all vertices."""
    report = report or Report({})

    def host(communicator):
        told = report if communicator.rank == 0 else Report({})
        return trainer.train(corpus, how, wrap(communicator), Quiet(), told)

    parts = simulate(corpus.hosts, cores, host)
    ends = np.cumsum([part.vertices for part in parts])
    assert [part.first for part in parts] == [0, *ends[:-1]]
    assert ends[-1] == len(corpus.vocabulary)
    return tuple(np.concatenate(labels) for labels in zip(*((p.embedding, p.training) for p in parts), strict=True))


def aligned(values):
    """Copy to float32 memory on a 64-byte boundary, of the same shape."""
    buffer = np.empty(values.size + 16, np.float32)
    skip = -buffer.ctypes.data % 64 // 4
    found = buffer[skip : skip + values.size].reshape(values.shape)
    found[:] = values
    return found


def bits(labels):
    return [label.tobytes() for label in labels]
