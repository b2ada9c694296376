"""Models of fastText: read, written, and read by fastText and gensim."""

import gzip
import struct

import numpy as np
import pytest
from gensim.models import FastText
from gensim.models.fasttext import load_facebook_model, load_facebook_vectors, save_facebook_model
from test_parts import SETTINGS, made, share_of

from any2vec import Word2Vec
from any2vec.cluster.local import simulate
from any2vec.corpus.parts import Subwords
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.samples.targets import huffman_paths
from any2vec.vectors import Vectors, load
from any2vec.vectors.files import save
from any2vec.vectors.parts import Parts

WORDS = ["</s>", "where", "there", "über", "дом", "日本語", "a", "new york", "ab\udcffc"]
UNSEEN = ["wherever", "домик", "日本", "nowhere", "here"]
TEXT = "where there over дом über a b c where nowhere 日本語\n" * 40
DIM = 12


def model(loss="negative", settings=SETTINGS, counted=True, words=WORDS):
    """Return vectors that have all that a file holds."""
    random = np.random.default_rng(2)
    counts = np.arange(len(words), 0, -1) // 2 + 1 if counted else np.zeros(len(words), np.int64)
    parts = made(words, settings, DIM).parts
    t = random.normal(size=(len(words), DIM)).astype(np.float32)
    t[-1] *= loss == "negative"
    return Vectors(words, parts.means(words), counts=counts, t=t, loss=loss, parts=parts)


@pytest.fixture(scope="module")
def vectors():
    return model()


@pytest.fixture
def file(vectors, tmp_path):
    save(vectors, tmp_path / "m.bin", format="fasttext")
    return tmp_path / "m.bin"


@pytest.mark.parametrize("loss", ["negative", "hierarchical"])
@pytest.mark.parametrize("counted", [True, False])
def test_what_is_written_is_read(loss, counted, tmp_path):
    vectors = model(loss, counted=counted)
    save(vectors, tmp_path / "m.bin", format="fasttext", training=True)
    found = load(tmp_path / "m.bin")
    assert list(found.words) == WORDS
    assert (found.counts == vectors.counts).all()
    assert (found.matrix == vectors.matrix).all()
    assert (found.t == vectors.t).all()
    assert found.loss == loss
    assert found.parts.settings == SETTINGS
    assert len(found.parts.rows) == SETTINGS.buckets
    assert (found[UNSEEN] == vectors[UNSEEN]).all()
    assert "zzzzz" not in found


def test_vectors_without_parts(tmp_path):
    vectors = Vectors(WORDS[:-2], np.random.default_rng(1).normal(size=(len(WORDS) - 2, DIM)))
    vectors.to_fasttext(tmp_path / "m.bin")
    found, keyed = load(tmp_path / "m.bin"), load_facebook_vectors(str(tmp_path / "m.bin"))
    assert (found.parts, found.t, found.counts.any()) == (None, None, False)
    assert (found.matrix == vectors.matrix).all()
    assert (keyed.vectors == vectors.matrix).all()
    save(vectors, tmp_path / "w.bin")
    assert not (tmp_path / "w.bin").read_bytes().startswith((tmp_path / "m.bin").read_bytes()[:4])


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("loss", ["negative", "hierarchical"])
def test_gensim_reads_it(counted, loss, tmp_path):
    words = [word for word in WORDS if word not in ("</s>", "ab\udcffc")]  # which gensim takes for others
    vectors = model(loss, counted=counted, words=words)
    save(vectors, tmp_path / "m.bin", format="fasttext")
    found = load_facebook_model(str(tmp_path / "m.bin"))
    assert found.wv.index_to_key == words
    for word in words + UNSEEN:
        assert found.wv[word] == pytest.approx(vectors[word], abs=1e-6)
    assert ((found.syn1 if loss == "hierarchical" else found.syn1neg) != 0).any()


