import naive_vectors as naive
import numpy as np
import pytest

from any2vec import Word2Vec
from any2vec.errors import Any2VecError
from any2vec.evaluate.analogies import AnalogyChecker, evaluate_analogies
from any2vec.vectors import Vectors, search
from any2vec.vectors.questions import QuestionSection, read_questions

WORDS = QuestionSection("family", (("man", "king", "woman", "queen"), ("king", "man", "queen", "woman")))


@pytest.fixture
def royal():
    rows = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], np.float32)
    return Vectors(["man", "king", "woman", "queen", "other"], rows)


def random_case(seed=0, number=120):
    """Make words in several spellings, and questions some of which are answered."""
    random = np.random.default_rng(seed)
    words = [f"w{i}" if i % 5 else f"W{i - 3}" for i in range(number)]
    matrix = random.standard_normal((number, 4)).astype(np.float32)
    matrix[17] = 0
    asked = random.integers(0, number + 20, (400, 4))
    rows = [tuple(f"w{i}" for i in question) for question in asked]
    sections = [
        QuestionSection("capital", tuple(rows[:150])),
        QuestionSection("gram1", tuple(rows[150:])),
        QuestionSection("gram2-nothing", ()),
    ]
    return Vectors(list(words), matrix), sections


@pytest.mark.parametrize("restrict", [None, 30, 100, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_one_question_at_a_time(seed, restrict, monkeypatch):
    vectors, sections = random_case(seed)
    expected = naive.analogies(list(vectors.words), vectors.matrix, sections, restrict)
    monkeypatch.setattr(search, "_BLOCK_ROWS", 37)
    monkeypatch.setattr(search, "_BLOCK_QUERIES", 11)
    monkeypatch.setattr(search, "_BLOCK_QUESTIONS", 40)
    result = evaluate_analogies(vectors, sections, restrict)
    assert [(s.right, s.asked, s.skipped) for s in result.sections] == expected
    assert restrict == 30 or result.total.right > 0


def test_the_file_as_published():
    path = pytest.importorskip("gensim.test.utils").datapath("questions-words.txt")
    words = sorted({word.lower() for s in read_questions(path) for q in s.questions for word in q})[:300]
    result = evaluate_analogies(Vectors(words, np.random.default_rng(0).standard_normal((300, 3))), path)
    assert 0 < result.total.asked < result.total.asked + result.total.skipped == 19_544
    assert result.semantic.asked + result.semantic.skipped == 8_869


def test_figures(royal):
    sections = [
        WORDS,
        QuestionSection("gram1", (("man", "king", "woman", "other"), ("man", "x", "king", "queen"))),
        QuestionSection("gram2", (("x", "x", "x", "x"),)),
    ]
    result = evaluate_analogies(royal, sections)
    family, gram1, gram2 = result.sections
    assert (family.right, family.asked, family.skipped, family.accuracy) == (2, 2, 0, 100.0)
    assert (gram1.right, gram1.asked, gram1.skipped, gram1.accuracy) == (0, 1, 1, 0.0)
    assert np.isnan(gram2.accuracy)
    assert (result.semantic.right, result.semantic.asked) == (2, 2)
    assert (result.syntactic.right, result.syntactic.asked, result.syntactic.skipped) == (0, 1, 2)
    assert result.total.accuracy == pytest.approx(200 / 3)
    assert result.macro == 50.0  # gram2 was not asked
    assert result.coverage == 60.0
    figures = result.as_dict()
    assert figures["sections"][2] == {"name": "gram2", "accuracy": None, "right": 0, "asked": 0, "skipped": 1}
    assert figures["total"]["asked"] == 3
    nothing = evaluate_analogies(royal, sections[2:])
    assert np.isnan(nothing.macro)
    assert (nothing.as_dict()["macro"], nothing.coverage) == (None, 0)


def test_case_is_folded_and_the_most_frequent_spelling_wins(royal):
    upper = [QuestionSection("family", (("Man", "KING", "woman", "Queen"),))]
    assert evaluate_analogies(royal, upper).total.right == 1
    matrix = np.vstack([royal.matrix, [[-1, -1, -1]]]).astype(np.float32)
    twice = Vectors([*royal.words, "KING"], matrix)
    assert evaluate_analogies(twice, upper).total.right == 1


def test_questions_beyond_the_restriction_are_skipped(royal):
    assert evaluate_analogies(royal, [WORDS], restrict=3).total.skipped == 2
    assert evaluate_analogies(royal, [WORDS], restrict=4).total.right == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restrict": -1}, "`restrict` is -1; it must be a whole number from 1 up"),
        ({"restrict": 2.5}, "`restrict` is 2.5; it must"),
        ({"vectors": Word2Vec()}, "Vectors are expected, not Word2Vec; an estimator has them as vectors_"),
        ({"vectors": Vectors(["a", "other"], [[1, 2], [1, np.nan]])}, "'other' holds nan"),
        ({"every": 0}, "`every` is 0; it must"),
        ({"questions": "none.txt"}, "cannot be read: No such file"),
        ({"questions": 5}, "a file or a list of QuestionSection is expected, not 5"),
        ({"questions": [("man", "king", "woman", "queen")]}, "QuestionSection is expected, not"),
    ],
)
def test_wrong_arguments(royal, options, message):
    if "every" not in options:
        with pytest.raises(Any2VecError, match=message):
            evaluate_analogies(**{"vectors": royal, "questions": [WORDS], **options})
    if "vectors" not in options:
        with pytest.raises(Any2VecError, match=message):  # before training
            AnalogyChecker(**{"questions": [WORDS], **options})


def test_reading_questions(tmp_path):
    path = tmp_path / "q.txt"
    path.write_bytes(b"\xef\xbb\xbf: capital cities\r\nAthens Greece  Oslo Norway\r\n\r\n:gram1\na b c d")
    first, second = read_questions(path)
    assert first == QuestionSection("capital cities", (("Athens", "Greece", "Oslo", "Norway"),))
    assert second.name == "gram1"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b": a\na b c d\na b c\n", "line 3: a question has 4 words, this line has 3: 'a b c'"),
        (b"a b c d\n", "line 1: a question before the first section"),
        (b": a\na b c d\n:\n", "line 3: the section has no name"),
        (b": a\n\xff b c d\n", "line 2: not UTF-8"),
        (b": a\n", "has no questions"),
        (b"", "has no questions"),
    ],
)
def test_damaged_questions(tmp_path, content, expected):
    path = tmp_path / "q.txt"
    path.write_bytes(content)
    with pytest.raises(Any2VecError) as caught:
        read_questions(path)
    assert str(caught.value).startswith(str(path))
    assert expected in str(caught.value)


def test_checker(royal, tmp_path):
    path = tmp_path / "q.txt"
    path.write_text(": family\nman king woman queen\n")
    checker = AnalogyChecker(path, every=2)
    assert checker(1, royal) == {}
    figures = checker(2, royal)
    assert figures.pop("syntactic") != figures.get("syntactic")  # NaN
    assert figures == {"analogies": 100.0, "semantic": 100.0, "macro": 100.0}
    assert [epoch for epoch, _ in checker.history] == [2]
    assert AnalogyChecker([WORDS], restrict=3)(1, royal)["analogies"] != 100
