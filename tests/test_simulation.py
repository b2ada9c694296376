"""Whole clusters, each simulated from one seed; `benchmarks/simulate.py` runs as many as asked."""

import pytest
from simulation.draw import drawn
from simulation.oracle import Refused, check

SEEDS = range(50)
EACH = 5


@pytest.mark.parametrize("first", SEEDS[::EACH])
def test_a_cluster(tmp_path, first):
    refused = 0
    for seed in SEEDS[first : first + EACH]:
        case = drawn(seed)
        try:
            check(case, tmp_path / str(seed))
        except Refused:
            refused += 1
        except BaseException as error:
            error.add_note(f"`python benchmarks/simulate.py {seed}` runs it alone:\n{case}")
            raise
    assert refused < EACH
