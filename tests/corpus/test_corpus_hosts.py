import bz2
import gzip
import io
import itertools
import json
import lzma
import os
import random
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_corpus import found, naive, naive_cuts
from small_texts import TEXTS, some_text

from any2vec.cluster import local
from any2vec.corpus import blocks, read_corpus
from any2vec.corpus.blocks import check_same_fingerprint, corpus_fingerprint
from any2vec.errors import Any2VecError
from any2vec.io.inputs import files_of

pytestmark = pytest.mark.usefixtures("clean_cache")


def simulate(hosts, program):
    """Return what each host's program returns, or its error: some tests look at those of all hosts."""

    def attempt(host):
        try:
            return program(host)
        except Any2VecError as error:
            return error

    return local.simulate(hosts, 2, attempt)


def corpora(source, hosts, **options):
    """Return what each host of a cluster reads."""
    return local.simulate(hosts, 2, lambda host: read_corpus(source, communicator=host, **options))


def different(sources, options=()):
    """Return the message that all hosts give, where they are given different things."""
    options = options or [{}] * len(sources)
    errors = simulate(
        len(sources), lambda host: read_corpus(sources[host.rank], communicator=host, **options[host.rank])
    )
    assert all(isinstance(error, Any2VecError) for error in errors), errors
    (message,) = {str(error) for error in errors}
    assert "\n" not in message
    return message


def refused(source, hosts, **options):
    return different([source] * hosts, [options] * hosts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


def check_parts(whole, parts):
    """Check that hosts that read their own parts find what one process finds that holds all of them."""
    assert whole.held == range(whole.hosts)
    assert whole.hosts == len(parts)
    for host, part in enumerate(parts):
        assert part.held == range(host, host + 1)
        assert list(part.vocabulary.words) == list(whole.vocabulary.words)
        assert part.vocabulary.counts.tolist() == whole.vocabulary.counts.tolist()
        assert part.cuts.tolist() == whole.cuts.tolist()
        totals = [(c.raw_words, c.sentences, c.invalid) for c in (whole, part)]
        assert totals[0] == totals[1]
        for mine in (part.worklist, part.part(host)):
            check_same_worklist(mine, whole.part(host))
    assert np.concatenate([part.worklist.ids for part in parts]).tolist() == whole.worklist.ids.tolist()


def check_same_worklist(one, two):
    assert one.first == two.first
    assert one.ids.tolist() == two.ids.tolist()
    assert one.bounds.tolist() == two.bounds.tolist()
    assert one.bounds[0] == 0
    assert one.bounds[-1] == len(one.ids)
    one.release()


def check_cuts(corpus):
    cuts, bounds = corpus.cuts.tolist(), corpus.worklist.bounds.tolist()
    assert (cuts[0], cuts[-1]) == (0, len(corpus.worklist.ids))
    assert cuts == sorted(cuts)
    assert set(cuts) <= set(bounds)
    ids = [corpus.part(host).ids for host in range(corpus.hosts)]
    assert np.concatenate(ids).tolist() == corpus.worklist.ids.tolist()


def kept_by_line(texts, corpus):
    """Say of each line how many words of the vocabulary it has."""
    ids = corpus.vocabulary.ids
    lines = (line for text in texts for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return [sum(word.decode(errors="replace") in ids for word in line.split()) for line in lines]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=3),
    st.sampled_from([1, 2, 3, 8]),
    st.sampled_from([(1, 1), (1, 7), (2, 7), (3, 20), (4, 60), (1, 60), (1, 1 << 22)]),
    st.integers(1, 2),
    st.none() | st.integers(2, 5),
    st.lists(st.sampled_from(["txt", "gz", "xz"]), min_size=3, max_size=3),
)
def test_hosts_alone_and_together_find_the_same(folder, texts, hosts, threads_and_block, min_count, max_size, kinds):
    threads, block = threads_and_block
    packs = {"txt": bytes, "gz": gzip.compress, "xz": lzma.compress}
    paths = [folder / f"{i}.{kind}" for i, kind in zip(range(len(texts)), kinds, strict=False)]
    for path, text, kind in zip(paths, texts, kinds, strict=False):
        path.write_bytes(packs[kind](text))
    options = {"min_count": min_count, "max_size": max_size, "threads": threads, "cache": None, "block": block}
    expected = naive(texts, min_count, max_size)
    if len(expected[0]) < 2 or len(expected[2]) < hosts:
        with pytest.raises(Any2VecError) as caught:
            read_corpus(paths, hosts=hosts, **options)
        assert hosts == 1 or refused(paths, hosts, **options) == str(caught.value)
        return
    whole = read_corpus(paths, hosts=hosts, **options)
    assert found(whole) == expected
    check_cuts(whole)
    if all(path.suffix == ".txt" for path in paths):
        assert whole.cuts.tolist() == naive_cuts(texts, kept_by_line(texts, whole), hosts)
    if hosts > 1:
        check_parts(whole, corpora(paths, hosts, **options))


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [2, 5])
@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", lambda text: bz2.compress(text, 1)),
        ("xz", lzma.compress),
        ("zst", zstandard.compress),
    ],
)
def test_compressed_files_are_cut_evenly(tmp_path, ending, compress, hosts):
    draw = random.Random(1)
    text = b"".join(b"%d%s" % (draw.randrange(10**9), b"\n" if i % 7 == 0 else b" a b ") for i in range(60_000))
    path = tmp_path / f"t.{ending}"
    path.write_bytes(compress(text))
    whole = read_corpus(path, min_count=1, hosts=hosts, block=50_000)
    check_cuts(whole)
    share = np.diff(whole.cuts) * hosts / whole.cuts[-1]
    assert share.min() > 0.2  # bz2 is read some blocks of its own ahead
    assert share.max() < 2
    check_parts(whole, corpora(path, hosts, min_count=1, block=50_000))
    plain = tmp_path / "u.txt"
    plain.write_bytes(some_text())
    mixed = [plain, path, plain]
    check_parts(read_corpus(mixed, hosts=hosts), corpora(mixed, hosts))


