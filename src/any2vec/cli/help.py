"""What the command line says of itself: help, with everything under --help-all, and errors, on one line and once."""

import copy
import io
import sys
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from any2vec.errors import Any2VecError, Any2VecWarning, escaped, meant, respelled, shown
from any2vec.io.shown import Console
from any2vec.signals import INTERRUPTED, interrupt_was_ignored, quit_at_once

ALL = "--help-all"

UsageError: Any = typer.BadParameter.__base__
"""What Typer raises where it cannot parse a command line."""


class _Screen(NamedTuple):
    """What the first screen of a command's help shows."""

    examples: tuple[str, ...] = ()
    """Arguments after the name of the command."""
    options: str = ""
    """Names of options; all options if empty."""
    brief: Mapping[str, str] = MappingProxyType({})
    """Texts of options that are for this command alone."""


_BRIEF = {
    "model": "skipgram or cbow.",
    "loss": "negative or hierarchical softmax.",
    "window": "Context words on each side, at most.",
    "sample": "Subsampling threshold; 0 for none.",
    "min_count": "Ignore rarer words.",
    "scoring": "Score of two words: word2phrase or npmi.",
    "tokenize": "Split raw text into words and punctuation.",
    "threads": "Threads.",
    "weighted": "Lines have a weight.",
    "force": "Replace what holds something else, too.",
    "hosts": "Hosts to simulate on this machine.",
    "start": "Go on from these vectors.",
    "training": "Save what --from needs too (folder).",
    "checkpoint": "Folder that keeps the state of the run.",
    "resume": "Go on from the checkpoint in this folder.",
    "restart": "Probability of a return to the start.",
    "p": "Return parameter of node2vec.",
    "q": "In-out parameter of node2vec.",
    "metapath": "Kinds of a walk's vertices: metapath2vec.",
    "graph": "Graph on each host: auto, whole or parts.",
    "extend": "node2vec+: neighbours by weight.",
    "starts": "Starts of walks: every or degree.",
}
"""Texts of options that fit a line of the first screen, in place of longer ones."""

_TRAINING = "threads seed hosts start training checkpoint resume force quiet"

