"""Help: a screen with the options that most people use and examples; everything under --help-all."""

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

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


class HelpfulGroup(_Helpful, TyperGroup):
    """A group of commands with such a help."""