@pytest.mark.parametrize("ending", ["txt", "gz"])
def test_a_line_longer_than_several_parts_leaves_hosts_without_words(tmp_path, ending):
    giant = some_text(30_000).replace(b"\n", b" ")
    text = b"a b\na c\n" + giant + b"\nd e\nf g\nh i\n" + b"j k\n" * 9
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text) if ending == "gz" else text)
    for block in (5000, 1 << 22):
        whole = read_corpus(path, min_count=1, hosts=6, cache=None, block=block)
        check_cuts(whole)
        sizes = np.diff(whole.cuts).tolist()
        assert sizes[0] == 30_004
        if ending == "txt":
            assert sizes[1:] == [0, 0, 0, 0, 24]
        empty = whole.part(2)
        assert (len(empty), empty.bounds.tolist(), len(empty.ids), empty.first) == (0, [0], 0, 30_004)
        check_parts(whole, corpora(path, 6, min_count=1, cache=None, block=block))
    kept = corpora(path, 6, min_count=1)
    check_parts(whole, kept)
    assert not any(part.cached for part in kept)
    again = corpora(path, 6, min_count=1)
    assert all(part.cached for part in again)
    check_parts(whole, again)


def test_a_host_of_a_cluster_reads_only_its_part(tmp_path, monkeypatch):
    text = b"a b c d e f\n" * 3000
    (tmp_path / "t").write_bytes(text)
    really_fill, read = blocks.fill, {}

    def fill(stream, room):
        start = stream.tell()
        count = really_fill(stream, room)
        read.setdefault(threading.current_thread().name, []).append((start, start + count))
        return count

    monkeypatch.setattr(blocks, "fill", fill)
    calls = {}

    def program(host):
        threading.current_thread().name = str(host.rank)
        told = calls.setdefault(host.rank, [])
        return read_corpus(tmp_path / "t", communicator=host, progress=lambda *call: told.append(call), block=4000)

    read_corpora = simulate(3, program)
    assert len(text) == 36_000
    ranges = {name: (min(a for a, _ in spans), max(b for _, b in spans)) for name, spans in read.items()}
    assert ranges == {"0": (0, 12_011 - 12), "1": (12_011 - 12, 24_011 - 12), "2": (24_011 - 12, 36_000)}
    assert [part.raw_words for part in read_corpora] == [18_000] * 3
    assert {told[-1] for told in calls.values()} <= {(11_999, 12_000), (12_000, 12_000)}


def test_hosts_hold_only_their_own_part(tmp_path):
    (tmp_path / "t").write_bytes(b"a b\n" * 100)
    part = corpora(tmp_path / "t", 2)[1]
    assert (part.hosts, part.held) == (2, range(1, 2))
    with pytest.raises(IndexError, match="host 0"):
        part.part(0)


def test_a_communicator_of_one_host_is_no_cluster(tmp_path):
    corpus = read_corpus([["a", "b"]] * 5, communicator=local.alone())
    assert corpus.cuts.tolist() == [0, 10]


