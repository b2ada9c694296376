"""gensim's own tests of its KeyedVectors, on Vectors: all that ask them, and do not change them."""

import inspect

import pytest

from any2vec import Vectors

gensim = pytest.importorskip("gensim.test.test_keyedvectors")

CHANGES = {"test_add_single", "test_add_multiple", "test_set_item"}  # test_derived.py has their like
TESTS = {name: test for name, test in vars(gensim.TestKeyedVectors).items() if name.startswith("test_")}
ASK = [name for name, test in TESTS.items() if "self.vectors" in inspect.getsource(test) and name not in CHANGES]


@pytest.mark.parametrize("name", ASK)
def test_of_gensim(name):
    test = gensim.TestKeyedVectors(name)
    test.setUp()
    test.vectors = Vectors.from_gensim(test.vectors)
    getattr(test, name)()


def test_which_these_are():
    assert len(ASK) >= 20
    assert {"test_vectors_for_all_list", "test_relative_cosine_similarity"} <= set(ASK)
