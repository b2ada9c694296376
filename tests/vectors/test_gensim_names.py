"""The names of gensim's KeyedVectors: beside gensim on the same matrix, and beside plain NumPy."""

import pickle
import subprocess
import sys

import naive_vectors as naive
import numpy as np
import pytest

from any2vec import Vectors, Word2Vec
from any2vec.errors import Any2VecError, UnknownWordError
from any2vec.vectors.questions import QuestionSection

NUMBER, DIM = 60, 7
NAMES = [f"w{i}" for i in range(NUMBER)]
MATRIX = np.random.default_rng(4).standard_normal((NUMBER, DIM)).astype(np.float32)
COUNTS = np.arange(NUMBER, 0, -1) * 3
OTHER = np.random.default_rng(5).standard_normal(DIM).astype(np.float32)
LONG = 30 * OTHER  # its length matters in a mean


@pytest.fixture
def vectors():
    return Vectors(NAMES, MATRIX, counts=COUNTS)


@pytest.fixture
def zeros():
    return Vectors(["a", "zero", "c"], np.array([[3, 4], [0, 0], [-3, -4]], np.float32))


def gensim_vectors(words=NAMES, matrix=MATRIX, counts=COUNTS):
    keyed = pytest.importorskip("gensim.models").KeyedVectors(matrix.shape[1])
    keyed.add_vectors(list(words), matrix)
    for word, count in zip(words, counts, strict=True):
        keyed.set_vecattr(word, "count", int(count))
    return keyed


def units(ids=slice(None)):
    return np.array([naive.unit(row) for row in MATRIX[ids]])


def cosines(vector):
    return units() @ naive.unit(vector)


def words_of(pairs):
    return [word for word, _ in pairs]


def assert_alike(found, expected):
    """Compare any results: words exactly, numbers to single precision, and types of containers."""
    if isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    elif isinstance(expected, list | tuple):
        assert isinstance(found, type(expected))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_alike(list(found.values()), list(expected.values()))
    elif isinstance(expected, float | np.floating):
        assert isinstance(found, float)
        assert found == pytest.approx(float(expected), abs=2e-5)
    else:
        assert found == expected