SCREENS = {
    "": _Screen(
        ("words reviews.txt -o reviews.bin", "similar reviews.bin good", "nodes friends.edges -o friends.bin"),
        "version",
    ),
    "words": _Screen(
        ("reviews.txt -o reviews.bin --dim 200", "texts/ -o vectors --model cbow --epochs 10"),
        f"output lowercase tokenize model loss dim window negative sample epochs min_count {_TRAINING}",
    ),
    "documents": _Screen(
        ("reviews.txt -o reviews", "reviews.txt -o reviews.bin --model dm --save-model model"),
        "output words save_model model loss dim window negative epochs min_count threads seed hosts checkpoint resume "
        "force quiet",
        {
            "output": "File, or folder, of the documents' vectors.",
            "words": "Train vectors of words, too; save them here.",
            "save_model": "Save the model, too.",
            "model": "dbow or dm.",
        },
    ),
    "infer": _Screen(("model new.txt -o new", "model new.txt -o new.bin --epochs 40")),
    "classify": _Screen(
        ("train.txt -o sentiment --word-ngrams 2", "train.txt -o languages --subwords 2-4 --dim 16"),
        "output lowercase tokenize loss word_ngrams subwords dim alpha epochs min_count threads seed hosts checkpoint "
        "resume force quiet",
        {
            "output": "Folder, or .bin or .ftz for fastText.",
            "loss": "softmax, hierarchical, ova or negative.",
            "word_ngrams": "Words of an n-gram, at most.",
            "subwords": "n-grams of characters, such as 2-4.",
            "min_count": "Rarer words have no row.",
        },
    ),
    "predict": _Screen(("sentiment new.txt -o labels.txt", "lid.176.ftz new.txt -k 3 --threshold 0.1")),
    "quantize": _Screen(("sentiment -o small.ftz --cutoff 100000",)),
    "phrases": _Screen(
        ("reviews.txt -o joined.txt --threshold 200,100",),
        "output lowercase tokenize threshold scoring min_count passes joiner force quiet",
    ),
    "nodes": _Screen(
        ("friends.edges -o friends.bin", "friends.edges -o friends.bin --p 0.25 --q 4"),
        f"output walks length p q dim window epochs directed weighted {_TRAINING}",
    ),
    "similar": _Screen(("reviews.bin good terrible", "reviews.bin < words.txt")),
    "analogy": _Screen(("reviews.bin man king woman",)),
    "map": _Screen(
        ("reviews.bin -o reviews.html", "friends.bin -o friends.svg --labels friends.labels"),
        "output method words top labels clusters seed force",
    ),
    "walks": _Screen(
        ("friends.edges -o walks.txt --length 80",),
        "output walks length p q extend starts restart metapath directed weighted threads seed force",
    ),
    "info": _Screen(("reviews.bin",)),
    "report": _Screen(("run.json -o run.html",)),
    "export": _Screen(("reviews.bin --to tensorboard -o projector", "reviews.bin --to spacy -o model --language en")),
    "cache": _Screen(("list", "clear", "--limit 20GB")),
    "plan": _Screen(
        (
            "reviews.txt --hosts 1,8,32 --network 10Gbit",
            "--words 3.6e9 --vocabulary 2.76e6 --dim 200 --cores 48",
            "friends.edges --nodes --memory 64G",
        ),
        "numbers network latency memory cores price words vocabulary nodes graph dim epochs output",
    ),
    "doctor": _Screen(("",)),
    "demo": _Screen(("", "-o speeches.bin")),
    "tune": _Screen(
        ("words reviews.txt --questions questions-words.txt", "nodes friends.edges --labels friends.labels")
    ),
    "tune words": _Screen(
        ("reviews.txt --minutes 10", "reviews.txt --questions questions-words.txt -o trials.json --page tune.html"),
        "minutes questions pairs output page lowercase tokenize model dim window subwords min_count part threads force "
        "quiet",
    ),
    "tune documents": _Screen(
        ("reviews.txt --minutes 10",), "minutes labels output page model dim window min_count part threads force quiet"
    ),
    "tune classify": _Screen(
        (
            "train.txt --validation valid.txt --minutes 10",
            "train.csv --column text --label-column label -o trials.json",
        ),
        "minutes validation size output page lowercase tokenize loss word_ngrams subwords dim min_count part threads "
        "force quiet",
        {"loss": "softmax, hierarchical, ova or negative."},
    ),
    "tune nodes": _Screen(
        ("friends.edges --labels friends.labels",),
        "minutes labels output page walks length p q dim window directed weighted threads force quiet",
    ),
    "evaluate": _Screen(("analogies reviews.bin questions-words.txt", "nodes friends.bin friends.labels")),
    "evaluate analogies": _Screen(("reviews.bin questions-words.txt",)),
    "evaluate similarity": _Screen(("reviews.bin wordsim353.tsv",)),
    "evaluate nodes": _Screen(("friends.bin friends.labels --ratios 10,50,90",)),
    "evaluate split": _Screen(
        ("friends.edges -o split --share 0.5",), "output share format directed weighted header seed force"
    ),
    "evaluate links": _Screen(("friends.bin split/hidden.edges split/absent.edges",)),
}


