"""Phrases are those of word2phrase, whatever threads, blocks and source, and training takes them as it takes text."""

import gzip
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_corpus import found, naive
from naive_phrases import naive_phrases, naive_text
from small_texts import PIECES
from typer.testing import CliRunner

from any2vec import Any2VecError, Phrases, Word2Vec
from any2vec.cli import app
from any2vec.cluster import local
from any2vec.corpus import read_corpus

SIZES = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "epochs": 1}
WORDS = [b"a", b"b", b"c", b"a_b", b"new", b"york"]
TEXTS = st.lists(st.sampled_from([*WORDS * 2, *[b" "] * 20, *PIECES]), max_size=120).map(b"".join)


def lines_of(files):
    return [line for data in files for line in lines_in(data)]


def lines_in(data):
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [[word.decode(errors="replace") for word in line.split()] for line in lines]


def passes_of(phrases):
    """Return what was found as the naive twin does."""
    return [
        {(one[0], one[1:-1], one[-1]): (count, score) for one, count, score in zip(*found, strict=True)}
        for found in phrases._found.passes
    ]


def text_of(folder, *files):
    paths = []
    for i, data in enumerate(files):
        paths.append(folder / f"{i}.txt")
        paths[-1].write_bytes(data)
    return paths


def a_text(words=3_000, seed=1, pairs=30):
    """Make a text in which some words are mostly beside each other, in runs; separators of all kinds."""
    draw = random.Random(seed)
    names = [f"w{i}".encode() for i in range(100)] + ["größe".encode(), "日本".encode(), b"x_y", b"\xff"]
    out = []
    while len(out) < words:
        first = draw.randrange(len(names))
        run = names[first : first + draw.choice([1, 2, 3, 5])] if first % 3 and first < pairs else [names[first]]
        out += [name + draw.choice([b" ", b" ", b" ", b"\t", b"  ", b" \t ", b"\r\n", b"\n", b"\n\n"]) for name in run]
    return b"".join(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("phrases")


@given(
    st.lists(TEXTS, min_size=1, max_size=3),
    st.lists(st.sampled_from([0.3, 1, 2, 5]), min_size=1, max_size=3)
    | st.lists(st.sampled_from([-1, 0, 0.2, 0.5, 1]), min_size=1, max_size=3).map(tuple),
    st.integers(1, 3),
    st.sampled_from([None, 0, 1, 1.5]),
    st.sets(st.sampled_from(["a", "new", "a_b", "none"])) | st.just(set()),
    st.booleans(),
    st.sampled_from(["_", "··"]),
    st.integers(1, 2),
    st.sampled_from([1, 2, 7, 40, 1 << 20]),
)
def test_any_text_has_the_phrases_of_the_naive_twin(
    folder, files, thresholds, min_count, delta, connectors, across, joiner, threads, block
):
    """A tuple of thresholds is for NPMI."""
    options = {"min_count": min_count, "joiner": joiner}
    options |= {"scoring": "npmi"} if isinstance(thresholds, tuple) else {"delta": delta}
    phrases = Phrases(
        threshold=thresholds, threads=threads, within_lines=not across, connector_words=connectors, **options
    )
    phrases._block = block
    paths = text_of(folder, *files)
    lines = lines_of(files)
    if not any(lines):
        with pytest.raises(Any2VecError, match=r"empty|no words"):
            phrases.fit(paths)
        return
    text = phrases.fit_transform(paths)
    passes, joined = naive_phrases(lines, thresholds, **options, across_lines=across, connectors=connectors)
    assert passes_of(phrases) == list(filter(None, passes))
    assert list(text) == list(phrases.transform(paths)) == [line for line in joined if line]
    kept = iter(joined)
    written = b"".join(naive_text(data, [next(kept) for _ in lines_in(data)], joiner) for data in files)
    assert b"".join(text.chunks()) == b"".join(phrases.transform(paths).chunks()) == written
    assert passes_of(phrases.fit(paths)) == list(filter(None, passes))
    sentences = [list(line) for line in lines]
    assert list(phrases.transform(sentences)) == joined
    in_memory = phrases.fit_transform(sentences)
    assert passes_of(phrases) == list(filter(None, passes))
    assert list(in_memory) == [line for line in joined if line]
    assert b"".join(in_memory.chunks()).decode() == "".join(" ".join(line) + "\n" for line in joined if line)


@pytest.mark.parametrize("block", [50, 3000])
@pytest.mark.parametrize("threads", [1, 3])
def test_training_takes_them_as_the_text_that_is_written(tmp_path, threads, block):
    files = [a_text(seed=1), a_text(seed=2)]
    paths = text_of(tmp_path, *files)
    phrases = Phrases(threshold=[20, 5], threads=threads)
    phrases._block = block
    kept = phrases.fit_transform(paths)
    kept.write(tmp_path / "joined")
    passes, joined = naive_phrases(lines_of(files), [20, 5])
    assert passes_of(phrases) == passes
    assert all(passes)
    expected = naive([(tmp_path / "joined").read_bytes()], 5)
    sentences = [line.split() for line in (tmp_path / "joined").read_bytes().decode(errors="replace").split("\n")]
    assert [line for line in sentences if line] == [line for line in joined if line]
    sources = {"text": tmp_path / "joined", "kept": kept, "read": phrases.transform(paths)}
    sources |= {"lists": list(kept), "in memory": phrases.transform(lines_of(files))}
    vectors = {}
    for name, source in sources.items():
        corpus = read_corpus(source, threads=threads, cache=None, block=block)
        assert found(corpus)[:4] == expected[:4], name
        model = Word2Vec(**SIZES, cache=None).fit(source)
        vectors[name] = model.vectors_.matrix
        assert model.report_.words == expected[3], name
    for matrix in vectors.values():
        assert (matrix == vectors["text"]).all()


CONNECTED = {"threshold": 0.2, "scoring": "npmi", "connector_words": ["w5", "w8"]}


@pytest.mark.parametrize("how", [{"threshold": [20, 5], "threads": 2}, CONNECTED], ids=str)
def test_simulated_hosts_and_clusters_read_their_parts(tmp_path, how):
    paths = text_of(tmp_path, a_text(seed=1), a_text(seed=2))
    phrases = Phrases(**how)
    kept = phrases.fit_transform(paths)
    whole = read_corpus(kept, cache=None)
    assert "w4_w5_w6" in whole.vocabulary.words
    for source in (kept, phrases.transform(paths)):
        for corpora in (
            [read_corpus(source, cache=None, hosts=3)],
            local.simulate(3, 1, lambda host, text=source: read_corpus(text, cache=None, communicator=host)),
        ):
            assert all(list(corpus.vocabulary.words) == list(whole.vocabulary.words) for corpus in corpora)
            assert np.concatenate([corpus.worklist.ids for corpus in corpora]).tolist() == whole.worklist.ids.tolist()
            assert corpora[0].hosts == 3


def test_hosts_give_sentences_of_their_own(tmp_path):
    lines = [line for line in lines_in(a_text()) if line]
    halves = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    phrases = Phrases(threshold=20).fit(lines)
    whole = read_corpus(phrases.transform(lines))
    corpora = local.simulate(2, 1, lambda host: read_corpus(phrases.transform(halves[host.rank]), communicator=host))
    assert np.concatenate([corpus.worklist.ids for corpus in corpora]).tolist() == whole.worklist.ids.tolist()
    with pytest.raises(Any2VecError, match="the checksum of the phrases is"):
        local.simulate(
            2, 1, lambda host: read_corpus(Phrases(threshold=20).fit_transform(halves[host.rank]), communicator=host)
        )


def test_the_cache_knows_the_phrases(tmp_path):
    (path,) = text_of(tmp_path, a_text())
    few, many, connected = (Phrases(**how).fit(path) for how in ({"threshold": 20}, {"threshold": 5}, CONNECTED))

    def read(source):
        corpus = read_corpus(source, cache=tmp_path / "cache")
        return corpus.cached, list(corpus.vocabulary.words)

    sources = [path, *(phrases.transform(path) for phrases in (few, many, connected))]
    before = [read(source) for source in sources]
    after = [read(source) for source in sources]
    assert [cached for cached, _ in before + after] == [False] * 4 + [True] * 4
    assert [words for _, words in before] == [words for _, words in after]
    assert len({tuple(words) for _, words in before}) == 4
    assert read(many.fit_transform(path)) == after[2]


def test_a_file_changed_after_fit_is_read_again(tmp_path):
    (path,) = text_of(tmp_path, a_text())
    text = Phrases(threshold=20).fit_transform(path)
    path.write_bytes(a_text(seed=5, words=500))
    assert read_corpus(text, cache=None).raw_words < 500 < sum(map(len, text))
    with pytest.raises(Any2VecError, match=r"0\.txt: changed while it was read"):
        text.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_scores_and_counts():
    lines = [["new", "york", "is", "big"], ["is", "new", "york", "old"], ["old", "is", "new"]] * 5
    phrases = Phrases(threshold=1.5, within_lines=True).fit(lines)
    assert phrases.words_ == 55
    assert phrases.counts_ == {"new_york": 10}
    assert phrases.phrases_ == {"new_york": pytest.approx((10 - 5) / (15 * 10) * 55)}
    assert Phrases(threshold=1.9, within_lines=True).fit(lines).phrases_ == {}


def test_one_spelling_found_in_two_ways_is_listed_once():
    lines = [["a", "b_c"], ["a_b", "c"], ["a_b", "c"]] * 5
    phrases = Phrases(threshold=0.1, min_count=1, within_lines=True)
    text = phrases.fit_transform(lines)
    assert set(phrases.phrases_) == {"a_b_c"}
    assert phrases.counts_["a_b_c"] in (5, 10)
    assert set(map(tuple, text)) == {("a_b_c",)}
    assert read_corpus([*text, ["x"] * 5], min_count=1).vocabulary.counts.tolist() == [15, 5]


def test_generators_are_drawn_once_and_iterated_again():
    lines = [["new", "york", "is", 5], ("is", "new", "york")] * 9
    phrases = Phrases(threshold=3, min_count=2)
    text = phrases.fit_transform(iter(lines))
    expected = [["new_york", "is", "5"], ["is", "new_york"]] * 9
    assert list(text) == list(text) == expected
    assert list(phrases.transform(iter(lines)))[:2] == [["new_york", "is", 5], ["is", "new_york"]]
    assert Counter(word for line in text for word in line)["new_york"] == 18
    with pytest.raises(Any2VecError, match="sentence 0, token 1 is of type bytes"):
        list(phrases.transform([["a", b"b"]]))
    with pytest.raises(Any2VecError, match="sentence 0 is a str"):
        list(phrases.transform(iter(["new york"])))
    phrases = Phrases(threshold=0.1, min_count=1, within_lines=True).fit([[1, 2], [3, 1, 2]] * 3)
    assert list(phrases.transform([[1, 2], [2, 1]])) == [["1_2"], [2, 1]]


def test_rows():
    rows = [{"text": "new york is big", "n": 1}] * 9
    phrases = Phrases(column="text", threshold=0.5, min_count=1)
    text = phrases.fit_transform(rows)
    assert next(iter(text)) == next(iter(phrases.transform(rows))) == ["new_york", "is_big"]
    assert len(read_corpus(text).vocabulary) == 2
    with pytest.raises(Any2VecError, match="give it to Phrases"):
        read_corpus(text, column="text")


def test_pipeline_of_two():
    lines = [list("abcd")] * 9
    one, two = Phrases(threshold=0.5, min_count=1), Phrases(threshold=0.5, min_count=1, joiner="-")
    assert next(iter(two.fit_transform(one.fit_transform(lines)))) == ["a_b-c_d"]


@pytest.mark.parametrize("name", ["phrases.tsv", "phrases.tsv.gz"])
@pytest.mark.parametrize(
    "how",
    [
        {"threshold": [20, 5], "min_count": 4, "joiner": "··"},
        {"threshold": 1e9},
        {"threshold": [0.2, 0.3], "scoring": "npmi", "connector_words": "english"},
        CONNECTED,
    ],
    ids=str,
)
def test_saved_and_loaded(tmp_path, name, how):
    (path,) = text_of(tmp_path, a_text())
    phrases = Phrases(**how).fit(path)
    phrases.save(tmp_path / name)
    loaded = Phrases.load(tmp_path / name)
    assert loaded == phrases
    assert (loaded.phrases_, loaded.counts_) == (phrases.phrases_, phrases.counts_)
    assert passes_of(loaded) == passes_of(phrases)
    assert list(loaded.transform(path)) == list(phrases.transform(path))
    assert loaded.transform(path).phrases.digest == phrases.transform(path).phrases.digest
    loaded.save(tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_the_file_of_phrases(tmp_path):
    lines = [["new", "york", "is"], ["is", "old"]] * 9
    Phrases(threshold=100).fit(lines).save(tmp_path / "p")
    title, names, *rows = (tmp_path / "p").read_text().splitlines()
    assert title.startswith("# any2vec phrases {")
    assert names == "phrase\tscore\tcount\tpass\tfirst\tsecond"
    assert rows == []
    Phrases(threshold=2, joiner="-").fit(lines).save(tmp_path / "p")
    assert (tmp_path / "p").read_text().splitlines()[2:] == ["new-york\t2.2222223\t9\t1\tnew\tyork"]


ROW = "a_b\t2.5\t9\t1\ta\tb\n"
HEAD = '# any2vec phrases {"joiner": "_"}\nphrase\tscore\tcount\tpass\tfirst\tsecond\n'
MORE = HEAD[:-1] + "\tconnectors\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is no file of phrases"),
        (b"new york\n", "is no file of phrases"),
        (b"\xff\xfe", "not UTF-8"),
        (HEAD.replace('"_"', "5"), "is no file of phrases"),
        (HEAD.replace("count", "cuont"), "is no file of phrases"),
        (HEAD + ROW.replace("2.5", "x"), "line 3: .* is not phrase, score"),
        (HEAD + ROW.replace("2.5", "nan"), "line 3: .* is no phrase"),
        (HEAD + ROW + ROW.replace("\ta\t", "\tc\t"), "line 4: .* is no phrase"),
        (HEAD + ROW.replace("\t1\t", "\t0\t"), "line 3: .* is no phrase"),
        (HEAD + ROW.replace("\t1\t", "\t2\t") + ROW, "ordered by pass"),
        (HEAD + ROW[:-1], "the file complete"),
        (HEAD + "\n", "line 3"),
        (HEAD.replace('"_"', '" "'), "`joiner` is ' '"),
        (HEAD.replace('"_"', '"_", "min_count": 0'), "`min_count` is 0"),
        (MORE + "a_of_b\t2\t9\t1\ta\tb\n", "line 3: .* is not phrase, .*, second, connectors"),
        (MORE + "a_of_b\t2\t9\t1\ta\tb\tof the\n", "line 3: .* is no phrase with its words"),
        (MORE + "a_b_c\t2\t9\t1\ta\tc\tb\nb_c\t2\t9\t1\tb\tc\t\n", "'b' is a connector word .*, and begins"),
        (HEAD.replace('"_"', '"_", "scoring": "mine"'), "`scoring` is 'mine'"),
        (HEAD.replace('"_"', '"_", "connector_words": 7'), "`connector_words` is 7"),
    ],
)
def test_files_that_are_none(tmp_path, text, message):
    (tmp_path / "p").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Any2VecError, match=message):
        Phrases.load(tmp_path / "p")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "`threshold` is 0; it must be a number above 0"),
        ({"threshold": float("nan")}, "`threshold` is nan"),
        ({"threshold": "100"}, "`threshold` is '100'"),
        ({"threshold": []}, "`threshold` has 0 numbers"),
        ({"threshold": [200, 100], "passes": 1}, "`threshold` has 2 numbers, `passes` 1"),
        ({"passes": 0}, "`passes` is 0"),
        ({"min_count": 0}, "`min_count` is 0"),
        ({"delta": -1}, "`delta` is -1"),
        ({"joiner": ""}, "`joiner` is ''"),
        ({"joiner": " "}, "`joiner` is ' '"),
        ({"joiner": 5}, "`joiner` is 5"),
        ({"joiner": "\0"}, "`joiner` is .*printable"),
        ({"joiner": "\ud800"}, "`joiner` is .*printable"),
        ({"threads": 0}, "`threads` is 0"),
        ({"within_lines": 1}, "`within_lines` is 1"),
        ({"column": 3}, "`column` is 3"),
        ({"scoring": "pmi"}, "`scoring` is 'pmi'; known are word2phrase, npmi"),
        ({"scoring": "npmi"}, r"`threshold` is 100.0; it must be a number from -1 to 1 with npmi \(0.5 is usual\)"),
        ({"scoring": "npmi", "threshold": [0.5, -1.1]}, "`threshold` is -1.1; it must be a number from -1 to 1"),
        ({"scoring": "npmi", "threshold": float("nan")}, "`threshold` is nan"),
        ({"scoring": "npmi", "threshold": 0.5, "delta": 3}, "`delta` is 3, but npmi has no discount; leave it out"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(Any2VecError, match=message):
        Phrases(**options).fit([["a", "b"]])


def test_mistakes(tmp_path):
    for use in (lambda: Phrases().transform([["a"]]), lambda: Phrases().save(tmp_path / "p")):
        with pytest.raises(Any2VecError, match="there are no phrases yet"):
            use()
    with pytest.raises(Any2VecError, match="the corpus is empty"):
        Phrases().fit([])
    with pytest.raises(Any2VecError, match="no such file"):
        Phrases().fit(tmp_path / "none")
    with pytest.raises(Any2VecError, match=r"`column` is 'text', but .* is text"):
        Phrases(column="text").fit(text_of(tmp_path, b"a b"))
    text = Phrases(threshold=0.1, min_count=1).fit_transform([["a b", "c"], ["a b", "c"]])
    with pytest.raises(Any2VecError, match="the token 'a b_c' cannot be written as text"):
        text.write(tmp_path / "out")
    with pytest.raises(Any2VecError, match=r"leave out the ending \.xz"):
        text.write(tmp_path / "out.xz")
    for use in (text.write, Phrases.load, Phrases(threshold=5).fit([["a"]]).save):
        with pytest.raises(Any2VecError, match="a path must be a str or a Path, not None"):
            use(None)
    tabs = Phrases(threshold=0.1, min_count=1).fit([["a\tb", "c"]] * 2)
    with pytest.raises(Any2VecError, match="holds a tab"):
        tabs.save(tmp_path / "p")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.txt"]


def test_temporary_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("any2vec.io.temporary._IN_MEMORY", tmp_path / "memory")
    with pytest.raises(Any2VecError, match="no temporary folder can be written"):
        Phrases().fit([["a"]])
    (tmp_path / "temporary").mkdir()
    text = Phrases(threshold=0.1, min_count=1).fit_transform([["a", "b"]] * 3)
    assert len(list((tmp_path / "temporary").glob("*.part"))) == 1
    del text
    (path,) = text_of(tmp_path, b"a b\0c")
    with pytest.raises(Any2VecError, match="line 1: a NUL byte"):
        Phrases().fit(path)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_bytes(a_text())
    return lambda *arguments, **more: CliRunner().invoke(app, ["phrases", *arguments], **more)


@pytest.mark.parametrize(
    ("flags", "how"),
    [
        ("--threshold 20,5 --min-count 4 --delta 3 --joiner -", {"threshold": [20, 5], "min_count": 4, "delta": 3}),
        ("--threshold 0.4,-0.2 --scoring npmi --connector-words words", CONNECTED | {"threshold": [0.4, -0.2]}),
    ],
)
def test_command(run, tmp_path, flags, how):
    (tmp_path / "words").write_text("w5\nw8\n")
    arguments = ["in.txt", *flags.split(), "--threads", "2"]
    result = run(*arguments, "-o", "out.txt", "--phrases", "found")
    assert result.exit_code == 0, result.output
    phrases = Phrases(**how, joiner="-" if "--joiner" in flags else "_")
    text = b"".join(phrases.fit_transform("in.txt").chunks())
    assert (tmp_path / "out.txt").read_bytes() == text
    assert passes_of(Phrases.load("found")) == passes_of(phrases)
    assert f"{phrases.words_:,} words, " in result.stderr
    form = ".2f" if "npmi" in flags else ",.0f"
    best = ", ".join(f"{phrase} {score:{form}}" for phrase, score in list(phrases.phrases_.items())[:2])
    assert f"{len(phrases.phrases_):,} phrases, the best are {best}" in result.stderr
    assert "the text is in out.txt" in result.stderr
    assert run(*arguments, "-o", "out.txt.gz", "-q").stderr == ""
    assert gzip.decompress((tmp_path / "out.txt.gz").read_bytes()) == text
    assert run(*arguments, "-o", "-", "-q").stdout_bytes == text


def test_command_reads_standard_input(run, tmp_path, monkeypatch):
    data = (tmp_path / "in.txt").read_bytes()
    result = run("-", "-o", "-", "--threshold", "20", input=data)
    assert result.exit_code == 0, result.output
    joined = naive_phrases(lines_in(data), [20])[1]
    assert result.stdout_bytes.decode() == "".join(" ".join(line) + "\n" for line in joined if line)


def test_command_without_phrases(run, tmp_path):
    result = run("in.txt", "-o", "out.txt", "--threshold", "1e9")
    assert result.exit_code == 0
    assert "no phrases: lower --threshold or --min-count" in result.stderr
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "in.txt").read_bytes() + b"\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.txt", "-o", "in.txt"], "in.txt: is, or lies in, what is read"),
        (["in.txt", "-o", "x", "--phrases", "x"], "cannot be both the text and the list of phrases"),
        (["in.txt", "-o", "-", "--phrases", "-"], "--phrases is '-'; it must be a file"),
        (["in.txt", "-o", "-", "--phrases", "in.txt"], "in.txt: is, or lies in, what is read"),
        (["in.txt", "-o", "x", "--threshold", "0"], "--threshold is 0.0; it must be a number above 0"),
        (
            ["in.txt", "-o", "x", "--scoring", "npmi"],
            "--threshold is 100.0; it must be a number from -1 to 1 with npmi",
        ),
        (["in.txt", "-o", "x", "--scoring", "pmi"], "--scoring is 'pmi'; known are word2phrase, npmi"),
        (["in.txt", "-o", "x", "--connector-words", "no"], "--connector-words must be 'english', a file of words, or"),
        (["in.txt", "-o", "x", "--threshold", "1,"], "--threshold is '1,'; it must be a number, or several"),
        (["in.txt", "-o", "x", "--threshold", "2,1", "--passes", "1"], "--threshold has 2 numbers, --passes 1"),
        (["in.txt", "-o", "x.zst"], "leave out the ending .zst"),
        (["in.txt", "-o", "none/x"], "the folder .*none does not exist"),
        (["none", "-o", "x"], "none: no such file"),
        (["/dev/null", "-o", "x"], "/dev/null: no words"),
    ],
)
def test_command_refuses(run, tmp_path, arguments, message):
    result = run(*arguments)
    assert isinstance(result.exception, Any2VecError)
    with pytest.raises(Any2VecError, match=message):
        raise result.exception
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_command_under_mpiexec(run, monkeypatch):
    monkeypatch.setattr("any2vec.cluster.connect", Two)
    result = run("in.txt", "-o", "x")
    assert "without mpiexec" in str(result.exception)


class Two:
    """A communicator of two hosts, as far as the command looks."""

    rank, size = 0, 2


@pytest.mark.parametrize(
    ("name", "message"), [("phrases_", "has found none yet: call fit first"), ("phrase", "has no attribute 'phrase'")]
)
def test_phrases_that_were_not_looked_for(name, message):
    with pytest.raises(AttributeError, match=f"this Phrases {message}"):
        getattr(Phrases(), name)
