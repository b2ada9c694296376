"""Connector words: how they are given, kept, and joined; NPMI beside them."""

import pytest
from test_phrases import passes_of, text_of

from any2vec import Any2VecError, Phrases
from any2vec.corpus import read_corpus

LINES = [
    ["the", "bank", "of", "america", "is", "big"],
    ["the", "bank", "of", "the", "america", "of", "old"],
    ["america", "of", "the", "bank", "is", "of", "old"],
] * 9
HOW = {"threshold": 0.9, "min_count": 2}


def test_phrases_begin_and_end_with_other_words():
    phrases = Phrases(threshold=0.5, min_count=1, connector_words=["of", "the"], within_lines=True)
    assert list(phrases.fit_transform(LINES))[:3] == [
        ["the", "bank_of_america", "is_big"],
        ["the", "bank_of_the_america", "of", "old"],
        ["america_of_the_bank", "is_of_old"],
    ]
    assert phrases.counts_ == {
        **dict.fromkeys(["bank_of_america", "bank_of_the_america", "america_of_the_bank"], 9),
        **dict.fromkeys(["america_is", "america_of_old", "bank_is", "is_big", "is_of_old"], 9),
    }
    twice = Phrases(threshold=0.5, min_count=1, connector_words=["of", "the"], within_lines=True, passes=2)
    assert next(iter(twice.fit_transform(LINES))) == ["the", "bank_of_america_is_big"]


def test_each_way_to_give_them_is_the_same(tmp_path):
    (tmp_path / "words").write_text("\ufeffof the\nof\n", "utf-8")
    found = Phrases(**HOW, connector_words=["of", "the"]).fit(LINES)
    assert any("_of_the_" in phrase for phrase in found.phrases_)
    for given in ("of", "the"), {"the", "of"}, dict.fromkeys(["of", "the"]), tmp_path / "words", f"{tmp_path}/words":
        other = Phrases(**HOW, connector_words=given).fit(LINES)
        assert passes_of(other) == passes_of(found)
        assert other.transform(LINES).phrases.digest == found.transform(LINES).phrases.digest
    numbers = [[{"of": 1, "the": 2, "bank": 3}.get(word, word) for word in line] for line in LINES]
    assert "3_1_america" in Phrases(**HOW, connector_words=[1, 2]).fit(numbers).phrases_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "`connector_words` is 5; it must be 'english', a file of words, or a list of words"),
        ("", "`connector_words` is ''; it must be 'english'"),
        (b"of", "`connector_words` is b'of'; it must"),
        (["of the"], "`connector_words` has 'of the'; each must be a word, a str without whitespace"),
        (["of", 1.5], "`connector_words` has 1.5"),
        ([""], "`connector_words` has ''"),
        (["\ud800"], "`connector_words` has "),
        ("french", "french: .*; `connector_words` must be 'english', a file of words, or a list of words"),
        ("empty", "empty: has no word"),
        ("latin", "latin, line 2: not UTF-8 text"),
        ("picture", "picture: this is an image"),
    ],
)
def test_bad_connector_words(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "latin").write_bytes(b"of\n\xe9\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(Any2VecError, match=message):
        Phrases(connector_words=given).fit(LINES)


def test_the_file_of_phrases_has_them(tmp_path):
    (tmp_path / "words").write_text("of the")
    Phrases(**HOW, connector_words=tmp_path / "words").fit(LINES).save(tmp_path / "p")
    title, names, *rows = (tmp_path / "p").read_text().splitlines()
    assert title.endswith(', "connector_words": ["of", "the"]}')
    assert names == "phrase\tscore\tcount\tpass\tfirst\tsecond\tconnectors"
    assert "big_the_bank\t5.185185\t9\t1\tbig\tbank\tthe" in rows
    assert "is_big\t7.7777777\t9\t1\tis\tbig\t" in rows


def test_a_run_of_many_connector_words_over_many_blocks(tmp_path):
    run = ["of", "the"] * 700
    lines = [["a", *run, "b"], ["a", *run], ["a", "of", "b"]] * 2
    (path,) = text_of(tmp_path, "".join(" ".join(line) + "\n" for line in lines).encode())
    for block in (7, 1 << 20):
        phrases = Phrases(threshold=0.1, min_count=1, connector_words=["of", "the"], within_lines=True, threads=2)
        phrases._block = block
        text = phrases.fit_transform(path)
        assert list(text) == list(phrases.transform(lines)) == [["_".join(lines[0])], lines[1], ["a_of_b"]] * 2
        assert read_corpus(text, min_count=1, cache=None).raw_words == 2 * (1 + 1401 + 1)