@pytest.mark.parametrize("hosts", [1, 2, 3, 7])
def test_text_of_unknown_size_is_cut_by_words(monkeypatch, hosts):
    text = b"a b a\nb\na b a b a\n\nc\nb b\na a\nb\nb a\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    one = read_corpus("-", min_count=2, hosts=hosts)
    two = read_corpus([line.split() for line in text.decode().split("\n")], min_count=2, hosts=hosts)
    for corpus in (one, two):
        check_cuts(corpus)
        bounds = corpus.worklist.bounds.tolist()
        expected = [min(at for at in bounds if at * hosts >= 16 * host) for host in range(hosts + 1)]
        assert corpus.cuts.tolist() == expected


def test_fewer_sentences_than_hosts(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"a b " * 500 + b"\n\nc\n\na b\n")
    said = "3 hosts, but the corpus has 2 sentences with words of the vocabulary; a line is a sentence"
    with pytest.raises(Any2VecError, match=said):
        read_corpus(path, hosts=3)
    assert refused(path, 3).startswith(said)
    with pytest.raises(Any2VecError, match=r"2 hosts, .* 1 sentence with .*; a sentence is never cut: use fewer"):
        read_corpus([["a", "b"]], min_count=1, hosts=2)
    assert refused(path, 3, cache=None).startswith(said)


SENTENCES = [["a", "b"], [], ["c"], ["a", "c", "a"], ["b"], [5, "d"], ["é", "a", 5], ["rare"], ["b", "c"], ["d", "a"]]


@pytest.mark.parametrize("ends", [[0, 5, 10], [0, 1, 4, 10], [0, 3, 4, 5, 6, 9, 10]])
@pytest.mark.parametrize("options", [{}, {"min_count": 2, "max_size": 4}])
def test_each_host_gives_its_own_sentences(ends, options):
    options = {"min_count": 1} | options
    given = [SENTENCES[low:high] for low, high in itertools.pairwise(ends)]
    whole = read_corpus(SENTENCES, **options)
    parts = simulate(len(given), lambda host: read_corpus(iter(given[host.rank]), communicator=host, **options))
    words = [sum(str(token) in whole.vocabulary.ids for sentence in part for token in sentence) for part in given]
    check_parts(replace(whole, cuts=np.cumsum([0, *words]), held=range(len(given))), parts)
    assert not any(part.cached for part in parts)


