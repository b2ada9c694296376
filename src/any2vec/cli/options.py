"""The command line's options: those of an estimator, made from its fields, those that commands share, and of graphs."""

import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import Field, dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli.help import print_line
from any2vec.errors import Any2VecError, respelled
from any2vec.graph.readers import FORMATS, GraphWarning
from any2vec.models import Estimator
from any2vec.operators import OPERATORS
from any2vec.options import option, sentence
from any2vec.sync import AUTO, SCHEMES
from any2vec.sync.combiners import COMBINERS, Combiner
from any2vec.vectors.files import NAMED

DATA, _RUN = "Data", "Run"


def argument(metavar: str, text: str, *, show_default: bool = False) -> Any:
    """Describe an argument of a command."""
    return typer.Argument(metavar=metavar, help=text, show_default=show_default)


def setting(metavar: str, text: str, *flags: str, panel: str | None = None, **more: Any) -> Any:
    """Describe an option that has a value."""
    return typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=panel, **more)


def output_to(metavar: str, text: str) -> Any:
    """Describe an option for what a command writes."""
    return setting(metavar, text, "--output", "-o", show_default=False)


def _run_flag(text: str, *flags: str) -> Any:
    """Describe an option, of a run, that has no value."""
    return typer.Option(*flags, help=text, rich_help_panel=_RUN)


