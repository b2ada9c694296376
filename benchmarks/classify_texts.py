"""Make texts with labels to train and test classifiers, as fastText has them: `__label__a __label__b words ...`.

Writes NAME.train.txt and NAME.test.txt, their lines in an order drawn once; no line is in both. The same versions of
packages give the same texts.

- imdb: the sign of IMDb's reviews; trained on the first 25,000 of documents.py, tested on the next 25,000;
- languages: translated messages of programs (Debian's packages), as they are, by language;
- synsets: entries of WordNet, words and definition, by a kind of thing: the nearest hypernym that has many below it;
- tags: descriptions of Debian's packages, by their tags, several each; packages of one source are in one part.

    python benchmarks/classify_texts.py texts --imdb imdb-reviews.txt.xz
"""

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from texts import beginning
from texts_made import unpack

_PACKAGES = ("evolution-common", "gimp-data", "gnucash-common", "vlc-l10n", "wordpress-l10n", "wordnet-base")
_DEBIAN = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"
_TESTED = 0.2  # share of groups
_LETTERS = 8  # at least, of a message
_MESSAGES = (4_000, 10_000)  # at least and at most, of a language
_BELOW = 50  # synsets below a label, at least
_LABELLED = 50  # lines of a label, at least; of tags, too
_SIGNS = ("negative", "positive", "negative", "positive")  # of 12,500 reviews each


class _Line(NamedTuple):
    """A line to learn: its labels, its text, and a name of the lines that are in the same part as it."""

    labels: tuple[str, ...]
    text: str
    group: str


