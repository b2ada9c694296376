"""Cases of a parametrized test that are `slow`, where a quick one stands for them."""

import pytest


def slow(*values):
    """Return a case that is slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(quick, cases, unpacked=False):
    """Return all cases, as slow but for some; `unpacked` are tuples of several arguments."""
    cases = list(cases)
    assert all(case in cases for case in quick)
    return [case if case in quick else slow(*case) if unpacked else slow(case) for case in cases]
