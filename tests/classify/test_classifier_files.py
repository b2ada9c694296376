"""Classifiers of fastText: read and written as fastText reads and writes them; files that are damaged."""

import json
import struct
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import naive_answers
import numpy as np
import pytest

from any2vec.classify.fasttext import load_fasttext, save_fasttext
from any2vec.classify.model import LOSSES, LabelModel, LineSettings
from any2vec.classify.quantized import Quantized, prune, quantize
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.vectors import load

FILES = Path(__file__).parent / "golden"
GOLDEN = json.loads((FILES / "answers.json").read_text("utf-8"))
NAMES = sorted(GOLDEN["answers"])


def model(loss="softmax", quantized=False, **settings):
    """Return a model whose rows are random, and of which some buckets have none."""
    random, how = np.random.default_rng(3), LineSettings(2, 1000, 2, 3, loss=loss, **settings)
    words, labels = ["</s>", "where", "über", "日本語", "ab\udcff"], ["a", "b c", "d", "é", "e"]
    ids = np.sort(random.permutation(1000)[:700])
    e, t = (random.normal(size=(n, 5)).astype(np.float32) for n in (len(words) + 700, len(labels)))
    t[-1] *= loss != "hierarchical"
    made = LabelModel(words, np.array([9, 7, 7, 2, 1]), labels, np.array([8, 5, 4, 4, 1]), how, ids, e, t)
    return quantize(made, 400, threads=1) if quantized else made


