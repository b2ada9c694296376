"""Arrays whose references Numba does not count."""

from typing import NamedTuple

import numba
import numpy as np

from any2vec.llvm.intrinsics import unowned


class Pair(NamedTuple):
    """An array, and others in a tuple."""

    one: np.ndarray
    others: tuple


@numba.njit
def dot(pair):
    return (pair.one * pair.others[0]).sum() * pair.others[1]


def summing(without):
    @numba.njit
    def total(one, others):
        made = np.ones(4), 2
        ones, two = made
        if without:
            ones, two = unowned(made)
            one, others = unowned((one, others))
        found = 0.0
        for i in range(4):
            if i < two:
                found += dot(Pair(one[i:], (ones[i:], two)))
            else:
                found += dot(Pair(ones, (others[0], others[1])))
        _ = made
        return found

    return total


def test_references_are_not_counted_in_loops():
    counting = {}
    for without in (False, True):
        total = summing(without)
        assert total(np.arange(4.0), (np.full(4, 0.5), 3)) == 2 * (6 + 6) + 2 * 6
        (code,) = total.inspect_llvm().values()
        counting[without] = code.count("call void @NRT_incref")
    assert counting[True] < counting[False]
