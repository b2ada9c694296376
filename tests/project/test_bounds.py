"""Kernels with Numba's bounds checks: an index beyond an array is an error there, and damage without them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODELS = {
    "words": """
Word2Vec(**small, negative=3, threads=2).fit(sentences)
Word2Vec(**small, model="cbow", loss="hierarchical", threads=1).fit(sentences)
""",
    "hosts": """
Word2Vec(**small, negative=3, hosts=3).fit(sentences)
Word2Vec(**small, negative=3, hosts=2, scheme="columns").fit(sentences)
""",
    "nodes": """
edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "e")]
Node2Vec(dim=8, window=3, negative=3, epochs=2, walks=3, length=6, p=0.5, q=2.0, threads=1).fit(edges)
Phrases(threshold=1.5, threads=1).fit_transform(sentences)
""",
}

PROGRAM = """
import gc

from any2vec import Node2Vec, Phrases, Word2Vec

gc.set_threshold(100_000)  # as the command line does
sentences = [["to", "be", "or", "not", "to", "be"], ["that"], ["is", "the", "question"] * 5] * 20
small = {"dim": 8, "min_count": 1, "epochs": 2, "window": 3}
"""

OUTSIDE = """
import numpy as np
from any2vec.llvm.compiled import njit

@njit
def beyond(values):
    return values[values.size]

beyond(np.zeros(1))
"""


def run_checked(program, folder):
    """Run a program with bounds checks; Numba's cache does not see that option, so it has a folder of its own."""
    variables = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder), "ANY2VEC_CACHE": str(folder / "corpora")}
    variables |= {"NUMBA_OPT": "0"}  # compiles faster, and checks the same
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_checks_find_what_is_outside(tmp_path):
    assert "IndexError" in run_checked(OUTSIDE, tmp_path).stderr


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize("models", MODELS)
def test_no_index_is_outside(models):
    ran = run_checked(PROGRAM + MODELS[models], Path(os.environ["NUMBA_CACHE_DIR"], "bounds"))
    assert ran.returncode == 0, ran.stderr