def check_same(one, other):
    """Fail unless two models are equal."""
    assert (list(one.words), list(one.labels), one.settings) == (list(other.words), list(other.labels), other.settings)
    for name in ("counts", "label_counts", "ids"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("e", "t"):
        assert type(getattr(one, name)) is type(getattr(other, name))
        rows, others = (naive_answers.numbers(getattr(of, name)) for of in (one, other))
        np.testing.assert_array_equal(rows, others)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_fasttexts_files_give_its_probabilities(name, again, tmp_path):
    found = load_fasttext(FILES / name)
    if again:
        save_fasttext(found, tmp_path / name)
        check_same(found, load_fasttext(tmp_path / name))
        found = load_fasttext(tmp_path / name)
    assert sorted(found.labels) == ["a", "b", "c"]
    assert "</s>" in found.words
    for line, wanted in zip(GOLDEN["lines"], GOLDEN["answers"][name], strict=True):
        ours = {"__label__" + label: p for label, p in naive_answers.answers(found, line).items()}
        assert ours == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_fasttext_reads_what_is_written(name, tmp_path):
    pytest.importorskip("fasttext")
    check_in_fasttext(load_fasttext(FILES / name), tmp_path / name, GOLDEN["answers"][name])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("quantized", [False, True])
def test_fasttext_reads_ours(loss, quantized, tmp_path):
    pytest.importorskip("fasttext")
    given = model(loss, quantized)
    check_in_fasttext(given, tmp_path / ("m.ftz" if quantized else "m.bin"))


def check_in_fasttext(given, path, wanted=None):
    """Write a model, and compare what fastText answers."""
    import fasttext

    sys.path.insert(0, str(FILES))
    from make_classifiers import answers

    save_fasttext(given, path)
    theirs = answers(fasttext.load_model(str(path)), GOLDEN["lines"])
    for line, found, fixed in zip(GOLDEN["lines"], theirs, wanted or theirs, strict=True):
        ours = {given.settings.prefix + label: p for label, p in naive_answers.answers(given, line).items()}
        assert found == pytest.approx(ours, abs=1e-5)
        assert found == pytest.approx(fixed, abs=1e-6)


@pytest.mark.parametrize("labels", [3, 300])
def test_rows_of_labels_that_fasttext_quantized(labels, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    lines = [f"__label__{i % labels} w{i % labels} w{i % 7} w{i % 11}" for i in range(600)]
    (tmp_path / "text").write_text("\n".join(lines))
    how = {"dim": 7, "minCount": 1, "epoch": 2, "thread": 12, "verbose": 0, "bucket": 300, "wordNgrams": 2}
    trained = fasttext.train_supervised(str(tmp_path / "text"), **how)
    trained.quantize(qout=labels >= 256, dsub=3, qnorm=True)
    trained.save_model(str(tmp_path / "m.ftz"))
    found = load_fasttext(tmp_path / "m.ftz")
    assert isinstance(found.t, Quantized) == (labels >= 256)
    save_fasttext(found, tmp_path / "again.ftz")
    assert (tmp_path / "again.ftz").read_bytes()[100:] == (tmp_path / "m.ftz").read_bytes()[100:]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("quantized", [False, True])
def test_what_is_written_is_read(loss, quantized, tmp_path):
    given, path = model(loss, quantized), tmp_path / ("m.ftz" if quantized else "m.bin")
    save_fasttext(given, path)
    check_same(load_fasttext(path), given)
    quantized_labels = replace(given, t=Quantized.of(naive_answers.numbers(given.t), 2, True, 1, 1))
    if quantized:
        save_fasttext(quantized_labels, path)
        check_same(load_fasttext(path), quantized_labels)


def test_other_prefixes(tmp_path):
    save_fasttext(model(prefix="#"), tmp_path / "m.bin")
    assert load_fasttext(tmp_path / "m.bin", "#").labels == ["a", "b c", "d", "é", "e"]
    whole = load_fasttext(tmp_path / "m.bin")
    assert (whole.labels, whole.settings.prefix) == (["#a", "#b c", "#d", "#é", "#e"], "")
    save_fasttext(whole, tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()


def test_what_a_file_cannot_say(tmp_path):
    with pytest.warns(Any2VecWarning, match=r"m\.bin: .* does not say `lowercase and tokenize`: give fastText texts"):
        save_fasttext(model(lowercase=True, tokenize=True), tmp_path / "m.bin")
    for given, name, message in (
        (model(), "m.ftz", r"m\.ftz: give a name that ends in \.bin, as classifiers of"),
        (model(quantized=True), "m.bin", r"ends in \.ftz, as quantized classifiers"),
        (prune(model(), 300), "n.bin", "pruned classifier only if it is quantized"),
        (replace(model(), labels=["a\0", "b", "c", "d", "e"]), "n.bin", "cannot hold the word '__label__a.x00'"),
        (replace(model(), t=np.full((5, 5), np.nan, np.float32)), "n.bin", "not saved: rows of labels hold nan"),
    ):
        with pytest.raises(Any2VecError, match=message):
            save_fasttext(given, tmp_path / name)
    (tmp_path / "n.bin").write_text("mine")
    with pytest.raises(Any2VecError, match="does not hold a model of fastText"):
        save_fasttext(model(), tmp_path / "n.bin")
    save_fasttext(model(), tmp_path / "n.bin", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.bin", "n.bin"]


def test_models_of_words_and_classifiers_are_told_apart():
    message = r"words\.bin: is a model of fastText for words .*, no classifier; `any2vec.load`, and the commands"
    with pytest.raises(Any2VecError, match=message):
        load_fasttext(FILES / "words.bin")  # its dictionary has labels
    assert "</s>" in load(FILES / "words.bin").words
    with pytest.raises(Any2VecError, match=r"a classifier of fastText \(supervised\); `any2vec predict` and"):
        load(FILES / "pruned.ftz")
    with pytest.raises(Any2VecError, match=r"make_classifiers\.py: is no model of fastText"):
        load_fasttext(FILES / "make_classifiers.py")


HEAD = 8 + 12 * 4 + 8  # bytes before the dictionary


def changed(name, at, form, *values):
    """Return a file with other bytes at a place; from its end if that is negative."""
    data = bytearray((FILES / name).read_bytes())
    struct.pack_into(form, data, at % len(data), *values)
    return bytes(data)


def after_words(name):
    """Find where the index of n-grams begins."""
    data, at = (FILES / name).read_bytes(), HEAD + 28
    for _ in range(struct.unpack_from("<i", data, HEAD)[0]):
        at = data.index(b"\0", at) + 10
    return at


INDEX, SMALL = after_words("pruned.ftz"), after_words("small.ftz")
KEPT = struct.unpack_from("<q", (FILES / "pruned.ftz").read_bytes(), HEAD + 20)[0]
CODES = INDEX + 8 * KEPT + 1  # where the quantized matrix begins


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed("plain.bin", 32, "<i", 9), "damaged: its loss has the number 9"),
        (changed("softmax.bin", 40, "<i", 0), "damaged: its n-grams have no buckets"),
        (changed("softmax.bin", 40, "<i", 91), "x 4 rows of words and n-grams, not 99 x 4"),
        (changed("softmax.bin", HEAD + 20, "<q", 0), "pruned but not quantized, which fastText does not read either"),
        (changed("softmax.bin", HEAD + 20, "<q", 1 << 40), "an index of 1,099,511,627,776 n-grams, .* do not fit"),
        (changed("softmax.bin", -2, "<h", -1), "rows of labels hold nan, not finite"),
        (changed("tree.bin", after_words("tree.bin") - 9, "<q", 1 << 50), "labels, .* not sorted by their counts"),
        (changed("pruned.ftz", INDEX, "<i", 600), "its index of n-grams has a bucket twice, or one or a row"),
        (
            changed("pruned.ftz", INDEX + 8, "<i", struct.unpack_from("<i", changed("pruned.ftz", 0, ""), INDEX)[0]),
            "ice,",
        ),
        (changed("pruned.ftz", INDEX + 4, "<i", KEPT), "its index of n-grams has a bucket twice, or one or a row"),
        (changed("pruned.ftz", CODES + 1, "<q", 1 << 40), r"codes of 1,099,511,627,776 x 4 numbers, not of 300 x 4"),
        (changed("pruned.ftz", CODES + 17, "<i", -1), "damaged: -1 codes of 300 x 4"),
        (changed("pruned.ftz", CODES + 17, "<i", 599), "damaged: "),
        (changed("pruned.ftz", CODES + 21 + 600, "<4i", 4, 1, 4, 4), "4 columns in 1 parts of 4, .* with 600 codes"),
        (changed("pruned.ftz", CODES + 21 + 600, "<4i", 4, -1, 2, 2), "4 columns in -1 parts of 2"),
        (changed("pruned.ftz", CODES + 21 + 616, "<f", np.nan), "rows of words and n-grams hold nan"),
        (
            changed("pruned.ftz", CODES + 21 + 616 + 4096 + 300, "<i", 2),
            r"lengths of rows have the parts \(2, 1, 1, 1\)",
        ),
        (changed("pruned.ftz", CODES + 21 + 616 + 4096 + 316, "<f", np.inf), "rows of words and n-grams hold"),
        ((FILES / "plain.bin").read_bytes() + b"x", "more bytes than the model"),
        ((FILES / "plain.bin").read_bytes().replace("über\0".encode(), b"here\0"), "a word or a label occurs twice"),
    ],
)
def test_damaged_files(data, message, tmp_path):
    (tmp_path / "m.ftz").write_bytes(data)
    with pytest.raises(Any2VecError, match=rf"m\.ftz.*{message}") as caught:
        load_fasttext(tmp_path / "m.ftz")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["pruned.ftz", "small.ftz", "tree.bin"])
def test_a_file_that_is_cut(name, tmp_path):
    data = (FILES / name).read_bytes()
    tracemalloc.start()
    for end in (*range(0, len(data), 61), len(data) - 1):
        (tmp_path / "m").write_bytes(data[:end])
        with pytest.raises(Any2VecError, match=r"truncated|do not fit|no model of fastText"):
            load_fasttext(tmp_path / "m")
    assert tracemalloc.get_traced_memory()[1] < 10 * len(data) + (16 << 20)
    tracemalloc.stop()
