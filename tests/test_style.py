"""The code is linted, formatted and typed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("command", [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]], ids=" ".join)
def test_clean(command):
    program = shutil.which(command[0], path=str(Path(sys.executable).parent)) or shutil.which(command[0])
    if program is None:
        pytest.skip(f"{command[0]} is not installed: pip install 'any2vec[test]'")
    ran = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