class _Helpful:
    """What commands and groups share."""

    params: list[Any]
    epilog: str | None
    _everything = _screening = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether everything is asked for."""
        self._everything = ALL in args
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except UsageError as error:
            error.ctx = error.ctx or ctx  # whose --help says more
            raise

    def get_help_option(self, ctx: Any) -> Any:
        """Leave out --help itself where a screen is shown: who reads it knows it."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option:
            option.opts, option.hidden = sorted(option.opts), self._screening
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the screen, or everything."""
        path: list[str] = []
        above = ctx
        while above.parent:
            path, above = [above.info_name, *path], above.parent
        screen, whole = SCREENS.get(" ".join(path), _Screen()), vars(self).copy()
        try:
            if not self._everything:
                usage = super().get_usage(ctx)  # type: ignore[misc]  # as it is, with what is required
                vars(self)["get_usage"] = lambda _: usage
                self._screening = True
                self.params = [_brief(param, screen) for param in _chosen(self.params, screen.options.split())]
            more = f"All options: any2vec {' '.join([*path, ALL])}" if len(self.params) < len(whole["params"]) else ""
            lines = [" ".join(["any2vec", *path, example]).rstrip() for example in screen.examples]
            self.epilog = "\n".join([*lines, more]).strip()
            super().format_help(ctx, formatter)  # type: ignore[misc]
        finally:
            vars(self).clear()
            vars(self).update(whole)


def _chosen(params: list[Any], names: list[str]) -> list[Any]:
    """Return arguments, then options in the order of their names; all if there are none."""
    options = {param.name: param for param in params if param.param_type_name == "option"}
    arguments = [param for param in params if param.param_type_name != "option"]
    return [*arguments, *(options[name] for name in names or options)]


def _brief(param: Any, screen: _Screen) -> Any:
    """Return a parameter whose help is one text, which ends with its default, to take few lines."""
    brief = copy.copy(param)
    brief.required, brief.rich_help_panel, brief.show_default, brief.secondary_opts = False, None, False, []
    if param.param_type_name == "option":
        default = param.show_default if isinstance(param.show_default, str) else param.default
        text = screen.brief.get(param.name, _BRIEF.get(param.name, param.help)).rstrip(".")
        known = default not in (None, "none", "") and not isinstance(default, bool)
        brief.help = f"{text} (required)." if param.required else f"{text} ({default})." if known else f"{text}."
    return brief


class HelpfulCommand(_Helpful, TyperCommand):
    """A command with such a help."""


_PATIENCE = 2.0  # seconds for another host to print the same error


class Errors(_Helpful, TyperGroup):
    """Commands whose errors name options as the command line does, and that Ctrl-C ends with status 130."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `help COMMAND` as `COMMAND --help`."""
        return self.parse_args(ctx, [*args[1:], "--help"]) if args[:1] == ["help"] else super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the user named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError as error:
            wanted = f": {str(error)[0].lower()}{str(error)[1:]}" if str(error) else ""
            raise Any2VecError(f"not enough memory{wanted}") from error
        except Exception as error:
            if not isinstance(error, Any2VecError):
                if interrupt_was_ignored():
                    raise typer.Exit(INTERRUPTED) from None
                raise
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            error.args = (in_options(str(error), command.params if command else []),)
            raise


def in_options(message: str, params: list[Any]) -> str:
    """Replace Python parameters in a message, such as `sample` or `sample=0`, by options of a command."""

    def spelled(name: str, value: str | None) -> str | None:
        flag = "--" + name.replace("_", "-")
        param = next((param for param in params if flag in param.opts or param.name == name), None)
        if param is None:
            return None
        flag = flag if flag in param.opts else param.opts[0]
        if value is None:
            return flag
        if getattr(param, "is_flag", False):
            return str(param.secondary_opts[0]) if value in ("False", "None") and param.secondary_opts else flag
        return f"{flag} {value}"

    return respelled(message, spelled)


