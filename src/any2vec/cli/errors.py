"""How a command ends on an error: one line in the words of the command line, once for all hosts."""

import io
import sys
import time
import warnings
from contextlib import suppress
from typing import Any, NoReturn

import typer

from any2vec.cli.help import HelpfulGroup
from any2vec.errors import Any2VecError, Any2VecWarning, respelled, shown
from any2vec.io.shown import Console
from any2vec.other_names import meant
from any2vec.signals import INTERRUPTED, interrupt_was_ignored, quit_at_once

_PATIENCE = 2.0  # seconds for another host to print the same error


class Errors(HelpfulGroup):
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
            _print(str(error))
        sys.exit(status)
    if rank:  # if it is an error of all hosts, host 0 prints it
        time.sleep(_PATIENCE)
    _print(f"host {rank}: {error}")
    cluster.abort()
    sys.exit(status)


def _print(text: str) -> None:
    console = Console(stderr=True)
    console.print(f"any2vec: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


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