def _tokens(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _imdb(corpus: Path, folder: Path) -> tuple[list[_Line], list[_Line]]:
    lines = beginning(corpus, folder / "imdb.txt", None).read_text("utf-8").splitlines()
    made = [_Line((_SIGNS[i // 12_500],), lines[i], "") for i in range(50_000)]
    return made[:25_000], made[25_000:]


def _messages(unpacked: Path) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each message, and of what it translates, from files of GNU gettext."""
    for path in sorted(unpacked.rglob("*.mo")):
        locale = path.parent.parent.name if path.parent.name == "LC_MESSAGES" else path.stem.rpartition("-")[2]
        language = re.split("[_@]", locale)[0]
        data = path.read_bytes()
        number, *tables = np.frombuffer(data, "<u4", 3, 8).tolist()
        sources, targets = (np.frombuffer(data, "<u4", 2 * number, at).reshape(-1, 2).tolist() for at in tables)
        for source, target in zip(sources, targets, strict=True):
            there, here = (data[at : at + size].decode().rpartition("\4")[2] for size, at in (source, target))
            if there and language != "en":
                yield from (("en", text) for text in there.split("\0"))
                yield from ((language, text) for text in here.split("\0") if text not in there.split("\0"))


def _languages(unpacked: Path) -> Iterator[_Line]:
    known: dict[str, set[str]] = defaultdict(set)  # the languages of a message; its letters stand for it
    shown: dict[str, str] = {}
    for language, text in dict.fromkeys(_messages(unpacked)):
        letters = "".join(filter(str.isalpha, text.casefold()))
        if len(letters) >= _LETTERS:
            known[letters].add(language)
            shown.setdefault(letters, " ".join(text.split()))
    by_language: dict[str, list[str]] = defaultdict(list)
    for letters, languages in known.items():
        if len(languages) == 1:
            by_language[min(languages)].append(letters)
    for language, messages in sorted(by_language.items()):
        if len(messages) >= _MESSAGES[0]:
            for i in np.random.default_rng(0).permutation(len(messages))[: _MESSAGES[1]]:
                yield _Line((language,), shown[messages[i]], messages[i])


def _synsets(unpacked: Path) -> Iterator[_Line]:
    above: dict[str, str] = {}
    entries: dict[str, tuple[str, str]] = {}  # the first word and the text
    for kind in ("noun", "verb"):
        for line in (unpacked / f"usr/share/wordnet/data.{kind}").read_text("utf-8").splitlines():
            if not line.startswith("  "):
                facts, _, gloss = line.partition("|")
                parts = facts.split()
                words = parts[4 : 4 + 2 * int(parts[3], 16) : 2]
                synset = kind[0] + parts[0]
                entries[synset] = words[0], _tokens(f"{' '.join(words).replace('_', ' ')} {gloss}")
                if parent := re.search(r" @i? (\d{8}) ", facts):
                    above[synset] = kind[0] + parent[1]
    below: Counter[str] = Counter()
    for synset in above:
        while synset := above.get(synset, ""):
            below[synset] += 1
    for synset, (_, text) in entries.items():
        label = above.get(synset, "")
        while label and below[label] < _BELOW:
            label = above.get(label, "")
        if label:
            yield _Line((f"{entries[label][0]}-{label}",), text, text)


def _index(folder: Path, part: str) -> list[dict[str, str]]:
    """Return the entries of Debian's list of packages, or of their descriptions: fields and values."""
    lists, sources = folder / "lists", folder / "sources.list"
    if not lists.exists():
        (lists / "partial").mkdir(parents=True)
        sources.write_text(_DEBIAN, "utf-8")
        places = {"State::Lists": lists.absolute(), "Etc::SourceList": sources.absolute(), "Etc::SourceParts": "-"}
        options = [f"-oDir::{name}={value}" for name, value in places.items()]
        subprocess.run(["apt-get", "update", *options, "-oAcquire::Languages=en"], check=True)
    file = next(lists.glob(f"*{part}*"))
    text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", file], stdout=subprocess.PIPE, check=True).stdout
    return [dict(re.findall(r"(?m)^(\S+?): (.*(?:\n .*)*)", entry)) for entry in text.decode("utf-8").split("\n\n")]


def _tags(folder: Path) -> Iterator[_Line]:
    described = {
        entry.get("Description-md5"): entry.get("Description-en", "") for entry in _index(folder, "Translation")
    }
    for entry in _index(folder, "Packages"):
        if "Tag" in entry:
            source = entry.get("Source", entry["Package"]).split()[0]
            tags = tuple(dict.fromkeys(re.split(r",\s+", entry["Tag"])))
            yield _Line(tags, _tokens(described.get(entry["Description-md5"], "")), source)


def _frequent(lines: Iterable[_Line]) -> list[_Line]:
    """Leave out rare labels, lines without labels or words, and lines whose text was there before."""
    kept = list({line.text: line for line in reversed(list(lines)) if line.text}.values())[::-1]
    counts = Counter(label for line in kept for label in line.labels)
    kept = [line._replace(labels=tuple(x for x in line.labels if counts[x] >= _LABELLED)) for line in kept]
    return [line for line in kept if line.labels]


def _parts(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    groups = sorted({line.group for line in lines})
    tested = {groups[i] for i in np.random.default_rng(0).permutation(len(groups))[: int(_TESTED * len(groups))]}
    return [line for line in lines if line.group not in tested], [line for line in lines if line.group in tested]


def main(
    folder: Annotated[Path, typer.Argument(help="For packages and texts.")],
    names: Annotated[str, typer.Option(help="Texts.")] = "imdb,languages,synsets,tags",
    imdb: Annotated[Path | None, typer.Option(help="All IMDb reviews, a line each.", exists=True)] = None,
) -> None:
    """Write the two parts of each text, and print their sizes."""
    unpacked = unpack(folder, _PACKAGES)
    made = {"languages": lambda: _languages(unpacked), "synsets": lambda: _synsets(unpacked)}
    made |= {"tags": lambda: _tags(folder)}
    for name in names.split(","):
        if name != "imdb":
            parts = _parts(_frequent(made[name]()))
        elif imdb is None:
            raise typer.BadParameter("imdb: give the reviews with --imdb")
        else:
            parts = _imdb(imdb, folder)
        for part, lines in zip(("train", "test"), parts, strict=True):
            with (folder / f"{name}.{part}.txt").open("w", encoding="utf-8") as file:
                for i in np.random.default_rng(1).permutation(len(lines)):
                    print(*(f"__label__{label}" for label in lines[i].labels), lines[i].text, file=file)
            words = sum(len(line.text.split()) for line in lines)
            given = Counter(label for line in lines for label in line.labels)
            print(
                f"{name}.{part}: {len(lines):,} lines, {words:,} words, {words / len(lines):.1f} a line; "
                f"{len(given):,} labels, {given.total() / len(lines):.2f} a line, "
                f"{min(given.values()):,} to {max(given.values()):,} lines each",
                flush=True,
            )


if __name__ == "__main__":
    typer.run(main)
