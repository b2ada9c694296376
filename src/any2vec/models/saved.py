"""Models as folders: their vectors in any2vec's own format, and beside them parameters and report as JSON."""

import copy
import json
import os
import warnings
from collections.abc import Collection
from dataclasses import Field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from any2vec import __version__
from any2vec.cluster.communicator import Communicator
from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import Any2VecError, Any2VecWarning, shown
from any2vec.models.given import GIVEN
from any2vec.models.reporting import CHECKPOINTS
from any2vec.operators import OPERATORS
from any2vec.options import as_path, typed
from any2vec.report import Report, plain, without_nan
from any2vec.sync.combiners import COMBINERS
from any2vec.vectors import Vectors
from any2vec.vectors.files import NATIVE, refuse_foreign, save
from any2vec.vectors.files.hub import fetched, upload, without_files
from any2vec.vectors.files.native import MODEL, load_documents, load_with_model, save_native

_VERSION = 1
_NEVER = ("callbacks", "features", "log", "on_round", "verbose")
"""Parameters of the program at hand, and features, which the vectors keep."""
_MOST = {"hosts": 256, "threads": 256}
"""Of a machine: more cannot be of a model that somebody saved, and would take its reader's memory."""
_NOT_TAKEN = "names files, or asks for much of a machine, by {}, which is not taken from a saved model"


