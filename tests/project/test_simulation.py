"""Whole clusters, each simulated from one seed; `benchmarks/simulate.py` runs as many as asked."""

from itertools import count, islice

import pytest
from marks import slow_but
from simulation.draw import drawn
from simulation.oracle import RefusedError, check

EACH = 5


def is_quick(case):
    """Whether a seed is short, and its kernels are those that other tests compile, too."""
    how = case.options
    own = {"subwords", "features", "metapath", "restart", "buckets"} & how.keys()
    plain = case.estimator in ("Word2Vec", "DeepWalk") and not own and not case.going_on and how["threads"] == 1
    rows = how.get("scheme") not in ("columns", "server", "auto")
    return plain and rows and case.hosts <= 3 and how["epochs"] * how["rounds"] <= 3


SEEDS = list(islice((seed for seed in count() if is_quick(drawn(seed))), 50))


@pytest.mark.parametrize("first", slow_but([0], range(0, len(SEEDS), EACH)))
def test_a_cluster(tmp_path, first):
    refused = 0
    for seed in SEEDS[first : first + EACH]:
        case = drawn(seed)
        try:
            check(case, tmp_path / str(seed))
        except RefusedError:
            refused += 1
        except BaseException as error:
            error.add_note(f"`python benchmarks/simulate.py {seed} -v` runs it alone:\n{case}")
            raise
    assert refused < EACH
