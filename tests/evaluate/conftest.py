"""What tests of evaluations share: the command."""

import pytest
import typer
from typer.testing import CliRunner

from any2vec.cli.evaluate import evaluate
from any2vec.errors import Any2VecError


@pytest.fixture
def run():
    """Return what runs `any2vec evaluate`: it returns the words of each line, or raises the error."""
    app = typer.Typer()
    app.add_typer(evaluate, name="evaluate")

    def invoke(*arguments):
        result = CliRunner().invoke(app, ["evaluate", *map(str, arguments)])
        if isinstance(result.exception, Any2VecError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return [line.split() for line in result.output.splitlines()]

    return invoke