SAME = {
    "key_to_index": lambda v: v.key_to_index,
    "index_to_key": lambda v: v.index_to_key,
    "index_to_key, sliced": lambda v: (v.index_to_key[3], v.index_to_key[-2:], "w3" in v.index_to_key),
    "vectors": lambda v: v.vectors,
    "vector_size": lambda v: v.vector_size,
    "len": len,
    "contains": lambda v: ("w3" in v, "x" in v),
    "getitem": lambda v: v["w3"],
    "getitem, list": lambda v: v[["w3", "w1"]],
    "get_index": lambda v: (v.get_index("w3"), v.get_index("x", 7), v.get_index("w3", default=-1)),
    "get_vector": lambda v: v.get_vector("w3"),
    "get_vector, norm": lambda v: v.get_vector("w3", norm=True),
    "get_vecattr": lambda v: int(v.get_vecattr("w3", "count")),
    "has_index_for": lambda v: (v.has_index_for("w3"), v.has_index_for("x")),
    "get_normed_vectors": lambda v: v.get_normed_vectors(),
    "norms": lambda v: (v.fill_norms(), v.norms),
    "get_mean_vector": lambda v: v.get_mean_vector(["w1", "x", "w2", LONG]),
    "get_mean_vector, weights": lambda v: v.get_mean_vector(["w1", "w2", "x"], [1, -2.5, 9]),
    "get_mean_vector, raw": lambda v: v.get_mean_vector(["w1", "w2"], pre_normalize=False, post_normalize=True),
    "get_mean_vector, unknown": lambda v: v.get_mean_vector(["x", "y"]),
    "most_similar": lambda v: v.most_similar("w3"),
    "most_similar, positive": lambda v: v.most_similar(positive=["w3", "w9"], negative=["w5"], topn=4),
    "most_similar, negative": lambda v: v.most_similar(negative="w5"),
    "most_similar, two": lambda v: v.most_similar("w3", "w5"),
    "most_similar, vector": lambda v: v.most_similar(OTHER, topn=3),
    "most_similar, long vector": lambda v: v.most_similar(positive=["w3", LONG], negative=[MATRIX[4]]),
    "most_similar, matrix": lambda v: v.most_similar(MATRIX[:3]),
    "most_similar, weights": lambda v: v.most_similar([("w3", 0.3), "w4", (OTHER, -2)], [("w5", -0.5)]),
    "most_similar, restrict_vocab": lambda v: v.most_similar("w3", restrict_vocab=20),
    "most_similar, clip": lambda v: v.most_similar("w33", topn=99, clip_start=10, clip_end=40),
    "most_similar, clip_start": lambda v: v.most_similar("w3", topn=99, clip_start=50),
    "most_similar, positions": lambda v: v.most_similar(["w3"], None, 5, 10, 40, None),
    "most_similar, topn=None": lambda v: v.most_similar("w3", topn=None),
    "most_similar, topn=None, clip": lambda v: v.most_similar("w3", topn=None, clip_start=10, clip_end=30),
    "most_similar, topn=0": lambda v: v.most_similar("w3", topn=0),
    "most_similar, topn=1000": lambda v: v.most_similar("w3", topn=1000),
    "similar_by_word": lambda v: v.similar_by_word("w3", topn=5, restrict_vocab=30),
    "similar_by_key": lambda v: v.similar_by_key(key="w3"),
    "similar_by_key, all": lambda v: v.similar_by_key("w3", topn=None),
    "similar_by_vector": lambda v: v.similar_by_vector(vector=OTHER, topn=5, restrict_vocab=30),
    "most_similar_cosmul": lambda v: v.most_similar_cosmul(positive=["w3", "w9"], negative=["w5"], topn=4),
    "most_similar_cosmul, one": lambda v: v.most_similar_cosmul("w3", "w5"),
    "most_similar_cosmul, vector": lambda v: v.most_similar_cosmul([OTHER / np.linalg.norm(OTHER), "w1"]),
    "most_similar_cosmul, all": lambda v: v.most_similar_cosmul(["w3"], ["w9", "w8"], topn=None),
    "most_similar_cosmul, topn=0": lambda v: v.most_similar_cosmul(["w3"], topn=0),
    "similarity": lambda v: v.similarity(w1="w3", w2="w4"),
    "distance": lambda v: v.distance(w1="w3", w2="w4"),
    "distances": lambda v: v.distances("w3"),
    "distances, some": lambda v: v.distances(word_or_vector=OTHER, other_words=["w3", "w1", "w3"]),
    "n_similarity": lambda v: v.n_similarity(["w1", "w2"], ["w3", "x"]),
    "most_similar_to_given": lambda v: v.most_similar_to_given("w1", keys_list=["w3", "w4", "w5"]),
    "closer_than": lambda v: v.closer_than("w1", "w2"),
    "rank": lambda v: (v.rank("w1", "w2"), v.rank("w2", "w1"), v.rank("w2", "w2")),
    "rank_by_centrality": lambda v: v.rank_by_centrality(["w1", "w2", "w3", "w4"]),
    "rank_by_centrality, raw": lambda v: v.rank_by_centrality(words=["w1", "w2", "w3"], use_norm=False),
    "doesnt_match": lambda v: [v.doesnt_match(NAMES[i : i + 4]) for i in range(20)],
    "cosine_similarities": lambda v: v.cosine_similarities(OTHER, MATRIX[:5]),
}