def usage(error: Any) -> str:
    """Say on one line what is wrong with a command line, and what would tell more."""
    message = str(error.format_message()).rstrip(".")
    params = error.ctx.command.params if error.ctx else []
    if name := getattr(error, "option_name", None) if "No such option" in message else None:
        message = _no_such(name, params, message)
    elif "requires an argument" in message:
        texts = [param.help.rstrip(".") for param in params if error.option_name in param.opts]
        message = ": ".join([message, *(f"{text[:1].lower()}{text[1:]}" for text in texts)])
    flags = getattr(error.param, "opts", ()) if isinstance(error, typer.BadParameter) else ()
    for place, argument in enumerate(sys.argv[1:], 1):
        flag, equals, value = argument.partition("=")
        if flag in flags:
            expected = message.rpartition(": ")[2].partition(",")[0].replace("Input should be", "it should be")
            message = f"{flag} is {shown(value if equals else ' '.join(sys.argv[place + 1 : place + 2]))}: {expected}"
    command = error.ctx.command_path if error.ctx else "any2vec"
    return f"{message[:1].lower()}{message[1:]}; see {command} --help"


def _no_such(name: str, params: list[Any], message: str) -> str:
    """Name the option that is meant by an unknown one; programs of another kind have long ones after one dash."""
    given = next((a for a in sys.argv[1:] if a.startswith(name)), name).partition("=")[0] if name[1:2] != "-" else name
    flags = [f for p in params if p.param_type_name == "option" for f in (*p.opts, *p.secondary_opts)]
    known = {flag.lstrip("-").replace("-", "_") for flag in flags}
    found = meant(given.lstrip("-"), known, "name it without an option, after the command")
    return f"no such option: {given}; {in_options(found, params)}" if found else message


def fail(error: Any2VecError, status: int = 1) -> NoReturn:
    """Print a user's mistake on one line, once for all hosts, and end them with this status."""
    quit_at_once()
    from any2vec import cluster
    from any2vec.cluster.communicator import SharedError

    try:
        communicator = cluster.connect() if cluster.detected() else None
        rank = communicator.rank if communicator and communicator.size > 1 else None
    except Any2VecError:  # that is the error
        rank = None
    if isinstance(error, SharedError) or rank is None:
        if not rank:
            print_line(str(error), "red")
        sys.exit(status)
    if rank:  # if it is an error of all hosts, host 0 prints it
        time.sleep(_PATIENCE)
    print_line(f"host {rank}: {error}", "red")
    cluster.abort()
    sys.exit(status)


def print_line(text: str, style: str = "yellow") -> None:
    """Print a warning, or an error, on standard error."""
    Console(stderr=True).print(f"any2vec: {text}", style=style, markup=False, highlight=False, soft_wrap=True)


def print_facts(rows: Iterable[tuple[str, str]]) -> None:
    """Print names, and what there is to say of each."""
    from rich.table import Table  # takes time to import, which `--version` and errors need not

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, Text(escaped(text)))
    Console().print(table)


class _Dispensable:
    """A text stream that drops what the system refuses to write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def ignore_errors() -> None:
    """Let messages be lost, and nothing else, where standard error cannot be written."""
    if sys.stderr is not None and sys.stderr is sys.__stderr__:  # not a calling program's
        sys.stderr = _Dispensable(sys.stderr)


def one_line_warnings() -> None:
    """Print what a user should know on one line, without the line of code that it comes from."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, Any2VecWarning):
            print(f"any2vec: {message}", file=sys.stderr)
        else:
            others(message, category, *where, **more)

    warnings.showwarning = show


class _Named(io.FileIO):
    _failed = False

    def write(self, data: Any) -> int:
        if self._failed:  # buffers are written again at exit
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:  # whoever read it has seen enough
            raise
        except OSError as error:
            self._failed = True
            raise Any2VecError(f"standard output: cannot be written: {error.strerror or error}") from None


def name_errors() -> None:
    """Let what is written to standard output raise an Any2VecError where the system refuses it."""
    own = sys.__stdout__
    if own is None or sys.stdout is not own:  # closed, or a calling program's
        return
    own.flush()
    bytes_ = io.BufferedWriter(_Named(own.fileno(), "w", closefd=False))
    errors = "backslashreplace" if own.errors == "strict" else own.errors  # names that the terminal cannot show
    sys.stdout = io.TextIOWrapper(bytes_, own.encoding, errors, line_buffering=own.line_buffering)