def test_gensims_are_read(tmp_path):
    sentences = [line.split() for line in TEXT.splitlines()]
    gensims = FastText(sentences, vector_size=DIM, window=3, negative=3, min_count=1, bucket=1000, epochs=1, workers=1)
    save_facebook_model(gensims, str(tmp_path / "m.bin"))
    found = load(tmp_path / "m.bin")
    assert list(found.words) == gensims.wv.index_to_key
    for word in gensims.wv.index_to_key + UNSEEN:
        assert found[word] == pytest.approx(gensims.wv[word], abs=1e-6)
    assert (found.t == gensims.syn1neg).all()
    for other in (Vectors.from_gensim(gensims.wv), Vectors.from_gensim(found.to_gensim())):
        assert other["wherever"] == pytest.approx(gensims.wv["wherever"], abs=1e-6)
    plain = FastText(sentences, vector_size=DIM, min_count=1, max_n=0, epochs=1, workers=1)
    assert Vectors.from_gensim(plain.wv).parts is None


@pytest.mark.parametrize("copy", [True, False])
def test_words_with_parts_go_to_gensim(copy, tmp_path):
    vectors = model(words=WORDS[:-1])
    keyed = vectors.to_gensim(copy)
    keyed.save(str(tmp_path / "keyed"))
    for found in (keyed, type(keyed).load(str(tmp_path / "keyed"))):
        for word in [*vectors.words[1:], *UNSEEN]:
            assert found[word] == pytest.approx(vectors[word], abs=1e-6)
    assert Vectors.from_gensim(keyed)["wherever"] == pytest.approx(vectors["wherever"], abs=1e-6)


def trained(tmp_path, **how):
    """Return a model of fastText; with fewer threads than 11 it begins with rows that it has not set."""
    fasttext = pytest.importorskip("fasttext")
    (tmp_path / "text").write_bytes(TEXT.encode() + b"ab\xffc x\xe3\x81 " * 9)
    fixed = {"dim": DIM, "bucket": 700, "minCount": 1, "epoch": 1, "thread": 12, "verbose": 0, "neg": 3}
    return fasttext.train_unsupervised(str(tmp_path / "text"), **{**fixed, **how})


@pytest.mark.parametrize("loss", ["ns", "hs", "softmax"])
@pytest.mark.parametrize("minn", [2, 0])
def test_fasttexts_are_read_and_written(loss, minn, tmp_path):
    trained(tmp_path, loss=loss, model="cbow", minn=minn, maxn=4).save_model(str(tmp_path / "m.bin"))
    fasttext = pytest.importorskip("fasttext")
    found = load(tmp_path / "m.bin")
    save(found, tmp_path / "again.bin", format="fasttext")
    theirs, ours = (fasttext.load_model(str(tmp_path / name)) for name in ("m.bin", "again.bin"))
    for word in TEXT.split() + UNSEEN * (minn > 0) + ["</s>"]:
        assert (found[word] == theirs.get_word_vector(word)).all()
        assert (found[word] == ours.get_word_vector(word)).all()
    for word in (b"ab\xffc", b"ab\xffcd", b"\xe3\x81z"):
        if minn:
            assert (found[word.decode("utf-8", "surrogateescape")] == ours.get_word_vector(word)).all()
    assert (found.t is None) == (loss == "softmax")
    assert ours.get_nearest_neighbors("where", k=2) == theirs.get_nearest_neighbors("where", k=2)
    if loss != "softmax":  # all but the arguments are the same
        assert (tmp_path / "again.bin").read_bytes()[64:] == (tmp_path / "m.bin").read_bytes()[64:]


def test_fasttext_reads_ours_without_a_line_end(tmp_path):
    fasttext = pytest.importorskip("fasttext")
    vectors = model(counted=False, words=WORDS[1:-1])
    vectors.to_fasttext(tmp_path / "m.bin")
    found = fasttext.load_model(str(tmp_path / "m.bin"))
    for word in [*WORDS[1:-1], *UNSEEN]:
        assert found.get_word_vector(word) == pytest.approx(vectors[word], abs=1e-6)
    assert not found.get_word_vector("</s>").any()
    assert np.isfinite(found.get_sentence_vector("where there wherever")).all()
    assert len(found.get_nearest_neighbors("wherever", k=3)) == 3


