"""Make texts with labels from packages: other languages, documentation, definitions, source code.

Debian's packages are downloaded and unpacked, not installed (`apt-get download`, `dpkg -x`); Python's are those of this
environment. Each text is a document a line, NAME.txt, with a label for each line in NAME.labels:

- german, french: manual pages (manpages-de, manpages-fr and their -dev), labelled by section;
- kernel: paragraphs of the documentation of Linux (linux-doc-6.1), by folder;
- dictionary: definitions of GCIDE (dict-gcide), by the kind of word;
- glosses: definitions of WordNet (wordnet-base), by the 45 files of its lexicographers;
- docstrings, code: of Python packages, by package.
"""

import ast
import gzip
import re
import site
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["unpack"]

_PACKAGES = ("manpages-de", "manpages-de-dev", "manpages-fr", "manpages-fr-dev", "linux-doc-6.1", "dict-gcide")
_PACKAGES += ("wordnet-base",)
_Documents = Iterator[tuple[str, str]]  # the label and the text of each
_SHORTEST = 5  # words of a document


def _manual(folder: Path, language: str) -> _Documents:
    for path in sorted(folder.glob(f"usr/share/man/{language}/man*/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        text = re.sub(r'^[.\']\\".*$|^\.\w+|\\f.|\\[-&/,|^ ]|\\\(\w\w|\\\[\w+\]', " ", text, flags=re.MULTILINE)
        yield path.parent.name, text


def _kernel(folder: Path) -> _Documents:
    root = folder / "usr/share/doc/linux-doc-6.1/Documentation"
    for path in sorted([*root.rglob("*.rst*"), *root.rglob("*.txt*")]):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
        label = path.relative_to(root).parts[0]
        yield from ((label, paragraph) for paragraph in text.split("\n\n"))


def _dictionary(folder: Path) -> _Documents:
    text = gzip.decompress((folder / "usr/share/dictd/gcide.dict.dz").read_bytes()).decode("utf-8", "replace")
    for entry in re.split(r"\n(?=\S)", text):
        kind = re.search(r"\\, ([a-z]+)\.", entry)
        yield kind[1] if kind else "other", entry


def _glosses(folder: Path) -> _Documents:
    for path in sorted(folder.glob("usr/share/wordnet/data.*")):
        for line in path.read_text("utf-8").splitlines():
            if not line.startswith("  "):
                yield f"{path.suffix[1:]}{line.split()[1]}", line.split("|", 1)[1]


def _code(whole: bool) -> _Documents:
    root = Path(site.getsitepackages()[0])
    for path in sorted(root.rglob("*.py")):
        label = path.relative_to(root).parts[0]
        try:
            text = path.read_text("utf-8")
            tree = ast.parse(text)
        except (UnicodeDecodeError, SyntaxError, ValueError):
            continue
        if whole:
            yield label, text
        else:
            kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
            yield from ((label, ast.get_docstring(node) or "") for node in ast.walk(tree) if isinstance(node, kinds))


def unpack(folder: Path, packages: Iterable[str]) -> Path:
    """Download packages of Debian to a folder, once, and return the folder that they are unpacked in."""
    unpacked = folder / "packages"
    if not unpacked.exists():
        unpacked.mkdir(parents=True)
        subprocess.run(["apt-get", "download", *packages], cwd=folder, check=True)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, unpacked], check=True)
    return unpacked


def main(
    folder: Annotated[Path, typer.Argument(help="For packages and texts.")],
    names: Annotated[str, typer.Option(help="Texts.")] = "german,french,kernel,dictionary,glosses,docstrings,code",
) -> None:
    """Write NAME.txt and NAME.labels for each text, and print its size."""
    unpacked = unpack(folder, _PACKAGES)
    made = {
        "german": lambda: _manual(unpacked, "de"),
        "french": lambda: _manual(unpacked, "fr"),
        "kernel": lambda: _kernel(unpacked),
        "dictionary": lambda: _dictionary(unpacked),
        "glosses": lambda: _glosses(unpacked),
        "docstrings": lambda: _code(whole=False),
        "code": lambda: _code(whole=True),
    }
    for name in names.split(","):
        token = r"\w+|[^\w\s]" if name == "code" else r"\w+"
        lines, labels, seen = [], [], set()
        for label, text in made[name]():
            words = re.findall(token, text if name == "code" else text.lower())
            line = " ".join(words)
            if len(words) >= _SHORTEST and line not in seen:
                seen.add(line)
                lines.append(line)
                labels.append(label)
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        (folder / f"{name}.labels").write_text("\n".join(labels) + "\n", "utf-8")
        number = sum(line.count(" ") + 1 for line in lines)
        print(f"{name}: {len(lines):,} documents, {number:,} words, {len(set(labels))} labels", flush=True)


if __name__ == "__main__":
    typer.run(main)
