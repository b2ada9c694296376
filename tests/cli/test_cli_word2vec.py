"""`any2vec word2vec`: flags, defaults and files are those of word2vec 0.1c."""

import gzip
import os
import re
import subprocess
import sys
from dataclasses import fields

import gensim
import numpy as np
import pytest
from typer.testing import CliRunner

from any2vec import Word2Vec, load
from any2vec.cli import app, main
from any2vec.cli.word2vec import FLAGS, NAMES, options_of, parse, usage
from any2vec.cluster.local import simulate
from any2vec.corpus import load_vocabulary, read_corpus
from any2vec.training.progress import COMPILING

SIZES = ["-size", "16", "-window", "3", "-negative", "3", "-cbow", "0"]
SMALL = [*SIZES, "-threads", "1"]
LINES = ["the cat sat on the mat", "the dog sat on the log", "", "a cat and a dog"] * 50
HOW = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "epochs": 5, "cache": None}  # the same in Python


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, small=SMALL, **more):
        result = CliRunner().invoke(app, ["word2vec", *map(str, [*arguments, *small])], **more)
        assert result.exit_code == 0, (result.output, result.exception)
        return result

    return invoke


def options(line):
    return options_of(parse(["-train", "t", "-output", "o", *line.split()]))


def test_defaults():
    """Those of word2vec 0.1c that are no options of `Word2Vec`; threads are all cores, not 12."""
    found = parse(["-train", "t", "-output", "o"])
    expected = {"classes": 0, "debug": 2, "binary": 0, "save-vocab": None, "force": 0, "cbow": 1, "hs": 0}
    assert found == found | expected | {"train": "t", "output": "o"}


def test_usage_names_every_flag_and_default():
    for name, flag in FLAGS.items():
        (line,) = re.findall(rf"^  -{name} <(?:int|float|file)> +(.*)$", usage(), re.M)
        assert line.endswith(f" ({flag.default})") == (flag.default is not None)
    assert len(usage().splitlines()) <= 40
    assert max(map(len, usage().splitlines())) <= 80
    assert "all cores" in usage()
    for example in re.findall(r"any2vec word2vec (-[a-z].*)$", usage(), re.M):
        parse(example.split())


def test_flags_are_options():
    same = {"dim": 100, "window": 5, "sample": 1e-3, "threads": None, "epochs": 5, "min_count": 5, "vocabulary": None}
    cbow = {"model": "cbow", "context": "mean"}
    assert options("") == same | cbow | {"loss": "negative", "negative": 5, "alpha": 0.05}
    assert options("-cbow 0") == same | {"model": "skipgram", "loss": "negative", "negative": 5, "alpha": 0.025}
    assert options("-hs 1") == same | cbow | {"loss": "hierarchical", "alpha": 0.05}
    assert options("-cbow 0 -negative 0 -hs 1") == same | {"model": "skipgram", "loss": "hierarchical", "alpha": 0.025}
    line = "-alpha .1 -cbow 0 -size 7 -window 8 -sample 0 -threads 3 -iter 2 -min-count 0 -negative 9 -read-vocab v"
    given = {"dim": 7, "window": 8, "sample": 0, "threads": 3, "epochs": 2, "min_count": 1, "vocabulary": "v"}
    assert options(line) == given | {"model": "skipgram", "loss": "negative", "negative": 9, "alpha": 0.1}


def test_flags_of_messages_are_those_of_the_options():
    assert set(NAMES.values()) <= set(FLAGS)
    assert set(options("")) - {"model", "loss", "context"} <= set(NAMES)
    assert set(NAMES) <= {declared.name for declared in fields(Word2Vec)} | {"classes"}


def test_text_format(run, text, tmp_path):
    run("-train", text, "-output", "v.bin")  # the ending says nothing
    header, first, *rows, end = (tmp_path / "v.bin").read_bytes().split(b"\n")
    assert (header, first[:5], end) == (b"10 16", b"</s> ", b"")
    expected = Word2Vec(**HOW).fit(text).vectors_
    for row, word, vector in zip(rows, expected.words, expected.matrix, strict=True):
        assert row.decode() == f"{word} " + "".join(f"{value:.6f} " for value in vector)
    (tmp_path / "v.bin").rename(tmp_path / "v.txt")
    found = load(tmp_path / "v.txt")
    assert list(found.words) == ["</s>", *expected.words]
    assert np.abs(found.matrix[1:] - expected.matrix).max() <= 6e-7
    assert 0 < np.abs(found.matrix[0]).max() <= 0.5 / 16