def test_the_tree_of_hierarchical_softmax(tmp_path):
    """Build fastText's tree as loss.cc does: our t, read back from the file by its paths, gives the same scores."""
    vectors = model("hierarchical")
    save(vectors, tmp_path / "m.bin", format="fasttext")
    t = np.frombuffer((tmp_path / "m.bin").read_bytes()[-4 * len(WORDS) * DIM :], "<f4").reshape(-1, DIM)
    number = len(WORDS)
    counts = [*vectors.counts.tolist(), *[10**15] * (number - 1)]
    parent, binary, leaf, node = [-1] * (2 * number - 1), [False] * (2 * number - 1), number - 1, number
    for made_now in range(number, 2 * number - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and counts[leaf] < counts[node]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        counts[made_now] = sum(counts[i] for i in pair)
        for i in pair:
            parent[i] = made_now
        binary[pair[1]] = True
    paths, hidden = huffman_paths(vectors.counts), vectors.matrix[0].astype(float)
    for word in range(number):
        theirs, at = [], word
        while parent[at] != -1:
            theirs.append((1 if binary[at] else -1) * (t[parent[at] - number] @ hidden))
            at = parent[at]
        steps = paths.steps[paths.starts[word] : paths.starts[word + 1]]
        ours = [(1 if step % 2 == 0 else -1) * (vectors.t[step // 2] @ hidden) for step in steps]
        assert theirs[::-1] == pytest.approx(ours)


def test_hosts_write_what_one_writes(tmp_path):
    for loss in ("negative", "hierarchical"):
        vectors = model(loss)
        save(vectors, tmp_path / "one.bin", format="fasttext", force=True)

        def write(communicator, vectors=vectors):
            own = share_of(vectors, communicator, 4)
            save(own, tmp_path / "two.bin", format="fasttext", force=True, communicator=communicator)

        simulate(2, 1, write)
        assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "two.bin").read_bytes()


def test_first_words_are_exported(vectors, tmp_path):
    vectors.to_fasttext(tmp_path / "m.bin", top=4)
    found = load(tmp_path / "m.bin")
    assert list(found.words) == WORDS[:4]
    assert found.t is None
    assert (found[["where", "wherever"]] == vectors[["where", "wherever"]]).all()


def test_compressed_and_with_other_names(file, vectors, tmp_path):
    (tmp_path / "m.bin.gz").write_bytes(gzip.compress(file.read_bytes()))
    (tmp_path / "model").write_bytes(file.read_bytes())
    for name in ("m.bin.gz", "model"):
        assert (load(tmp_path / name)["wherever"] == vectors["wherever"]).all()


def test_a_model_is_replaced_by_vectors_and_the_other_way_round(file, vectors):
    save(vectors, file, format="fasttext")
    plain = Vectors(["a", "b"], np.ones((2, 3)))
    save(plain, file)
    save(vectors, file, format="fasttext")
    assert load(file).parts is not None


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("m.txt", "fasttext", r"m\.txt: give a name that ends in \.bin"),
        ("m.bin.gz", "fasttext", r"ends in \.bin"),
        ("m", "fasttext", r"ends in \.bin"),
        ("m.bin", "facebook", "`format` is 'facebook'; known is fasttext"),
    ],
)
def test_formats_that_are_refused(name, given, message, vectors, tmp_path):
    with pytest.raises(Any2VecError, match=message):
        save(vectors, tmp_path / name, format=given)
    assert not list(tmp_path.iterdir())


def test_what_a_file_cannot_hold(tmp_path):
    with pytest.raises(Any2VecError, match=r"cannot hold the word 'a\\x00b', with a zero byte"):
        Vectors(["a\0b"], np.ones((1, 2))).to_fasttext(tmp_path / "m.bin")
    parts = Parts(Subwords(3, 6, 2**31 - 1), np.ones((1, 2)), [], np.ones((0, 2)))
    with pytest.raises(Any2VecError, match="1 words and 2,147,483,647 buckets are too many"):
        Vectors(["a"], np.ones((1, 2)), parts=parts).to_fasttext(tmp_path / "m.bin")
    assert not list(tmp_path.iterdir())


def changed(data, at, form, *values):
    data = bytearray(data)
    struct.pack_into(form, data, at, *values)
    return bytes(data)


HEAD = 8 + 12 * 4 + 8  # bytes before the dictionary
MATRIX = HEAD + 28 + sum(len(word.encode("utf-8", "surrogateescape")) + 10 for word in WORDS)


def set_to(at, form, *values):
    return lambda data: changed(data, at, form, *values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_to(4, "<i", 13), "a model of fastText of version 13; known are 11 and 12"),
        (set_to(8, "<i", 0), "damaged: its arguments are 0 dimensions"),
        (set_to(8, "<i", DIM + 1), r"damaged: 90,009 x 12 rows of words and n-grams, not 90,009 x 13"),
        (set_to(40, "<i", 7), "damaged: 90,009 x 12 rows of words and n-grams, not 16 x 12"),
        (set_to(HEAD, "<3i", 2**30, 2**30, 0), "dictionary of 1,073,741,824 words, .* do not fit into the file: it is"),
        (set_to(HEAD, "<3i", 9, 8, 0), "damaged: 9 entries are not 8 words and 0 labels"),
        (set_to(HEAD, "<3i", 9, 8, 1), "damaged: 9 entries are words, not 8"),
        (set_to(HEAD + 33, "<q", -4), "damaged: the count of '</s>' is -4"),
        (set_to(HEAD + 28, "<5000sxqb", b"x" * 5000, -4, 0), r"the count of 'x+\.\.\.x+' is -4"),
        (set_to(MATRIX, "<?", True), "is a quantized model of fastText; any2vec reads"),
        (set_to(MATRIX + 17, "<f", np.inf), "the vector of '</s>' holds inf, not a finite number"),
        (lambda data: data + b"x", "more bytes than the model"),
        (lambda data: data[: HEAD + 28] + b"x" * (3 << 20), "byte 92: damaged: a word of more than 1,048,576 bytes"),
        *(
            (lambda data, share=share: data[: int(share * len(data))], "truncated")
            for share in (1e-5, 1e-4, 0.5, 0.9999)
        ),
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_damaged_files(change, message, ending, file, tmp_path):
    data = change(file.read_bytes())
    if ending and "do not fit" in message:
        return  # its size tells nothing
    (tmp_path / f"m.bin{ending}").write_bytes(gzip.compress(data, 1) if ending else data)
    with pytest.raises(Any2VecError, match=rf"m\.bin.*{message}") as caught:
        load(tmp_path / f"m.bin{ending}")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("loss", ["negative", "hierarchical"])
def test_a_word_that_occurs_twice(loss, tmp_path):
    file, given = tmp_path / "m.bin", model(loss)
    save(given, file, format="fasttext")
    data = file.read_bytes()
    file.write_bytes(data[:HEAD] + data[HEAD:].replace(b"there\0", b"where\0", 1))
    with pytest.warns(Any2VecWarning, match="1 of 9 vectors left out: words occur more than once, such as 'where'"):
        found = load(file)
    kept = [i for i, word in enumerate(WORDS) if word != "there"]
    assert found.words == [WORDS[i] for i in kept]
    np.testing.assert_array_equal(found.matrix, given.matrix[kept])
    np.testing.assert_array_equal(found.counts, given.counts[kept])
    assert (found.t is None) == (loss == "hierarchical")
    np.testing.assert_array_equal(found["there"], found.parts.vector("there"))


def test_labels_of_a_text_are_no_words(file, vectors):
    """Skip-gram and CBOW list them after the words, and train none."""
    data = file.read_bytes()
    head = struct.pack("<3i", 11, 9, 2) + data[HEAD + 12 : MATRIX]
    labels = b"".join(name + b"\0" + struct.pack("<qb", 3, 1) for name in (b"__label__x", b"__label__y"))
    file.write_bytes(data[:HEAD] + head + labels + data[MATRIX:])
    found = load(file)
    assert found.words == vectors.words
    np.testing.assert_array_equal(found.matrix, vectors.matrix)
    np.testing.assert_array_equal(found.t, vectors.t)
    file.write_bytes(changed(file.read_bytes(), 36, "<i", 3))
    with pytest.raises(Any2VecError, match=r"is a classifier of fastText \(supervised\); `any2vec predict` and"):
        load(file)


def test_n_grams_of_any_length(tmp_path, monkeypatch):
    """Their number grows with the square of a word's length: it is refused, and lists are made in blocks."""
    settings, words = Subwords(1, 2**31 - 1, 100), ["a", "b" * 700, "c" * 900, "d"]
    given = model(settings=settings, words=words)
    save(given, tmp_path / "m.bin", format="fasttext")
    lists, lengths = Subwords.lists, []
    monkeypatch.setattr(Subwords, "lists", lambda *args: lengths.append(len(args[1])) or lists(*args))
    monkeypatch.setattr("any2vec.vectors.parts._TOGETHER", 1000)
    np.testing.assert_array_equal(load(tmp_path / "m.bin").matrix, given.matrix)
    assert lengths == [1, 1, 1, 1]
    data = (tmp_path / "m.bin").read_bytes()
    (tmp_path / "m.bin").write_bytes(data.replace(b"b" * 700, b"b" * 20_000))
    with pytest.raises(
        Any2VecError, match=r"m\.bin: the word 'b.*' has 200,050,001 n-grams of 1-2147483647 characters"
    ):
        load(tmp_path / "m.bin")
    with pytest.raises(Any2VecError, match="has 200,050,001 n-grams"):
        given["b" * 20_000]


def test_n_grams_beyond_memory(monkeypatch):
    monkeypatch.setattr("any2vec.corpus.parts.available", lambda: 1 << 20)
    with pytest.raises(Any2VecError, match=r"20 words have .* n-grams of 1-9999 characters, which take .* are free"):
        Subwords(1, 9999).lists([f"{i}{'x' * 1500}" for i in range(20)])


def test_finite_rows_whose_mean_is_not(vectors, file):
    largest = np.full((len(WORDS), DIM), np.finfo(np.float32).max, "<f4").tobytes()
    data = file.read_bytes()
    rows = len(largest)
    file.write_bytes(data[: MATRIX + 17] + largest + largest + data[MATRIX + 17 + 2 * rows :])
    buckets = vectors.parts.settings.lists(WORDS)[1]
    at = MATRIX + 17 + 4 * DIM * (len(WORDS) + int(buckets[0]))
    data = file.read_bytes()
    file.write_bytes(data[:at] + largest[: 4 * DIM] + data[at + 4 * DIM :])
    with pytest.raises(Any2VecError, match=r"m\.bin: the vector of 'where' holds inf, not a finite number"):
        load(file)


@pytest.mark.parametrize("how", ["start", "pretrained"])
def test_going_on_from_words_that_are_not_utf_8(file, how):
    model = Word2Vec(
        **{how: file}, dim=DIM, window=3, negative=3, min_count=1, epochs=1, threads=1, cache=None, subwords=SETTINGS
    )
    if how == "pretrained":
        assert len(model.fit([["where", "there"]] * 50).vectors_) == 2
        return
    said = r"m\.bin.*: the word 'ab\\udcffc' is not UTF-8, so no text has it: give these vectors as `pretrained`"
    with pytest.raises(Any2VecError, match=said):
        model.fit([["where", "there"]] * 50)