class Savable:
    """Estimators that can be saved and loaded."""

    learned: ClassVar[tuple[str, ...]]
    on_hub: ClassVar[bool] = True
    vectors_: Vectors
    report_: Report
    features: Any
    check: Any
    _trained: Any

    def save(
        self, path: str | os.PathLike[str], *, force: bool = False, communicator: Communicator | None = None
    ) -> None:
        """Save vectors, parameters and report as a folder, which `load` of the class reads, and of any2vec its vectors.

        Training vectors are saved, too, so that a loaded model goes on with ``fit(..., warm_start=True)``. Nothing is
        pickled. `callbacks`, `on_round`, `log` and `verbose` are not saved, nor are Vectors, vocabularies, operators
        and combiners that were given as objects of a program.

        Parameters
        ----------
        path : str or path
            The folder, with any name; an earlier one is replaced once the new one is complete.
        force : bool
            Replace a folder whose files are damaged, too.
        communicator : Communicator, optional
            On a cluster, where each host calls this and writes its own rows.

        Raises
        ------
        Any2VecError
            If there is nothing to save yet, the folder cannot be written, or holds other files.
        """
        words = copy.copy(self._trained())
        path = as_path(path)
        documents = vars(self).get("documents_")
        kind = replace(NATIVE, save=partial(save_native, model=self._content(), documents=documents))
        words.untrained, training = "", words.t is not None
        save(words, path, training=training, force=force, communicator=communicator, format=kind)

    def _content(self) -> dict[str, Any]:
        """Return parameters and report, as JSON can hold them."""
        kept, left_out = _parameters(self)
        return {
            "format": _VERSION,
            "any2vec": __version__,
            "class": type(self).__name__,
            "parameters": kept,
            "left_out": left_out,
            "report": json.loads(json.dumps(without_nan(self.report_.as_dict()), default=plain)),  # paths are text
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model that `save` has written; its vectors are memory-mapped.

        The folder may be a stranger's: parameters that name files, which a further `fit` would read or write, are not
        taken from it, and a warning names them.

        Parameters
        ----------
        path : str or path
            The folder.

        Returns
        -------
        Estimator
            With its parameters, `vectors_`, `loss_` and `report_`.

        Raises
        ------
        Any2VecError
            If it does not exist, is damaged, or holds a model of another class.
        """
        path = as_path(path)
        refuse_foreign(path)
        data, content = load_with_model(path)
        vectors = Vectors.of(data)
        features = vectors.parts.settings if vectors.parts is not None else None
        model = cls._of_content(content, path, features if isinstance(features, Features) else None)
        vars(model).update(vectors_=vectors)
        if "documents_" in model.learned:
            vars(model)["documents_"] = Vectors.of(load_documents(path, content))
        return model

    @classmethod
    def _of_content(cls, content: dict[str, Any], path: Path, features: Features | None = None) -> Self:
        """Make an estimator of what `_content` returned, perhaps of a stranger."""
        file = path / MODEL
        if content.get("format") != _VERSION:
            found = shown(content.get("format"))
            raise Any2VecError(f"{file}: has format {found}; this any2vec reads format {_VERSION}")
        if content.get("class") != cls.__name__:
            found = shown(content.get("class")).strip("'")
            raise Any2VecError(f"{path}: holds a {found}, not a {cls.__name__}; load it with its class")
        try:
            parameters = typed(content.get("parameters"), dict[str, Any])
            left_out = typed(content.get("left_out"), list[str])
            report = typed(content.get("report"), Report)
        except ValueError as error:
            raise Any2VecError(f"{file}: damaged: {error}") from None
        known = fields(cast("Any", cls))
        left_out = [declared.name for declared in known if declared.name in left_out]
        dropped = [declared.name for declared in known if _is_foreign(declared, parameters)]
        try:
            model = cls(**{name: _decoded(value) for name, value in parameters.items() if name not in dropped})
            if features is not None:
                model.features = features
            model.check()
        except (Any2VecError, TypeError) as error:
            raise Any2VecError(f"{file}: {error}") from None
        for names, why in ((left_out, "does not hold {}, which JSON cannot"), (dropped, _NOT_TAKEN)):
            if names:
                said = why.format(", ".join(f"`{name}`" for name in names))
                warnings.warn(f"{path}: {said}: set what a further fit needs", Any2VecWarning, stacklevel=3)
        vars(model).update(report_=report, loss_=report.loss)
        return model

    def push_to_hub(
        self,
        repo: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        message: str = "Upload a model of any2vec",
        license: str | None = None,  # noqa: A002
        language: str | list[str] | None = None,
    ) -> str:
        """Upload the model to the Hugging Face Hub, as `save` saves it, with a model card made of its report.

        Parameters that name files of this machine are left out.

        Parameters
        ----------
        repo : str
            The repository, such as "name/reviews"; it is made if there is none.
        private : bool, optional
            Whether a new repository is private; by default as the account says.
        token : str or bool, optional
            A token that may write; by default the one of ``hf auth login`` or of the variable `HF_TOKEN`.
        revision : str, optional
            The branch; by default the main one.
        message : str
            Of the commit.
        license, language : str, optional
            For the card: an identifier of the Hub, such as "cc-by-4.0"; a code such as "en".

        Returns
        -------
        str
            The address of the commit.

        Raises
        ------
        Any2VecError
            If there is nothing to save yet, huggingface_hub is not installed, or the Hub refuses or cannot be reached.
        """
        if not self.on_hub:
            raise Any2VecError(f"{type(self).__name__} is not for this: save it, and upload the folder")
        vectors = self._trained()
        public, usual = copy.copy(self), type(self)()
        given = {declared.name: getattr(self, declared.name) for declared in fields(cast("Any", self))}
        own = {name: getattr(usual, name) for name in given.keys() - without_files(given).keys()}
        report = replace(self.report_, options=without_files(self.report_.options))
        vars(public).update(own, report_=report)
        how: dict[str, Any] = {"private": private, "token": token, "revision": revision, "message": message}
        about = {"license": license, "language": language}
        return upload(vectors, repo, public.save, type(self).__name__, report, **how, about=about)

    @classmethod
    def from_pretrained(
        cls,
        repo: str,
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Load a model that `push_to_hub` has uploaded to the Hugging Face Hub; nothing is unpickled.

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
        Estimator
            As of `load`.

        Raises
        ------
        Any2VecError
            If huggingface_hub is not installed, there is no such repository, it cannot be reached, or it holds no
            model of this class.
        """
        if not cls.on_hub:
            raise Any2VecError(f"{cls.__name__} is not for this: download the folder, and load it")
        folder = fetched(repo, revision=revision, token=token, cache_dir=cache_dir)
        if not (folder / MODEL).is_file():
            raise Any2VecError(f"{repo}: holds vectors, but no model: any2vec.Vectors.from_pretrained loads them")
        return cls.load(folder)


def _is_foreign(declared: "Field[Any]", parameters: dict[str, Any]) -> bool:
    """Whether the value of a saved parameter is for its writer's machine or program alone; JSON's null never is."""
    name, value = declared.name, parameters.get(declared.name)
    if value is None or value == declared.default or (name, value) == ("frozen", GIVEN):
        return False
    above = type(value) is int and value > _MOST.get(name, value)
    of_files = "Path" in str(declared.type) and isinstance(value, str)
    return above or of_files or name in _NEVER or declared.metadata.get("panel") == CHECKPOINTS


def _parameters(model: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters that JSON can hold, and the names of the others."""
    kept: dict[str, Any] = {}
    left_out = []
    for declared in fields(model):
        name, value = declared.name, getattr(model, declared.name)
        if name in _NEVER:
            continue
        encoded = _encoded(name, value)
        if encoded is None and value is not None:
            left_out.append(name)
        else:
            kept[name] = encoded
    return kept, left_out


def _encoded(name: str, value: Any) -> Any:
    """Return a parameter as JSON has it; None if it has not."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike) or name == "subwords":
        return os.fspath(value) if isinstance(value, os.PathLike) else value and str(Subwords.parse(value))
    for names in (OPERATORS, COMBINERS):
        found = next((known for known, plugin in names.items() if plugin is value or plugin is type(value)), None)
        if found:
            if isinstance(value, type):
                return found
            options = {declared.name: getattr(value, declared.name) for declared in fields(value) if declared.metadata}
            return {"combiner": found, **options}
    if name in ("frozen", "metapath") and isinstance(value, Collection) and not isinstance(value, Vectors):
        return [list(one) if isinstance(one, tuple) else one if isinstance(one, list) else str(one) for one in value]
    return None


def _decoded(value: Any) -> Any:
    """Return a parameter of what JSON has of it."""
    if isinstance(value, dict) and value.get("combiner") in COMBINERS:
        return COMBINERS[value["combiner"]](**{name: one for name, one in value.items() if name != "combiner"})
    return value