def completing(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return a function that lists names, for a shell that completes a value."""
    listed = list(names)
    return lambda: listed


_TEXT_FILES = "Text files (also .gz, .bz2, .xz, .zst), directories, or - for standard input. A line is a sentence."
_VECTORS = "Where to save the vectors: .txt, .vec or .bin (word2vec's formats; .gz too), or a folder."
_FASTTEXT = "fasttext: save a model of fastText, to a .bin."
_CACHE = "Keep the encoded corpus, in $ANY2VEC_CACHE or the user's cache folder, for the next run."
_BY_ENDING = {"autocompletion": completing(NAMED), "show_default": "by the ending", "panel": _RUN}

CorpusFiles = Annotated[list[str], argument("CORPUS", _TEXT_FILES)]
Output = Annotated[Path, output_to("VECTORS", _VECTORS)]
OutputFormat = Annotated[str | None, setting("NAME", _FASTTEXT, "--format", **_BY_ENDING)]
Training = Annotated[bool, _run_flag("Save the training vectors t too (folder).", "--training")]
ReportFile = Annotated[Path | None, setting("FILE.json", "Write the figures of the run.", panel=_RUN)]
Quiet = Annotated[bool, _run_flag("Show nothing but errors.", "--quiet", "-q")]
Verbose = Annotated[bool, _run_flag("Show all figures of rounds at the end.", "--verbose")]
Cache = Annotated[bool, typer.Option(help=_CACHE, rich_help_panel=DATA)]
Force = Annotated[bool, _run_flag("Replace outputs that hold something else, too.", "--force")]
Seed = Annotated[int, setting("N", "Seed of the random numbers.")]


def from_fields(
    *classes: type[Any], only: Collection[str] = (), into: str = "options"
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's parameter `into`, a dict, by the options that dataclasses' fields declare."""
    declared = {f.name: f for cls in classes for f in fields(cls) if f.metadata.get("panel")}
    made = [_parameter(declared[name]) for name in only or declared]
    return lambda command: with_options(command, into, made)


def with_options(command: Callable[..., None], into: str, made: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """Replace a command's parameter `into`, a dict, by those `made` that the command has not itself."""
    own = inspect.signature(command).parameters
    made = [p for p in made if p.name not in own]

    @wraps(command)
    def run(**given: Any) -> None:
        options = {p.name: given.pop(p.name) for p in made}
        command(**given, **{into: options})

    listed = [p for one in own.values() for p in (made if one.name == into else [one])]
    listed.sort(key=lambda p: p.default is not p.empty)  # those that are required first
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in listed]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def flag_of(declared: "Field[Any]") -> str:
    """Return the flag of an option, or both of them, ``--yes/--no``."""
    return declared.metadata["flag"] or "--" + declared.name.replace("_", "-")


def _parameter(declared: "Field[Any]") -> inspect.Parameter:
    meta, default = declared.metadata, declared.default
    names = [flag_of(declared)]
    kind: Any = declared.type if not isinstance(declared.type, str) else str  # names of operators and combiners
    shown = {"show_default": meta["unset"]} if default is None else {}
    texts = {"help": sentence(meta["help"]), "rich_help_panel": meta["panel"], **shown}
    info = typer.Option(*names, autocompletion=_choices(declared), **texts)
    return inspect.Parameter(
        declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


_TABLES = {"operator": OPERATORS, "scheme": (*SCHEMES, AUTO), "combine": COMBINERS}
"""Names of plug-ins, by option."""


def _choices(declared: "Field[Any]") -> Callable[[], list[str]] | None:
    """Return what a shell completes an option's value by."""
    found = list(declared.metadata["choices"] or _TABLES.get(declared.name, ()))
    return completing(found) if found else None


def estimator_options(
    model: type[Estimator], without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's parameter `options`, an estimator's parameters, by its options and those of combiners.

    Those `without` which the command does are left out.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(options: dict[str, Any], **given: Any) -> None:
            options["combine"] = _combiner(options)
            command(**given, options=options)

        classes: tuple[Any, ...] = (model, *COMBINERS.values())
        names = [f.name for cls in classes for f in fields(cls) if f.metadata.get("panel") and f.name not in without]
        return from_fields(*classes, only=names)(run)

    return decorate


def _combiner(options: dict[str, Any]) -> "str | Combiner":
    """Take the combiners' own options out of `options`, and make the combiner that is asked for."""
    name = options["combine"]
    own = {f.name for f in _declared(COMBINERS[name])} if name in COMBINERS else set()
    given = {}
    for other, combiner in COMBINERS.items():
        for declared in _declared(combiner):
            value = options.pop(declared.name, declared.default)
            if value != declared.default and declared.name not in own and name in COMBINERS:
                option = "--" + declared.name.replace("_", "-")
                raise Any2VecError(f"{option} is for the combiner {other!r}; {name!r} has no such option: leave it out")
            if declared.name in own:
                given[declared.name] = value
    return COMBINERS[name](**given) if name in COMBINERS and any(v is not None for v in given.values()) else name


def _declared(combiner: type[Combiner]) -> "Iterator[Field[Any]]":
    return (f for f in fields(combiner) if f.metadata)


COMMENTS = "#%"


_data = partial(option, panel=DATA)


@dataclass
class _GraphFile:
    """How a file of a graph is read: options of `read_graph`."""

    format: str = _data("auto", f"format of GRAPH: {', '.join(FORMATS)}", choices=FORMATS)
    directed: bool = _data(False, "edges have a direction")
    weighted: bool | None = _data(
        None, "whether lines have a weight", unset="by the first line", flag="--weighted/--unweighted"
    )
    delimiter: str | None = _data(
        None, "separator of the fields of a line: one character, or \\t", unset="by the first line"
    )
    comments: str = _data(COMMENTS, "lines that begin with one of these are skipped; '' for none")
    header: bool = _data(False, "skip the first line, a header")
    columns: str | None = _data(
        None,
        "columns of a Parquet file: source,target or source,target,weight",
        unset="all, if two or three, else by usual names",
    )
    bipartite: str | None = _data(
        None,
        "kinds of the two ends of edges, such as user,item: 5 and 5 are then user:5 and item:5",
        unset="one set of vertices, unless a matrix is not square",
    )
    kinds: Path | None = option(
        None,
        "kinds of vertices, for --metapath: a file of lines of a vertex and its kind",
        unset="none",
        path="file",
        panel=DATA,
    )
    kind_prefix: str | None = _data(
        None, "what stands between the kind and the rest of each vertex's name, such as : for author:12", unset="none"
    )


def graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `how`, options of `read_graph`, by options of the command line."""

    @wraps(command)
    def run(how: dict[str, Any], **given: Any) -> None:
        how |= {"directed": how["directed"] or None, "delimiter": sign(how["delimiter"])}
        command(**given, how=how)

    return from_fields(_GraphFile, into="how")(run)


def sign(delimiter: str | None) -> str | None:
    """Return the character that an option names; a tab is hard to type in a shell."""
    return "\t" if delimiter == r"\t" else delimiter


@contextmanager
def saying(say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Say warnings of readers, in the words of the command line: by `say`, or on the standard error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", GraphWarning)
        yield
    for warning in found:
        if issubclass(warning.category, GraphWarning):
            (say or print_line)(respelled(str(warning.message), lambda name, _: f"--{name}"))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
