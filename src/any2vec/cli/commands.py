"""The commands of `any2vec`, each imported when it is used: for the list of them, a name and a line are enough."""

from importlib import import_module
from typing import Any, NamedTuple

import typer

from any2vec.cli.errors import Errors
from any2vec.cli.help import HelpfulCommand

__all__ = ["COMMANDS", "Command", "Commands"]


class Command(NamedTuple):
    """Where a command is, and its line in the list."""

    module: str
    help: str
    settings: dict[str, Any] | None = None


COMMANDS = {
    "words": Command("words", "Train word vectors on CORPUS, by skip-gram or CBOW."),
    "documents": Command("documents", "Train document vectors on TEXTS, by PV-DBOW or PV-DM (doc2vec)."),
    "infer": Command("infer", "Infer vectors of TEXTS by a MODEL of documents, which does not change."),
    "phrases": Command(
        "phrases",
        "Join the words of phrases in CORPUS, such as new_york.",
    ),
    "nodes": Command("nodes", "Train vectors of the vertices of GRAPH: DeepWalk, node2vec or metapath2vec."),
    "similar": Command("similar", "Show the words most similar to each WORD, with their cosines."),
    "analogy": Command("similar", "Find what is to C as B is to A: man king woman gives queen."),
    "map": Command("map", "Draw a map of the words of VECTORS: similar words are near to each other."),
    "info": Command("info", "Show what VECTORS holds: format, sizes, counts, norms, words."),
    "report": Command("report", "Show a run as a page, with figures."),
    "export": Command("export", "Write VECTORS for another program: a map, a model, a table."),
    "walks": Command("nodes", "Write walks on GRAPH as text."),
    "cache": Command("cache", "List, limit or clear what is kept of corpora for the next run."),
    "plan": Command("plan", "Estimate time, memory and cost on a cluster, by number of hosts and scheme."),
    "doctor": Command("doctor", "Check this machine: versions, cores, launchers, caches, disk."),
    "demo": Command("demo", "Train on speeches of US presidents, and show neighbours."),
    "word2vec": Command(
        "word2vec",
        "Do what the program word2vec does, with its flags and files.",
        {"add_help_option": False, "context_settings": {"ignore_unknown_options": True}},
    ),
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
