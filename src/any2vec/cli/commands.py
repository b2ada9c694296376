"""The commands of `any2vec`, each imported when it is used: for the list of them, a name and a line are enough."""

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from any2vec.cli.errors import Errors

__all__ = ["COMMANDS", "Command", "Commands"]


class Command(NamedTuple):
    """Where a command is, and its line in the list."""

    module: str
    help: str
    settings: dict[str, Any] | None = None


COMMANDS = {
    "words": Command("words", "Train word vectors on CORPUS, by skip-gram or CBOW."),
    "phrases": Command(
        "phrases",
        "Join the words of phrases such as new_york in CORPUS: pairs that occur together more often than expected.",
    ),
    "nodes": Command(
        "nodes", "Train vectors of the vertices of GRAPH: skip-gram on DeepWalk's walks, or with p and q on node2vec's."
    ),
    "similar": Command("similar", "Show the words most similar to each WORD, with their cosines."),
    "analogy": Command("analogy", "Find what is to C as B is to A: man king woman gives queen."),
    "walks": Command("nodes", "Write walks on GRAPH as text."),
    "cache": Command("cache", "List the encoded corpora that are kept for the next run; limit or clear them."),
    "demo": Command("demo", "Train on the speeches of the US presidents and show the neighbours of a few words."),
    "word2vec": Command(
        "word2vec",
        "Do what the program word2vec does, with its flags, its defaults and its files; without flags, list them.",
        {"add_help_option": False, "context_settings": {"ignore_unknown_options": True}},
    ),
    "evaluate": Command("evaluate", "Evaluate vectors of words (analogies, similarity) or of vertices (nodes, links)."),
}


class Commands(Errors):
    """All commands: lines of a list, until one is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands.update({name: TyperCommand(name, help=command.help) for name, command in COMMANDS.items()})

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
            app.command(name, **command.settings or {})(function)
        loaded = self.commands[name] = typer.main.get_command(app)
        loaded.name = name
        return loaded

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the user named, and import it."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self.load(name) if name else None, rest