@pytest.mark.parametrize("binary", [0, 1])
def test_gensim_loads_it(run, text, tmp_path, binary):
    run("-train", text, "-output", "v", "-save-vocab", "vocab", "-binary", binary)
    how = {"binary": bool(binary), "fvocab": str(tmp_path / "vocab")}
    found = gensim.models.KeyedVectors.load_word2vec_format(tmp_path / "v", **how)
    expected = Word2Vec(**HOW).fit(text).vectors_
    assert found.index_to_key == ["</s>", *expected.words]
    assert np.abs(found.vectors[1:] - expected.matrix).max() <= (0 if binary else 6e-7)
    assert found.get_vecattr("the", "count") == 200
    if binary:
        whole = (tmp_path / "v").read_bytes()
        assert whole.startswith(b"10 16\n</s> ")
        assert len(whole) == len("10 16\n") + sum(len(word) + 2 + 4 * 16 for word in ["</s>", *expected.words])


def test_an_ending_that_compresses(run, text, tmp_path):
    run("-train", text, "-output", "v.txt.gz")
    assert gzip.decompress((tmp_path / "v.txt.gz").read_bytes()).startswith(b"10 16\n</s> 0.")


def test_vocabularies(run, text, tmp_path):
    shown = run("-train", text, "-save-vocab", "v.txt", small=["-cbow", 0]).stderr
    assert shown.splitlines()[-1] == "the vocabulary of 9 words is in v.txt"
    lines = (tmp_path / "v.txt").read_text().splitlines()
    assert lines[:3] == ["</s> 200", "the 200", "a 100"]  # word2vec counts lines without words, too
    assert load_vocabulary(tmp_path / "v.txt") == read_corpus(text, cache=None).vocabulary
    run("-train", text, "-output", "one", "-save-vocab", "w.txt")
    run("-train", text, "-output", "two", "-read-vocab", "w.txt", "-save-vocab", "again.txt")
    assert (tmp_path / "w.txt").read_text() == (tmp_path / "again.txt").read_text() == "\n".join([*lines, ""])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    (tmp_path / "w.txt").write_text("</s> 3\nbird 70\nthe 60\ncat 50\nowl 4\n")
    run("-train", text, "-output", "three", "-read-vocab", "w.txt")
    assert re.findall("^[a-z]+", (tmp_path / "three").read_text(), re.M) == ["bird", "the", "cat"]
    run("-train", text, "-output", "three", "-read-vocab", "w.txt", "-min-count", 0)
    assert re.findall("^[a-z]+", (tmp_path / "three").read_text(), re.M) == ["bird", "the", "cat", "owl"]


def test_a_word_line_end_ends_a_sentence_as_in_word2vec(run, text, tmp_path):
    """In word2vec.c, </s> read as a word has id 0, which ends the sentence; it is counted with the line ends."""
    text.write_text("the cat </s> dog owl\n" * 9 + "the dog </s>\n" * 9 + "</s>\n\nthe </s> </s> cat")
    run("-train", text, "-output", "v", "-save-vocab", "vocab")
    assert (tmp_path / "vocab").read_text() == "</s> 41\nthe 19\ndog 18\ncat 10\nowl 9\n"
    assert re.findall(r"^\S+ ", (tmp_path / "v").read_text(), re.M) == ["5 ", "</s> ", "the ", "dog ", "cat ", "owl "]
    (tmp_path / "cut.txt").write_text("the cat\ndog owl\n" * 9 + "the dog\n" * 9 + "the\ncat")
    run("-train", "cut.txt", "-output", "cut")
    assert (tmp_path / "v").read_bytes() == (tmp_path / "cut").read_bytes()
    run("-train", text, "-output", "read", "-read-vocab", "vocab")
    assert (tmp_path / "v").read_bytes() == (tmp_path / "read").read_bytes()
    run("-train", text, "-save-vocab", "alone", small=["-cbow", 0])
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "vocab").read_bytes()


