"""The command line: a file for each command."""

import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from any2vec import __version__
from any2vec.cli.help import (
    ALL,
    Errors,
    HelpfulCommand,
    UsageError,
    fail,
    ignore_errors,
    name_errors,
    one_line_warnings,
    usage,
)
from any2vec.errors import Any2VecError
from any2vec.signals import INTERRUPTED, exit_now, quit_at_once, raise_interrupts

__all__ = ["COMMANDS", "Command", "Commands", "app", "main"]


class Command(NamedTuple):
    """Where a command is, and its line in the list."""

    module: str
    help: str
    settings: dict[str, Any] | None = None


COMMANDS = {
    "words": Command("words", "Train word vectors on CORPUS, by skip-gram or CBOW."),
    "documents": Command("words", "Train document vectors on TEXTS, by PV-DBOW or PV-DM (doc2vec)."),
    "infer": Command("words", "Infer vectors of TEXTS by a MODEL of documents."),
    "classify": Command("classify", "Train a classifier of lines on TEXT, as fastText does."),
    "predict": Command("classify", "Predict labels of the lines of TEXTS by a MODEL."),
    "quantize": Command("classify", "Quantize the rows of a MODEL: a tenth of its size."),
    "phrases": Command("words", "Join the words of phrases in CORPUS, such as new_york."),
    "nodes": Command("words", "Train vectors of the vertices of GRAPH: DeepWalk, node2vec or metapath2vec."),
    "similar": Command("vectors", "Show the words most similar to each WORD, with their cosines."),
    "analogy": Command("vectors", "Find what is to C as B is to A: man king woman gives queen."),
    "map": Command("vectors", "Draw a map of the words of VECTORS: similar ones are near."),
    "info": Command("vectors", "Show what VECTORS holds: format, sizes, counts, norms, words."),
    "report": Command("vectors", "Show a run as a page, with figures."),
    "export": Command("vectors", "Write VECTORS for another program: a map, a model, a table."),
    "walks": Command("words", "Write walks on GRAPH as text."),
    "cache": Command("doctor", "List, limit or clear what is kept of corpora for the next run."),
    "plan": Command("plan", "Estimate time, memory and cost on a cluster, by number of hosts and scheme."),
    "doctor": Command("doctor", "Check this machine: versions, cores, launchers, caches, disk."),
    "demo": Command("words", "Train on speeches of US presidents, and show neighbours."),
    "word2vec": Command(
        "word2vec",
        "Do what the program word2vec does, with its flags and files.",
        {"add_help_option": False, "context_settings": {"ignore_unknown_options": True}},
    ),
    "tune": Command("plan", "Find settings for a text or graph by trying them on it."),
    "evaluate": Command("evaluate", "Evaluate vectors of words, of vertices, or for links."),
}


class Commands(Errors):
    """All commands: lines of a list, until one is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands.update({name: HelpfulCommand(name, help=command.help) for name, command in COMMANDS.items()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the version, wherever the user asks for it."""
        options = args[: args.index("--")] if "--" in args else args
        asked = args[:1] == ["version"] or "--version" in options
        return super().parse_args(ctx, ["--version"] if asked else args)

    def load(self, name: str) -> Any:
        """Import a command, and put it in the place of its line."""
        command = COMMANDS[name]
        app = getattr(import_module(f"any2vec.cli.{command.module}"), name)
        if not isinstance(app, typer.Typer):
            function, app = app, typer.Typer(add_completion=False)
            app.command(name, cls=HelpfulCommand, **command.settings or {})(function)
        loaded = self.commands[name] = typer.main.get_command(app)
        loaded.name = name
        return loaded

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the user named, and import it."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self.load(name) if name else None, rest


app = typer.Typer(
    name="any2vec",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h", ALL]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"any2vec {__version__}")
        raise typer.Exit


@app.callback()
def _any2vec(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train embeddings of anything that comes in sequences."""
    raise_interrupts()


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and status 1, or 2 if it does not parse."""
    name_errors()
    ignore_errors()
    one_line_warnings()
    try:
        try:
            status = app(standalone_mode=False)
        finally:
            if sys.stdout:
                sys.stdout.flush()
        if status == INTERRUPTED:
            exit_now(status)
        sys.exit(status)
    except Any2VecError as error:
        fail(error)
    except UsageError as error:
        if not error.format_message():  # no arguments: the help was shown
            sys.exit(error.exit_code)
        fail(Any2VecError(usage(error)), error.exit_code)
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        exit_now(INTERRUPTED)
    finally:
        quit_at_once()