@pytest.mark.parametrize("ask", SAME.values(), ids=SAME)
@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`:DeprecationWarning")  # gensim calls it itself
def test_as_gensim(vectors, ask):
    assert_alike(ask(vectors), ask(gensim_vectors()))


def test_look_up_without_gensim(vectors):
    assert vectors.index_to_key is vectors.words
    assert np.shares_memory(vectors, MATRIX)
    assert vectors.most_similar("w3", clip_start=60) == []
    assert vectors.get_normed_vectors().dtype == vectors.get_vector("w3", norm=True).dtype == np.float32


@pytest.mark.parametrize("restrict", [None, 25])
def test_cosmul_without_gensim(vectors, restrict):
    """Also within the most frequent words, which gensim forgets."""
    close = (1 + cosines(MATRIX[3])) * (1 + cosines(OTHER)) / 4 / ((1 + cosines(MATRIX[30])) / 2 + 1e-6)
    found = vectors.most_similar_cosmul(["w3", LONG], ["w30"], topn=None, restrict_vocab=restrict)
    np.testing.assert_allclose(found, close[:restrict], rtol=1e-4)
    expected = [NAMES[i] for i in np.argsort(-close[:restrict]) if i not in {3, 30}]
    assert words_of(vectors.most_similar_cosmul(["w3", LONG], ["w30"], 4, restrict)) == expected[:4]


def test_vectors_of_zeros_have_cosine_zero(zeros):
    assert zeros.distances("zero").tolist() == [1, 1, 1]
    assert zeros.most_similar("zero") == [("a", 0.0), ("c", 0.0)]
    assert zeros.most_similar("a") == [("zero", 0.0), ("c", pytest.approx(-1))]
    assert zeros.most_similar("zero", topn=None).tolist() == [0, 0, 0]
    assert zeros.distances("a")[1] == 1
    assert zeros.get_vector("zero", norm=True).tolist() == [0, 0]
    assert zeros.get_normed_vectors()[1].tolist() == [0, 0]
    assert zeros.cosine_similarities(zeros["zero"], zeros.matrix).tolist() == [0, 0, 0]
    assert zeros.n_similarity(["zero"], ["a"]) == 0
    assert zeros.n_similarity(["a", "c"], ["a"]) == 0
    assert zeros.most_similar(["a", "c"], topn=None).tolist() == [0, 0, 0]
    assert zeros.rank("a", "zero") == 1
    assert zeros.get_mean_vector(["a", "c"], post_normalize=True).tolist() == [0, 0]
    assert np.isfinite(zeros.most_similar_cosmul("zero", "c", topn=None)).all()
    assert zeros.doesnt_match(["a", "zero", "a"]) == "zero"


def test_words_come_in_any_collection(vectors):
    three = ["w3", "w4", "w5"]
    for kind in tuple, np.array, iter, dict.fromkeys, lambda words: np.array(words, object):
        assert vectors.most_similar(kind(three)) == vectors.most_similar(three)
        assert vectors.distances("w1", kind(three)).tolist() == vectors.distances("w1", three).tolist()
        assert vectors.doesnt_match(kind(three)) == vectors.doesnt_match(three)
        assert vectors.n_similarity(kind(three), kind(three)) == pytest.approx(1)
        assert vectors.most_similar_to_given("w1", kind(three)) == vectors.most_similar_to_given("w1", three)
    assert ["w3"] not in vectors
    assert None not in vectors


def test_large_numbers_are_no_trouble(vectors):
    huge = np.full(DIM, 3e38, np.float32)
    assert words_of(vectors.most_similar([huge, huge])) == words_of(vectors.most_similar(np.ones(DIM)))
    many = vectors.most_similar([("w1", 1e308), ("w2", 1e308), ("w1", 1e308)], topn=3)
    assert words_of(many) == words_of(vectors.most_similar([("w1", 2), "w2"], topn=3))
    assert_alike(vectors.get_mean_vector(["w1", "w2"], [1e308, 1e308]), vectors.get_mean_vector(["w1", "w2"]))
    assert vectors.cosine_similarities(huge / 4, huge[None] / 4).tolist() == pytest.approx([1])
    with pytest.raises(Any2VecError, match="or too large"):
        vectors.cosine_similarities(huge, huge[None])


UNKNOWN = {
    "getitem": lambda v, w: v[w],
    "getitem, list": lambda v, w: v[["w1", w]],
    "get_index": lambda v, w: v.get_index(w),
    "get_vector": lambda v, w: v.get_vector(w, norm=True),
    "get_vecattr": lambda v, w: v.get_vecattr(w, "count"),
    "get_mean_vector": lambda v, w: v.get_mean_vector(["w1", w], ignore_missing=False),
    "most_similar": lambda v, w: v.most_similar(w),
    "most_similar, negative": lambda v, w: v.most_similar(["w1"], [w]),
    "most_similar, weight": lambda v, w: v.most_similar([(w, 2.0)]),
    "most_similar_batch": lambda v, w: v.most_similar_batch([w]),
    "analogy": lambda v, w: v.analogy("w1", "w2", w),
    "similar_by_word": lambda v, w: v.similar_by_word(w),
    "most_similar_cosmul": lambda v, w: v.most_similar_cosmul("w1", w),
    "similarity": lambda v, w: v.similarity("w1", w),
    "distance": lambda v, w: v.distance(w, "w1"),
    "distances": lambda v, w: v.distances("w1", [w]),
    "n_similarity": lambda v, w: v.n_similarity(["w1"], [w, w]),
    "most_similar_to_given": lambda v, w: v.most_similar_to_given("w1", ["w2", w]),
    "closer_than": lambda v, w: v.closer_than("w1", w),
    "rank": lambda v, w: v.rank(w, "w1"),
    "doesnt_match": lambda v, w: v.doesnt_match([w, w]),
}


@pytest.mark.parametrize("ask", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_words_are_key_errors(vectors, ask):
    for kind in KeyError, Any2VecError:
        with pytest.raises(kind) as caught:
            ask(vectors, "x")
        assert "'x'" in str(caught.value)
        assert str(caught.value)[0] == "n"  # the message, not the repr that KeyErrors show


@pytest.mark.parametrize("ask", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("number", [0, np.int8(7), np.int64(0), -1, 10**30])
def test_an_integer_is_no_word_where_tokens_were_texts(vectors, ask, number):
    with pytest.raises(Any2VecError, match=rf"^{number} is an integer, and stands for a word only where all"):
        ask(vectors, number)


@pytest.mark.parametrize("words", [["7", "12", "cat"], ["0", "1", "007"], ["0", "1", "2.0"], ["0", "1", "+2"]])
def test_some_words_that_are_integers_make_no_words_of_integers(words):
    vectors = Vectors(words, np.eye(3, dtype=np.float32))
    for number in (0, 1, 7, np.uint16(1)):
        assert number not in vectors
        assert not vectors.has_index_for(number)
        assert vectors.get_index(number, -1) == -1
        with pytest.raises(KeyError):
            vectors.key_to_index[number]
    with pytest.raises(Any2VecError, match=r"the word of its digits is '1', row 1 is `vectors.matrix\[1\]`$"):
        vectors[1]


@pytest.mark.parametrize("kind", [int, np.int8, np.int64])
def test_words_that_are_all_integers(kind):
    vectors = Vectors([12, "7", -5], np.eye(3, dtype=np.float32))
    assert vectors.words == ["12", "7", "-5"]
    seven, twelve = kind(7), kind(12)
    assert vectors.id(seven) == vectors.get_index(seven) == 1
    assert (seven in vectors, kind(0) in vectors, vectors.has_index_for(kind(0))) == (True, False, False)
    assert vectors.get_index(kind(0), -1) == -1
    assert vectors[twelve].tolist() == vectors.get_vector(twelve).tolist() == [1, 0, 0]
    assert vectors.similarity(seven, -5) == 0
    assert vectors.distances(seven, [twelve, "7"]).tolist() == [1, 0]
    assert vectors.most_similar(seven) == vectors.most_similar([seven]) == vectors.most_similar("7")
    assert vectors.most_similar_batch([seven, 12]) == vectors.most_similar_batch(["7", "12"])
    assert vectors.most_similar_to_given(seven, [twelve, seven]) == 7
    assert vectors.doesnt_match([seven, 7, 12]) == "12"
    with pytest.raises(KeyError, match=r"no vector for '3'; an integer stands for the word of its digits$"):
        vectors.get_vector(kind(3))
    with pytest.raises(KeyError, match=r"no vector for '2'; an integer .* its digits, row 2 is `vectors.matrix\[2\]`"):
        vectors.get_vector(kind(2))
    for wrong, message in ((True, "a word is expected, not True"), (np.array(7), "a word is expected, not array")):
        with pytest.raises(Any2VecError, match=message):
            vectors[wrong]


def test_an_unknown_word_costs_nothing_until_its_error_is_shown(vectors, monkeypatch):
    asked = []
    monkeypatch.setattr(Vectors, "_hint", lambda self, word: asked.append(word) or "; a hint")
    with pytest.raises(UnknownWordError) as caught:
        vectors["x"]
    assert asked == []
    assert str(caught.value) == "no vector for 'x'; a hint"
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, UnknownWordError)
    assert str(copy) == str(caught.value)


def test_words_left_out_are_a_warning(vectors):
    with pytest.warns(UserWarning, match=r"words without a vector are left out: \['x'\]"):
        assert vectors.doesnt_match(["w1", "x"]) == "w1"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda v: v.get_vecattr("w1", "sample_int"), "no attribute 'sample_int'; the only one is 'count'"),
        (lambda v: Vectors(NAMES, MATRIX).get_vecattr("w1", "count"), "these vectors have no counts"),
        (lambda v: v.get_mean_vector([]), "`keys` is empty"),
        (lambda v: v.get_mean_vector(["w1"], [1, 2]), r"`weights` is \[1, 2\]; 1 finite numbers are expected"),
        (lambda v: v.get_mean_vector(["w1"], ["much"]), "`weights` is"),
        (lambda v: v.get_mean_vector([OTHER[:3]]), "does not have 7 dimensions"),
        (lambda v: v.similar_by_word(OTHER), "a word is expected, not array"),
        (lambda v: v.similar_by_vector(OTHER, restrict_vocab=0), "`restrict_vocab` is 0; it must be a whole"),
        (lambda v: v.most_similar_cosmul(), "`positive` is empty"),
        (lambda v: v.most_similar_cosmul("w1", topn=2.5), "`topn` is 2.5"),
        (lambda v: v.most_similar_cosmul(["w1", OTHER[:2]]), "does not have 7 dimensions"),
        (lambda v: v.distances(OTHER[:3]), "does not have 7 dimensions"),
        (lambda v: v.distances(np.full(DIM, np.nan)), "the query vector is not finite"),
        (lambda v: v.distances("w1", 5.5), "is expected, not 5.5"),
        (lambda v: v.n_similarity([], ["w1"]), "`ws1` is empty"),
        (lambda v: v.most_similar_to_given("w1", []), "`keys_list` is empty"),
        (lambda v: v.closer_than(OTHER, "w1"), "a word is expected, not array"),
        (lambda v: v.doesnt_match([]), "`words` is empty"),
        (lambda v: v.doesnt_match(None), "is expected, not None"),
        (lambda v: v.doesnt_match(["w1", OTHER]), "a word is expected, not array"),
        (lambda v: v.cosine_similarities(OTHER * np.nan, MATRIX), "numbers that are not finite"),
        (lambda v: v.most_similar(OTHER * np.float64(1e300)), "the query vector is not finite"),
        (lambda v: v.cosine_similarities(OTHER[:3], MATRIX), "a vector and a matrix with as many columns"),
        (lambda v: v.cosine_similarities("w1", MATRIX), "a vector and a matrix"),
    ],
)
def test_arguments_that_make_no_sense(vectors, ask, message):
    with pytest.raises(Any2VecError, match=message) as caught:
        ask(vectors)
    assert "\n" not in str(caught.value)


def spelt(number=90, dim=3, seed=0):
    """Make words of which some differ only in case, questions about them, and pairs with scores."""
    random = np.random.default_rng(seed)
    words = list(dict.fromkeys((f"w{i // 2}", f"W{i // 2}", f"w{i}x")[i % 3] for i in range(number)))
    matrix = random.standard_normal((len(words), dim)).astype(np.float32)
    for i in range(1, len(words)):  # spellings of a word lie close
        if words[i].lower() in words[:i]:
            matrix[i] = matrix[words.index(words[i].lower())] + 0.01 * matrix[i]
    lower = [*sorted({word.lower() for word in words}), "unknown"]
    rows = [[lower[i] for i in row] for row in random.integers(0, len(lower), (500, 4))]
    for i, row in enumerate(rows[:400]):  # most are answered rightly, of all words or of the first 30
        some = words[: 30 if i % 2 else None]
        if not set(row[:3]) - set(some):
            near = naive.most_similar(some, matrix[: len(some)], [row[1], row[2]], [row[0]], len(some))
            row[3] = next(word.lower() for word, _ in near if word.lower() not in row[:3])
    rows = [tuple(row) for row in rows]
    sections = [QuestionSection("first", tuple(rows[:200])), QuestionSection("gram2", tuple(rows[200:]))]
    pairs = [(a, b, float(score)) for (a, b, *_), score in zip(rows, random.normal(size=500), strict=True)]
    return words, matrix, sections, pairs


def write_questions(path, sections):
    lines = [": " + s.name + "\n" + "".join(" ".join(q) + "\n" for q in s.questions) for s in sections]
    path.write_text("".join(lines))
    return path


OPTIONS = [
    {},
    {"restrict_vocab": 30},
    {"restrict_vocab": None, "case_insensitive": False},
    {"dummy4unknown": True},
    {"restrict_vocab": 40, "case_insensitive": False, "dummy4unknown": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_analogies_as_gensim(options, tmp_path):
    words, matrix, sections, _ = spelt()
    path = write_questions(tmp_path / "q.txt", sections)
    vectors = Vectors(words, matrix)
    found = vectors.evaluate_word_analogies(path, **options)
    assert found[0] > 0
    assert_alike(vectors.evaluate_word_analogies(sections, **options), found)
    assert_alike(found, gensim_vectors(words, matrix, [1] * len(words)).evaluate_word_analogies(str(path), **options))


def test_an_answer_of_a_negative_cosine_counts():
    negative = Vectors(list("abcd"), np.array([[1, 0], [0, 1], [-1, 0], [1, -3]], np.float32))
    assert negative.evaluate_word_analogies([QuestionSection("s", (tuple("abcd"),))])[0] == 1


def flat(result):
    pearson, spearman, unknown = result
    return (*pearson, *spearman, unknown)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_pairs_as_gensim(options, tmp_path):
    pytest.importorskip("scipy")
    words, matrix, _, pairs = spelt()
    path = tmp_path / "pairs.txt"
    path.write_text("# comment\n" + "".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs))
    vectors = Vectors(words, matrix)
    found = vectors.evaluate_word_pairs(path, **options)
    assert_alike(flat(vectors.evaluate_word_pairs(pairs, **options)), flat(found))
    keyed = gensim_vectors(words, matrix, [1] * len(words))
    assert_alike(flat(found), flat(keyed.evaluate_word_pairs(str(path), **options)))
    assert found[0].pvalue == found[0][1]


def test_pairs_of_a_file_of_another_delimiter_and_encoding(tmp_path):
    pytest.importorskip("scipy")
    words, matrix, _, pairs = spelt()
    vectors, path = Vectors(words, matrix), tmp_path / "pairs.txt"
    path.write_text("".join(f"{a}|{b}|{score}|é\n" for a, b, score in pairs), "latin-1")
    read = vectors.evaluate_word_pairs(path, "|", "latin-1", case_insensitive=False)
    assert_alike(flat(read), flat(vectors.evaluate_word_pairs(pairs, case_insensitive=False)))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda v, _: v.evaluate_word_analogies("none.txt"), "none.txt: cannot be read"),
        (lambda v, _: v.evaluate_word_analogies(5), "a file or a list of QuestionSection is expected, not 5"),
        (lambda v, path: v.evaluate_word_analogies(path), "line 1: a question has 4 words, this line has 3"),
        (lambda v, path: v.evaluate_word_analogies([], 0), "`restrict_vocab` is 0; it must"),
        (lambda v, _: v.evaluate_word_pairs([("w1", "w2", "much")]), "two words and a number"),
        (lambda v, _: v.evaluate_word_pairs([]), "no correlation: there are 0 pairs of known words"),
        (lambda v, _: v.evaluate_word_pairs([("w1", "w2", 1.0), ("x", "y", 2.0)]), "there are 1 pair of known words"),
        (lambda v, _: v.evaluate_word_pairs([("w1", "w2", 1.0), ("w3", "w2", 1.0)]), "all scores or all cosines are"),
        (lambda v, path: v.evaluate_word_pairs(path, encoding="none"), "`encoding` is 'none'; a name such as"),
        (lambda v, path: v.evaluate_word_pairs(path, encoding="zlib"), "`encoding` is 'zlib'; a name"),
        (lambda v, path: v.evaluate_word_pairs(path, encoding="ascii"), "line 2: not ASCII text"),
        (lambda v, path: v.evaluate_word_pairs(path, delimiter=""), "`delimiter` is ''; a string such as"),
        (lambda v, path: v.evaluate_word_pairs(path, delimiter=";"), "line 2: not two words and a finite number"),
    ],
)
def test_evaluations_that_make_no_sense(vectors, ask, message, tmp_path):
    pytest.importorskip("scipy")
    path = tmp_path / "pairs.txt"
    path.write_text("w1 w2 1.5\nw2 \u00e9 3", "utf-8")
    with pytest.raises(Any2VecError, match=message):
        ask(vectors, path)


def test_vectors_do_not_import_what_evaluates_them():
    """Nor the training code."""
    code = """
import sys
import numpy as np
from any2vec import Vectors
from any2vec.vectors import files
vectors = Vectors(["a", "b"], np.eye(2))
try:
    vectors.evaluate_word_analogies("none")
except Exception as error:
    assert "cannot be read" in str(error), error
others = "any2vec.evaluate", "any2vec.training", "any2vec.operators", "gensim"
assert not [name for name in sys.modules if name.startswith(others)]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wv_are_the_vectors_of_an_estimator():
    model = Word2Vec(dim=16, window=3, negative=3, min_count=1, epochs=1, threads=1)
    assert not hasattr(model, "wv")
    for name in ("wv", "vectors_", "loss_", "report_"):
        with pytest.raises(AttributeError, match="this Word2Vec is not trained yet: call fit first"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="this Word2Vec has no attribute 'vector_'"):
        model.vector_  # noqa: B018
    model.fit([["a", "b", "c"] * 5])
    assert model.wv is model.vectors_