@pytest.mark.parametrize("block", [3, 10, 1 << 22])
@pytest.mark.parametrize("threads", [1, 3])
def test_line_ends_in_the_worklist(tmp_path, block, threads):
    text = "</s> a b </s></s> </s>a a </s>\n\n</s> </s> b a c\n</s> b" * 5
    (tmp_path / "t").write_text(text)
    how = {"cache": None, "threads": threads, "block": block}
    corpus = read_corpus(tmp_path / "t", min_count=1, line_end_word=True, **how)
    words = " ".join(text.replace("\n", " </s> ").split(" ")).split()
    sentences = [one.split() for one in " ".join("\n" if w == "</s>" else w for w in words).split("\n")]
    expected = read_corpus(list(filter(None, sentences)), min_count=1, cache=None)
    assert corpus.vocabulary == expected.vocabulary
    assert corpus.worklist.ids.tolist() == expected.worklist.ids.tolist()
    assert corpus.worklist.bounds.tolist() == expected.worklist.bounds.tolist()
    assert corpus.line_ends == words.count("</s>")
    assert corpus.raw_words == len(words) - corpus.line_ends
    parts = simulate(
        2, 2, lambda one: read_corpus(tmp_path / "t", min_count=1, line_end_word=True, communicator=one, **how)
    )
    assert [part.line_ends for part in parts] == [corpus.line_ends] * 2
    assert [i for part in parts for i in part.worklist.ids.tolist()] == corpus.worklist.ids.tolist()
    assert "</s>" in read_corpus(tmp_path / "t", min_count=1, **how).vocabulary.ids


def test_classes(run, text, tmp_path):
    shown = run("-train", text, "-output", "c.txt", "-classes", 3, "-binary", 1).stderr
    assert shown.splitlines()[-1] == "the classes of 9 words are in c.txt"
    rows = [line.split(" ") for line in (tmp_path / "c.txt").read_text().splitlines()]
    assert [word for word, _ in rows] == ["</s>", *read_corpus(text, cache=None).vocabulary.words]
    assert {number for _, number in rows} == {"0", "1", "2"}
    first = (tmp_path / "c.txt").read_text()
    run("-train", text, "-output", "c.txt", "-classes", 3)
    assert (tmp_path / "c.txt").read_text() == first


def test_no_more_threads_than_cores(run, text, tmp_path, monkeypatch):
    """Scripts for word2vec have -threads 12 and 20: with fewer cores, many threads would overshoot on a small text."""
    made = []
    monkeypatch.setattr(sys.modules["any2vec.cli.word2vec"], "usable_cores", lambda: 1)
    monkeypatch.setattr(Word2Vec, "check", lambda self: made.append(self.threads))
    shown = run("-train", text, "-output", "v", "-threads", 20, small=SIZES).stderr
    assert shown.startswith("-threads 20: as many as there are cores, 1\n")
    assert set(made) == {1}


@pytest.mark.parametrize(
    ("debug", "progress", "summary"), [(0, False, False), (1, False, True), (2, True, True), (7, True, True)]
)
def test_debug(run, text, monkeypatch, debug, progress, summary):
    monkeypatch.setattr("any2vec.training.progress._SECONDS_BETWEEN_LINES", 0)
    result = run("-train", text, "-output", "v", "-debug", debug)
    assert result.stdout == ""
    assert ("read 0 of 0 MB" in result.stderr) == progress
    assert ("the vectors of 9 words are in v" in result.stderr) == summary
    assert bool(result.stderr) == summary


@pytest.mark.parametrize("arguments", [[], ["-help"], ["--help"], ["-train", "x", "-h"]])
def test_usage(arguments):
    result = CliRunner().invoke(app, ["word2vec", *arguments])
    assert (result.exit_code, result.stdout) == (0, usage() + "\n")


