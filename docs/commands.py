"""Make the page of all commands and options, as the command line knows them."""

import typer
from typer.cli import get_docs_for_click

from any2vec.cli import COMMANDS, app
from any2vec.cli.help import SCREENS

__all__ = ["commands"]

HEAD = """# Commands

All commands with all options, as `--help-all` lists them. [Command line](../command-line.md) introduces the commands,
and [Options](../options.md) explains the options of training.

"""


def commands() -> str:
    """Return the page."""
    main = typer.main.get_command(app)
    parts = []
    for name in COMMANDS:
        command = main.load(name)  # type: ignore[attr-defined]
        context = typer.Context(command, info_name=f"any2vec {name}", parent=None)
        text = get_docs_for_click(obj=command, ctx=context, indent=1, call_prefix="any2vec")
        if name in SCREENS and any(SCREENS[name].examples):
            examples = "\n".join(f"any2vec {name} {example}".rstrip() for example in SCREENS[name].examples)
            text = text.replace("**Usage**:", f"```text\n{examples}\n```\n\n**Usage**:", 1)
        parts.append(text)
    return HEAD + "\n".join(parts)
