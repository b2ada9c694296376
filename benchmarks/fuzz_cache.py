"""Damage entries of the cache of corpora: what is loaded is what was written, or it is noticed and built again.

`fuzz_formats.py` asks only that readers refuse or read what is damaged; here each corpus that is loaded is compared,
number by number. Most cases flip one bit, anywhere in the entry; the others damage it as `fuzz_formats.py` does.
"""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from fuzz_mutations import damaged
from options import SeedsOption
from tables import out, table

from any2vec.corpus import Corpus, read_corpus
from any2vec.corpus.cache_entry import FILES, load

WORDS = 400


def content(corpus: Corpus) -> tuple[Any, ...]:
    """Return all that training needs of a corpus."""
    numbers = (corpus.vocabulary.counts, corpus.worklist.ids, corpus.worklist.bounds, corpus.cuts)
    facts = corpus.raw_words, corpus.sentences, corpus.invalid, corpus.held, corpus.worklist.first
    return (list(corpus.vocabulary.words), *(array.tolist() for array in numbers), *facts)


def attack(folder: Path, name: str, cases: int, chance: random.Random) -> dict[str, int]:
    """Damage a file of an entry; count what happens, and what was loaded though it was wrong."""
    path, expected = folder / name, content(load(folder))  # type: ignore[arg-type]
    original = path.read_bytes()
    found = {"noticed": 0, "harmless": 0, "wrong": 0}
    for case in range(cases):
        if case % 10:
            flipped = bytearray(original)
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            path.write_bytes(flipped)
        else:
            path.write_bytes(damaged(original, chance))
        corpus = load(folder)
        outcome = "noticed" if corpus is None else "harmless" if content(corpus) == expected else "wrong"
        found[outcome] += 1
        del corpus  # before the file it is mapped from changes
    path.write_bytes(original)
    return found


def main(
    cases: Annotated[int, typer.Option(help="Damaged files, of each file of an entry.")] = 2_000,
    seeds: SeedsOption = "1",
) -> None:
    """Attack every file of an entry, and print what happened."""
    rows, wrong = [], 0
    with TemporaryDirectory() as name:
        text = Path(name, "text.txt")
        text.write_text("".join(f"word{i} word{i % 37} of {i % 7}\n" for i in range(WORDS)))
        entry = read_corpus(text, min_count=1, cache=Path(name, "cache")).folder
        for file in FILES[:-1]:  # the last one is of documents
            for seed in map(int, seeds.split(",")):
                found = attack(entry, file, cases, random.Random(f"{seed} {file}"))
                wrong += found["wrong"]
                rows.append((file, cases, found["noticed"], found["harmless"], found["wrong"]))
    table("damaged entries of the cache", ("file", "cases", "noticed", "harmless", "wrong"), rows)
    out.print(f"{wrong} wrong")
    raise typer.Exit(wrong > 0)


if __name__ == "__main__":
    typer.run(main)