MISTAKES = {
    "unknown": ("-train t -output v -foo 3", "unknown flag -foo; known are -train, -output, -size, "),
    "misspelt": ("-train t -output v -min_count 3", "unknown flag -min_count; did you mean -min-count?"),
    "no flag": ("t v", "'t' is no flag: flags begin with a dash, and each takes one value"),
    "no value": ("-train t -output", "-output has no value: <file> must follow it"),
    "a flag as value": ("-train -output v", "-train has no value: <file> must follow it"),
    "twice": ("-train t -train t", "-train is given twice"),
    "no number": ("-train t -output v -size many", "-size is 'many'; it must be a whole number"),
    "underscores": ("-train t -output v -size 1_0", "-size is '1_0'; it must be a whole number"),
    "nan": ("-train t -output v -alpha nan", "-alpha is 'nan'; it must be a number"),
    "size": ("-train t -output v -size 0", "-size is 0; it must be a whole number from 1 to 65,536"),
    "sample": ("-train t -output v -sample 2", "-sample is 2.0; it must be a number from 0 to below 1 (1e-3 is usual)"),
    "negative": ("-train t -output v -negative -5", "-negative is -5; it must be at least 0"),
    "hs": ("-train t -output v -hs 2", "-hs is 2; it must be 0 or 1"),
    "classes": ("-train t -output v -classes -1", "-classes is -1; it must be at least 0"),
    "neither loss": ("-train t -output v -negative 0", "-hs 0 and -negative 0: nothing to learn by"),
    "both losses": ("-train t -output v -hs 1 -negative 5", "-hs 1 and -negative 5: choose one"),
    "no text": ("-output v", "-train is missing"),
    "nothing to write": ("-train t", "-output is missing"),
    "empty name": ("-output v -train ''", "-train: '' is not the name of a file"),
    "missing text": ("-train no.txt -output v -cbow 0", "no.txt: no such file"),
    "missing text, vocabulary alone": ("-train no.txt -save-vocab v -cbow 0", "no.txt: no such file"),
    "over the text": ("-train t -output t -cbow 0", "t: is, or lies in, what is read, t"),
    "over the vocabulary": ("-train t -output v -read-vocab v -cbow 0", "v: is, or lies in, what is read, v"),
    "vocabulary over itself": ("-train t -save-vocab v -read-vocab v -cbow 0", "v: is, or lies in, what is read, v"),
    "one file twice": ("-train t -output v -save-vocab v -cbow 0", "v: cannot be both the vectors and the vocabulary"),
    "standard output": ("-train t -output - -cbow 0", "-output -: name a file; /dev/stdout is one"),
    "no folder": ("-train t -output no/v -cbow 0", "no/v: the folder "),
    "no folder for the vocabulary": ("-train t -output v -save-vocab no/v -cbow 0", "no/v: the folder "),
    "min-count": ("-train t -output v -min-count 999 -cbow 0", "-min-count 999 leaves no word: "),
    "too many classes": ("-train t -output v -classes 99 -cbow 0", "-classes is 99, but there are 10 words"),
    "no vocabulary": ("-train t -output v -read-vocab no.txt -cbow 0", "no.txt: cannot be read: No such file"),
    "text as vocabulary": ("-train t -output v -read-vocab u -cbow 0", "u, line 1: 'the cat sat on the mat' is not a"),
    "vocabulary of another text": ("-train t -output v -read-vocab w -cbow 0", "t: none of its 850 words is in the"),
    "vocabulary and min-count": (
        "-train t -output v -read-vocab w -min-count 70 -cbow 0",
        "-min-count 70 leaves 1 of two words or more: the vocabulary has 2 words, the largest count is 80",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line(text, tmp_path, monkeypatch, capsys, name):
    line, message = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_bytes(text.read_bytes())
    (tmp_path / "u").write_bytes(text.read_bytes())
    (tmp_path / "w").write_text("bird 80\nowl 60\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = [argument.strip("'") for argument in line.split()]
    monkeypatch.setattr(sys, "argv", ["any2vec", "word2vec", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    shown = capsys.readouterr()
    assert (exit_.value.code, shown.out) == (1, "")
    *said, error = shown.err.splitlines()
    assert error.startswith(f"any2vec: {message}")
    assert not [line for line in said if line != COMPILING and " in the vocabulary (" not in line]
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_classes_without_scikit_learn(text, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    arguments = ["-train", str(text), "-output", str(tmp_path / "c"), "-classes", "3", *SMALL]
    result = CliRunner().invoke(app, ["word2vec", *arguments])
    assert result.exit_code == 1
    assert "scikit-learn, which is not installed: pip install 'scikit-learn>=" in str(result.exception)


def test_in_a_process(text, tmp_path):
    line = "-train text.txt -output vec.txt -debug 0 -save-vocab vocab.txt"
    command = [sys.executable, "-W", "error", "-m", "any2vec", "word2vec", *line.split(), *SMALL]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "vec.txt", "vocab.txt"]
    assert len(load(tmp_path / "vec.txt")) == 10


@pytest.mark.parametrize("flags", ["-cbow 1 -negative 3", "-cbow 0 -hs 1", "-cbow 1 -hs 1"])
def test_models_and_losses(run, text, tmp_path, flags):
    shown = run("-train", text, "-output", "v.txt", *f"{flags} -size 16 -window 3 -threads 1".split(), small=[]).stderr
    assert ("hierarchical softmax alone" in shown) == ("-hs 1" in flags)
    given = options(flags) | {"dim": 16, "window": 3, "threads": 1, "epochs": 5}
    expected = Word2Vec(**given, cache=None).fit(text).vectors_
    assert np.abs(load(tmp_path / "v.txt").matrix[1:] - expected.matrix).max() <= 6e-7