def test_hosts_whose_sentences_do_not_do():
    good, told = [["a", "b"]] * 3, "host 1 gave no sentence with words of the vocabulary; each host"
    assert different([good, []], [{"min_count": 1}] * 2).startswith(told)
    assert different([good, [["c"]]], [{"min_count": 2}] * 2).startswith(told)
    assert "the corpus is empty" in different([[], iter([])])
    assert different([good, iter(["a b"])]).startswith("host 1: sentence 0 is a str ('a b')")
    assert "3 hosts, but the corpus has 2 sentences with words" in different(
        [[["a", "b"]], [["a"]], []], [{"min_count": 1}] * 3
    )
    with pytest.raises(ZeroDivisionError):
        simulate(2, lambda host: read_corpus(([str(1 // host.rank)] for _ in range(9)), communicator=host))


def test_hosts_that_give_files_and_sentences(tmp_path):
    (tmp_path / "t").write_bytes(b"a b\n" * 9)
    message = different([tmp_path / "t", [["a", "b"]] * 9])
    assert "the source is files on host 0, sentences in memory on host 1" in message


def test_hosts_must_be_a_number_and_fit(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"a b\n" * 9)
    for hosts in (0, 1.5, None, True):
        with pytest.raises(Any2VecError, match="`hosts` is"):
            read_corpus(path, hosts=hosts)
    assert "`hosts` is 3, but the communicator has 2 hosts" in different([path, path], [{"hosts": 3}] * 2)
    assert simulate(2, lambda host: read_corpus(path, communicator=host, hosts=2))[0].hosts == 2


def test_what_a_cluster_cannot_share(tmp_path):
    assert "standard input: each host of a cluster reads a part" in refused("-", 2)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert f"{tmp_path}/pipe: each host of a cluster" in refused(tmp_path / "pipe", 2)


def test_hosts_that_see_different_corpora(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"a b\n" * 100)
    b.write_bytes(b"a b\n" * 101)
    assert different([a, a, b]).startswith(f"hosts 0 and 2 see different corpora: {a} on host 0, {b} on host 2; ")
    assert f"{a} on host 0" in different([[a, b], [b, a]])
    assert "2 files on host 0, 1 on host 1" in different([[a, b], a])
    assert "min_count is 5 on host 0, 6 on host 1" in different([a, a], [{}, {"min_count": 6}])
    assert "max_size is None on host 0, 3 on host 1" in different([a, a], [{}, {"max_size": 3}])
    assert "cache is True on host 0, False on host 1" in different([a, a], [{}, {"cache": None}])


def test_hosts_that_see_different_files_of_one_name(tmp_path):
    texts = [b"a b\n" * 100, b"a c\n" * 100, b"a b\n" * 102]
    for i, text in enumerate(texts):
        (tmp_path / str(i)).write_bytes(text)

    def seen(i):
        found = corpus_fingerprint(files_of(tmp_path / str(i)), {})
        found["files"][0][0] = "t"
        return found

    for other, why in (1, "has other bytes on host 0 than on host 1"), (2, "has 400 bytes on host 0, 408 on host 1"):
        errors = simulate(2, lambda host, other=other: check_same_fingerprint(host, seen(other * host.rank)))
        assert {str(error) for error in errors} == {
            f"hosts 0 and 1 see different corpora: t {why}; give all hosts the same"
        }


def test_what_is_wrong_on_one_host_ends_all(tmp_path, monkeypatch, full):
    a = tmp_path / "a"
    a.write_bytes(b"a b\n" * 100)
    assert different([a, tmp_path / "no"]) == f"host 1: {tmp_path}/no: no such file or directory"
    assert different([a, a], [{}, {"min_count": 0}]).startswith("host 1: `min_count` is 0")
    (tmp_path / "file").touch()
    message = different([a, a, a], [{}, {}, {"cache": tmp_path / "file" / "cache"}])
    assert message.startswith(f"host 2: {tmp_path}/file/cache: the cache folder cannot be made")

    places = ("any2vec.corpus.tokenizer.scan", "any2vec.corpus.scan.remap")
    for place in (*places, "any2vec.corpus.cache_entry._sums", "pathlib.Path.rename"):
        for options in ({}, {"cache": None}):
            if place not in places and options:
                continue
            with monkeypatch.context() as patch:
                patch.setattr(place, full)
                message = refused(a, 3, **options)
            assert message.startswith("host 0: ")
            assert "No space left on device" in message


@pytest.mark.parametrize("ending", ["txt", "gz"])
def test_lines_are_counted_from_the_start_of_the_file(tmp_path, ending):
    text = b"a b\n" * 5000 + b"c\0d\n" + b"a b\n" * 10
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text) if ending == "gz" else text)
    assert f"{path}, line 5,001: a NUL byte" in refused([path, path], 4, block=999)
    with pytest.raises(Any2VecError, match="line 5,001: a NUL"):
        read_corpus([path, path], hosts=4, block=999)


def test_lines_of_standard_input_behind_a_byte_order_mark(monkeypatch):
    stream = io.BytesIO(b"\xef\xbb\xbfa b\nc\0d\n" + b"a\n" * 300_000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    with pytest.raises(Any2VecError, match="standard input, line 2: a NUL"):
        read_corpus("-", block=50)
    assert stream.tell() < 500_000


def test_the_cache_keeps_an_entry_for_each_host_and_number_of_hosts(tmp_path, cache):
    path = tmp_path / "t"
    path.write_bytes(some_text())
    one, many = read_corpus(path), read_corpus(path, hosts=3)
    assert not many.cached
    again = read_corpus(path, hosts=3)
    assert again.cached
    assert again.cuts.tolist() == many.cuts.tolist()
    assert read_corpus(path).cuts.tolist() == one.cuts.tolist() == [0, many.cuts[-1]]
    first, second = corpora(path, 3), corpora(path, 3)
    assert [part.cached for part in first + second] == [False] * 3 + [True] * 3
    check_parts(again, first)
    check_parts(again, second)
    assert len(list(cache.iterdir())) == 5


@pytest.mark.parametrize("damage", ["missing", "other"])
def test_if_one_host_misses_all_build_anew(tmp_path, damage):
    path = tmp_path / "t"
    path.write_bytes(some_text())
    expected = read_corpus(path, hosts=3)
    folder = corpora(path, 3)[1].folder
    if damage == "missing":
        (folder / "ids.int32").unlink()
    else:  # of another corpus, whose size and times were the same
        meta = json.loads((folder / "meta.json").read_text())
        meta["facts"]["raw_words"] += 1
        (folder / "meta.json").write_text(json.dumps(meta))
    anew = corpora(path, 3)
    assert [part.cached for part in anew] == [False] * 3
    check_parts(expected, anew)
    assert all(part.cached for part in corpora(path, 3))
