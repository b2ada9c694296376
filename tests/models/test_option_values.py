"""Values of options, of any type: they are used, or refused by one line before work begins; never a traceback."""

import datetime
from contextlib import suppress
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any2vec import Any2VecError, DeepWalk, Node2Vec, Phrases, Word2Vec
from any2vec.errors import shown
from any2vec.models import estimator
from any2vec.sync.combiners import COMBINERS, combiner_of

SENTENCES = [["to", "be", "or", "not", "to", "be"]]
EDGES = [("a", "b"), ("b", "c")]

ESTIMATORS = {Word2Vec: SENTENCES, DeepWalk: EDGES, Node2Vec: EDGES}
FIELDS = list({f.name: (cls, f.name) for cls in reversed(ESTIMATORS) for f in fields(cls)}.values())  # each once
SMALL = {"min_count": 1, "dim": 16, "window": 3, "negative": 3, "epochs": 1, "walks": 1, "length": 2}


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no text")

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    def __hash__(self):
        raise RuntimeError("no hash")


ODD = [
    *(None, True, False, 0, 1, -1, 3, 10**30, -(10**30), 10**400, 10**5000),
    *(0.0, 0.5, -0.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")),
    *("", " ", "0", "4", "rich", "given", "auto", "\0", "\ud800", "x" * 5000, b"", b"x", bytearray(b"x")),
    *((), [], {}, set(), frozenset("a"), {"a": 1}, [1], ["a"], (1, 2), range(3), iter("ab"), 1j),
    *(Fraction(1, 40), Fraction(10**400), Decimal("0.025"), Decimal("1e400"), Decimal("nan"), Decimal("snan")),
    *(Path(), Path("x"), datetime.date(2000, 1, 1), int, object, object(), len, lambda: 1, lambda *_: None),
    *(Unshowable(), np.bool(1), np.str_("cbow"), np.datetime64("2000-01-01")),
    *(np.array(3), np.array([1, 2]), np.array("a"), np.ones(3)),
    *(kind(3) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)),
    *(kind(0.5) for kind in (np.float16, np.float32, np.float64, np.longdouble)),
    *(np.float32("nan"), np.float32("inf"), np.complex64(1), np.ma.masked),
]

values = st.one_of(
    *(st.integers(), st.floats(), st.text(), st.binary(), st.booleans(), st.none(), st.decimals(), st.fractions()),
    st.lists(st.integers() | st.text()),
    st.dictionaries(st.text(), st.integers()),
    st.complex_numbers(),
)


class BeganError(Exception):
    """Reading is done, and training begins."""


@pytest.fixture
def _no_training(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def train(corpus, options, *_, **__):
        for name in ("dim", "window", "negatives", "epochs", "hosts", "seed"):
            assert type(getattr(options, name)) is int, name
        assert type(options.initial_alpha) in (int, float)
        raise BeganError

    monkeypatch.setattr(estimator, "train", train)


def tried(cls, name, value):
    """Fit with this value; it must be refused, on one line, or training must begin."""
    given = {option: small for option, small in SMALL.items() if option in {f.name for f in fields(cls)}}
    model = cls(**{**given, name: value})
    try:
        if name in ("p", "q"):  # whose kernels are compiled for each
            model.check()
            return ""
        model.fit(ESTIMATORS[cls])
    except BeganError:
        return ""
    except Any2VecError as error:
        return str(error)
    return "nothing\nhappened"


@pytest.mark.usefixtures("_no_training")
@pytest.mark.filterwarnings("ignore::any2vec.errors.Any2VecWarning")
@pytest.mark.parametrize(("cls", "name"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_odd_values(cls, name):
    for value in ODD:
        try:
            message = tried(cls, name, value)
        except Exception as error:
            raise AssertionError(f"{name}={shown(value)}: {type(error).__name__}: {error}") from error
        assert "\n" not in message
        assert len(message) < 5500


@pytest.mark.parametrize("cls", [*ESTIMATORS, Phrases, *COMBINERS.values()], ids=lambda cls: cls.__name__)
def test_any_value_is_checked(cls):
    names = [f.name for f in fields(cls) if f.metadata]
    if not names:
        pytest.skip("no options")

    @settings(max_examples=20 * len(names))
    @given(st.sampled_from(names), values)
    def check(name, value):
        made = cls(**{name: value})
        with suppress(Any2VecError):
            combiner_of(made) if cls in COMBINERS.values() else made.check()

    check()


@pytest.mark.parametrize("cls", [Phrases, *COMBINERS.values()], ids=lambda cls: cls.__name__)
def test_odd_values_of_others(cls):
    for name in (f.name for f in fields(cls) if f.metadata):
        for value in ODD:
            made = cls(**{name: value})
            with suppress(Any2VecError):
                combiner_of(made) if cls is not Phrases else made.check()
                if cls is Phrases and name != "progress":
                    made.fit(SENTENCES)


ACCEPTED = [
    *(
        (name, np.int8(3), 3)
        for name in ("dim", "window", "negative", "epochs", "seed", "min_count", "threads", "hosts")
    ),
    *((name, kind(0.5), 0.5) for name in ("sample", "alpha") for kind in (np.float16, np.float32, Fraction, Decimal)),
    ("blend", np.bool(0), False),
    ("max_size", np.array(3), 3),
    *(("cache", value, value) for value in (None, "auto", "folder", Path("folder"))),
]


@pytest.mark.parametrize(("name", "value", "plain"), ACCEPTED)
def test_numbers_of_other_kinds_are_numbers(name, value, plain):
    model = Word2Vec(**{name: value})
    model.check()
    found = getattr(model, name)
    assert (found, type(found)) == (plain, type(plain))


def test_a_communicator_that_is_none():
    for value in ("mpi", 3, object):
        for call in (Word2Vec(min_count=1).fit, Word2Vec(min_count=1).read, DeepWalk().fit):
            with pytest.raises(Any2VecError, match="`communicator` is"):
                call(SENTENCES, communicator=value)


REFUSED = [
    ("alpha", 10**400, "`alpha` is 1000"),
    ("alpha", float("1e400"), "`alpha` is inf; it must be a number above 0 up to 1"),
    ("dim", 10**30, "whole number from 1 to 65,536"),
    ("dim", 10**5000, "`dim` is a value of type int that cannot be shown"),
    ("epochs", np.bool(1), "whole number"),
    ("epochs", np.float32(3), "whole number"),
    ("cache", "", "`cache` is ''; it must be the name of a folder"),
    ("cache", 3, "`cache` is 3"),
    ("checkpoint", "\0", "name of a folder"),
    ("checkpoint", 3, "name of a folder"),
    ("log", "", "`log` is ''; it must be the name of a file"),
    ("log", 3, "`log` is 3; it must be the name of a file"),
    ("verbose", "rich", "`verbose` is 'rich'; it must be True, False, None or a Display"),
    ("callbacks", 3, "`callbacks` must be a list of functions"),
    ("frozen", 3.5, "`frozen` is 3.5"),
    ("hosts", "4", "`hosts` is '4'"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_is_refused(name, value, message):
    with pytest.raises(Any2VecError) as caught:
        Word2Vec(**{name: value}).fit(SENTENCES)
    assert message in str(caught.value)
