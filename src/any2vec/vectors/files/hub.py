"""Vectors on the Hugging Face Hub: any2vec's own folder as a repository, with a model card."""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from any2vec.errors import Any2VecError, escaped, library, shown
from any2vec.io.memory import check_finite
from any2vec.io.temporary import temporary_folder
from any2vec.options import as_path
from any2vec.vectors.files import NATIVE, save
from any2vec.vectors.files.native import DOCUMENTS, FILES, MODEL, load_native
from any2vec.vectors.lookup import Lookup

if TYPE_CHECKING:
    from any2vec.report import Report


_FILES = {"cache", "checkpoint", "features", "frozen", "log", "pretrained", "resume", "start", "vocabulary"}
"""Options that may name files, which mean nothing elsewhere and are nobody's business."""
_FIGURES = {
    "words": "{kind} of the {corpus}",
    "kept_words": "of these, in the vocabulary",
    "words_per_second": "{kind} per second of training",
    "threads": "threads per host",
    "hosts": "hosts",
    "round_count": "rounds per epoch",
    "scheme": "communication",
}
_OURS = [*FILES, MODEL, f"{DOCUMENTS}/*"]  # patterns of our files
_SHOWN = 5  # words


def without_files(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options but for those that name files of this machine."""
    return {
        name: value
        for name, value in options.items()
        if not isinstance(value, Path) and not (name in _FILES and isinstance(value, str))
    }


def model_card(vectors: Lookup, repo: str, report: "Report | None", loader: str, about: Mapping[str, Any]) -> str:
    """Return the card; `loader` is the class that loads the vectors, and `about` what the user says, as the licence."""
    import yaml  # which huggingface_hub needs, too

    known = {name: value for name, value in about.items() if value is not None}
    name = "vectors" if loader == "Vectors" else "model"
    code = f'from any2vec import {loader}\n\n{name} = {loader}.from_pretrained("{repo}")'
    kind = report.kind if report else "words"
    tags = ["any2vec", "embeddings", "word2vec" if kind == "words" else "graph-ml"]
    head = yaml.safe_dump({"library_name": "any2vec", "tags": tags, **known}, sort_keys=False, allow_unicode=True)
    parts = [
        f"---\n{head}---",
        f"# {repo.rpartition('/')[2]}",
        f"Vectors of {len(vectors):,} {kind}, of {vectors.dim} dimensions, in the format of any2vec.",
        f"## Use\n\n```python\n{code}\n```",
        f"The first {kind} are {', '.join(map(_cell, vectors.words[:_SHOWN]))}.",
    ]
    if report is not None:
        parts += _training(report)
    return "\n\n".join(parts) + "\n"


def _training(report: "Report") -> list[str]:
    said = {"kind": report.kind, "corpus": "corpus" if report.kind == "words" else "walks"}
    figures = [(text.format(**said), getattr(report, name)) for name, text in _FIGURES.items()]
    figures += [(f"seconds: {name}", seconds) for name, seconds in report.seconds.items()]
    figures += [(f"version: {name}", version) for name, version in report.versions.items()]
    parts = ["## Training", _table(("figure", "value"), [row for row in figures if row[1]])]
    if report.interrupted:
        parts.append("Training was stopped early.")
    by_epoch: dict[float, dict[str, float]] = {n: {"epoch": n, "loss": loss} for n, loss in enumerate(report.loss, 1)}
    for check in report.checks:
        by_epoch.get(check["epoch"], {}).update(check)
    if by_epoch:
        names = list(dict.fromkeys(name for row in by_epoch.values() for name in row))
        rows = [[row.get(name) for name in names] for row in by_epoch.values()]
        parts += ["### Loss and evaluations by epoch", _table(names, rows)]
    given = [(f"`{name}`", value) for name, value in without_files(report.options).items() if value is not None]
    return [*parts, "### Parameters", _table(("parameter", "value"), given)]


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(value: Any) -> str:
    """Return a value as a cell of a table, or a part of a sentence."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return escaped(" ".join(text.split()).replace("\\", "\\\\")).replace("|", "\\|").replace("<", "&lt;")


_LONGEST = 300  # characters of what the library says


class Hub(Lookup):
    """Vectors to and from the Hub."""

    def push_to_hub(
        self,
        repo: str,
        *,
        report: Any = None,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        message: str = "Upload vectors of any2vec",
        training: bool = False,
        license: str | None = None,  # noqa: A002
        language: str | list[str] | None = None,
    ) -> str:
        """Upload the vectors to the Hugging Face Hub, with a model card; make the repository if there is none.

        Files of an earlier upload are replaced in one commit. Nothing is pickled.

        Parameters
        ----------
        repo : str
            The repository, such as "name/reviews".
        report : Report, dict, or path, optional
            The run's figures for the card: an estimator's `report_`, or the file that ``--report`` or ``--log`` wrote.
        private : bool, optional
            Whether a new repository is private; by default as the account says.
        token : str or bool, optional
            A token that may write; by default the one of ``hf auth login`` or of the variable `HF_TOKEN`.
        revision : str, optional
            The branch; by default the main one.
        message : str
            Of the commit.
        training : bool
            Upload the training vectors t, too.
        license, language : str, optional
            For the card: an identifier of the Hub, such as "cc-by-4.0"; a code such as "en".

        Returns
        -------
        str
            The address of the commit.

        Raises
        ------
        Any2VecError
            If huggingface_hub is not installed, the Hub refuses or cannot be reached, or the vectors cannot be saved.

        See Also
        --------
        any2vec.Word2Vec.push_to_hub : Upload a model, whose card has its report.
        """
        from any2vec.report.log import as_report

        given = as_path(report) if isinstance(report, str | os.PathLike) else report
        known = None if given is None else as_report(given)
        write = partial(save, self, training=training, format=NATIVE)
        how: dict[str, Any] = {"private": private, "token": token, "revision": revision, "message": message}
        return upload(self, repo, write, "Vectors", known, **how, about={"license": license, "language": language})

    @classmethod
    def from_pretrained(
        cls,
        repo: str,
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Load vectors from the Hugging Face Hub, that `push_to_hub` of vectors or of an estimator has uploaded.

        The files are kept in huggingface_hub's cache, and are memory-mapped there. They are checked like any file of a
        stranger, and never unpickled.

        Parameters
        ----------
        repo : str
            The repository, such as "name/reviews".
        revision : str, optional
            A branch, tag or commit; by default the newest of the main branch.
        token : str or bool, optional
            For a private repository; by default the one of ``hf auth login`` or of the variable `HF_TOKEN`.
        cache_dir : str or path, optional
            In place of the cache of huggingface_hub.

        Returns
        -------
        Vectors

        Raises
        ------
        Any2VecError
            If huggingface_hub is not installed, there is no such repository, it cannot be reached, or it holds no
            vectors of any2vec.
        """
        return cls.of(load_native(fetched(repo, revision=revision, token=token, cache_dir=cache_dir)))


def upload(
    vectors: Lookup,
    repo: str,
    write: Callable[[Path], None],
    loader: str,
    report: "Report | None",
    *,
    private: bool | None,
    token: str | bool | None,
    revision: str | None,
    message: str,
    about: Mapping[str, Any],
) -> str:
    """Upload the folder that `write` makes, and a card; files of an earlier one go. Return the commit's address."""
    hub = _library(repo)
    check_finite(vectors.words, vectors.e, f"{repo}: not uploaded: ")
    card = model_card(vectors, repo, report, loader, about)
    made = temporary_folder()
    try:
        folder = made.path / "repository"
        write(folder)
        (folder / "README.md").write_text(card, "utf-8")
        with _errors(repo):
            api = hub.HfApi(token=token, library_name="any2vec")
            api.create_repo(repo, private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=repo,
                folder_path=folder,
                commit_message=message,
                revision=revision,
                delete_patterns=_OURS,
            )
    finally:
        made.remove()
    return str(commit.commit_url)


def fetched(
    repo: str, *, revision: str | None, token: str | bool | None, cache_dir: str | os.PathLike[str] | None
) -> Path:
    """Download any2vec's own files of a repository; return the folder."""
    hub, how = _library(repo), {"revision": revision, "token": token, "cache_dir": cache_dir}
    with _errors(repo):
        folder = hub.snapshot_download(repo, allow_patterns=_OURS, library_name="any2vec", **how)
    if missing := [name for name in FILES if not (Path(folder) / name).is_file()]:
        raise Any2VecError(f"{repo}: holds no vectors of any2vec: {missing[0]} is missing on the Hugging Face Hub")
    return Path(folder)


def _library(repo: object) -> Any:
    """Import huggingface_hub; refuse what is no name of a repository."""
    found = library("huggingface_hub", "hub")
    if not isinstance(repo, str) or repo.count("/") != 1:
        what = "a name on the Hugging Face Hub, such as 'name/reviews'"
        raise Any2VecError(f"`repo` is {shown(repo)}; it must be {what}")
    return found


@contextmanager
def _errors(repo: str) -> Iterator[None]:
    """Name the repository in what huggingface_hub, or the library that it connects with, says is wrong."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except (OSError, ValueError, *HfHubHTTPError.__bases__) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        why = why if len(why) <= _LONGEST else why[:_LONGEST] + "..."
        raise Any2VecError(f"{repo}: the Hugging Face Hub: {why}") from error
